#include "models/cost/late_kernels.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace late_kernels_test {

constexpr RunCondition today, warmed_on_all_streams{.warmed_on_all_streams = true};

Schedule graph_on(StreamId last_stream) {
  Schedule schedule;
  schedule.launch = Launch::graph;
  schedule.operations = {{"first", 0, {}, Gemm{}}, {"last", last_stream, {}, Gemm{}}};
  return schedule;
}

TEST(LateKernels, ComeOfStreamsThatAreUsedOutsideOfAGraph) {
  EXPECT_FALSE(makes_kernels_late(graph_on(1), today));
  EXPECT_TRUE(makes_kernels_late(graph_on(1), warmed_on_all_streams));
  EXPECT_FALSE(makes_kernels_late(graph_on(0), warmed_on_all_streams)) << "one stream";
  Schedule of_pytorch = graph_on(1);
  of_pytorch.implementation = Implementation::pytorch;
  EXPECT_TRUE(makes_kernels_late(of_pytorch, today)) << "PyTorch warms up so";
  Schedule eager = graph_on(1);
  eager.launch = Launch::eager;
  EXPECT_TRUE(makes_kernels_late(eager, today)) << "no graph at all";
}

TEST(LateKernels, OfGraphsWithCopiesAreInWhatCopiesWereMeasuredWith) {
  Schedule schedule = graph_on(1);
  schedule.operations.push_back({"pull", 1, {}, Copy{.path = CopyPath::copy_engine}});
  EXPECT_FALSE(makes_kernels_late(schedule, warmed_on_all_streams));
}

}  // namespace late_kernels_test
}  // namespace weft
