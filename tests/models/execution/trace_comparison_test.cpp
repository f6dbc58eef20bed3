#include "models/execution/trace_comparison.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace trace_comparison_test {

Span span(const std::string& operation, int gpu, double start_us, double end_us) {
  return {.operation = operation,
          .kind = "gemm",
          .stream = "main",
          .gpu = gpu,
          .start_us = start_us,
          .end_us = end_us,
          .detail = ""};
}

Trace trace(double time_us, std::vector<Span> spans) {
  Trace made;
  made.time_us = time_us;
  made.spans = std::move(spans);
  return made;
}

TEST(TraceComparison, ErrorIsPredictedOverMeasuredMinusOne) {
  const auto comparison = compare(trace(110, {span("gemm", 0, 0, 90)}), trace(100, {span("gemm", 0, 10, 110)}));
  EXPECT_DOUBLE_EQ(*comparison.total.error(), 110.0 / 100 - 1);
  ASSERT_EQ(comparison.operations.size(), 1u);
  EXPECT_DOUBLE_EQ(*comparison.operations[0].duration.error(), 90.0 / 100 - 1);
  EXPECT_DOUBLE_EQ(comparison.operations[0].start.measured_us, 10);
}

TEST(TraceComparison, SeveralGpusGiveTheMeanAndTheWorst) {
  const auto comparison = compare(trace(0, {span("gemm", 0, 0, 10), span("gemm", 1, 0, 10)}),
                                  trace(0, {span("gemm", 0, 0, 10), span("gemm", 1, 0, 20)}));
  const OperationComparison& row = comparison.operations.at(0);
  EXPECT_EQ(row.gpus, 2);
  EXPECT_DOUBLE_EQ(row.duration.measured_us, (10 + 20) / 2.0);
  EXPECT_EQ(row.worst_gpu, 1);
  EXPECT_DOUBLE_EQ(*row.worst_duration.error(), 10.0 / 20 - 1);
}

TEST(TraceComparison, SeveralKernelsOfOneOperationCountFromFirstStartToLastEnd) {
  const auto comparison =
      compare(trace(0, {span("gemm", 0, 0, 10)}), trace(0, {span("gemm", 0, 6, 9), span("gemm", 0, 1, 5)}));
  EXPECT_DOUBLE_EQ(comparison.operations.at(0).duration.measured_us, 9 - 1);
}

TEST(TraceComparison, RowsStandInTheOrderOfThePredictedStarts) {
  const Trace both = trace(0, {span("a", 0, 5, 6), span("b", 0, 1, 2)});
  const auto comparison = compare(both, both);
  EXPECT_EQ(comparison.operations.at(0).operation, "b");
  EXPECT_EQ(comparison.operations.at(1).operation, "a");
}

TEST(TraceComparison, ListsWhatOnlyOneTraceHas) {
  const auto comparison = compare(trace(0, {span("both", 0, 0, 1), span("left", 0, 0, 1)}),
                                  trace(0, {span("both", 0, 0, 1), span("right", 0, 0, 1)}));
  ASSERT_EQ(comparison.unmatched.size(), 2u);
  EXPECT_EQ(comparison.unmatched[0].trace, "predicted");
  EXPECT_EQ(comparison.unmatched[0].operation, "left");
  EXPECT_EQ(comparison.unmatched[1].trace, "measured");
  EXPECT_EQ(comparison.unmatched[1].operation, "right");
}

TEST(TraceComparison, AMergedRankStandsForEveryMeasuredGpu) {
  const auto comparison =
      compare(trace(0, {span("gemm", 0, 0, 10)}), trace(0, {span("gemm", 0, 0, 10), span("gemm", 1, 0, 10)}));
  EXPECT_TRUE(comparison.merged_ranks);
  EXPECT_EQ(comparison.operations.at(0).gpus, 2);
  EXPECT_TRUE(comparison.unmatched.empty());
}

TEST(TraceComparison, HasNoErrorWhereNothingWasMeasured) {
  EXPECT_FALSE(compare(trace(5, {}), trace(0, {})).total.error().has_value());
}

}  // namespace trace_comparison_test
}  // namespace weft
