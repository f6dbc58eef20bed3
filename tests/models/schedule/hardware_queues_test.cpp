#include "models/schedule/hardware_queues.hpp"

#include <gmock/gmock.h>

namespace weft {
namespace hardware_queues_test {

using ::testing::ElementsAre;

/// One operation for each entry, on that stream, launched by the host.
Schedule on_streams(const std::vector<StreamId>& streams) {
  Schedule schedule;
  schedule.launch = Launch::eager;
  for (const StreamId stream : streams) schedule.operations.push_back({"operation", stream, {}, Delay{1}});
  return schedule;
}

TEST(HardwareQueues, OneQueueIsALineOfAllStreams) {
  EXPECT_THAT(queued_behind(on_streams({0, 1, 1, 0, 2}), 1), ElementsAre(-1, 0, -1, 2, 3));
}

TEST(HardwareQueues, StreamsTakeThemInTurn) {
  EXPECT_THAT(queued_behind(on_streams({0, 1, 2, 3}), 2), ElementsAre(-1, -1, 0, 1));
}

TEST(HardwareQueues, EnoughOfThemHoldNobodyBack) {
  EXPECT_THAT(queued_behind(on_streams({0, 1, 2, 0}), 3), ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(queued_behind(on_streams({0, 1, 2, 0}), 0), ElementsAre(-1, -1, -1, -1));
}

TEST(HardwareQueues, NodesOfAGraphStandInNone) {
  Schedule schedule = on_streams({0, 1, 2});
  schedule.launch = Launch::graph;
  EXPECT_THAT(queued_behind(schedule, 1), ElementsAre(-1, -1, -1));
}

TEST(HardwareQueues, BranchesOfAGraphShareOneOfOneOrTwo) {
  Schedule schedule = on_streams({0, 1});
  for (const auto& [connections, share] : {std::pair{0, false}, {1, true}, {2, true}, {3, false}}) {
    schedule.max_connections = connections;
    schedule.launch = Launch::graph;
    EXPECT_EQ(branches_share_queue(schedule), share) << connections;
    schedule.launch = Launch::eager;
    EXPECT_FALSE(branches_share_queue(schedule)) << connections;
  }
}

Copy pull_by(CopyPath path) {
  Copy copy;
  copy.source.place = 1;
  copy.path = path;
  return copy;
}

TEST(HardwareQueues, CopiesByCopyEnginesStandInNone) {
  Schedule schedule = on_streams({0, 1, 2});
  schedule.operations[1].work = pull_by(CopyPath::copy_engine);
  EXPECT_THAT(queued_behind(schedule, 1), ElementsAre(-1, -1, 0));
  schedule.operations[1].work = Signal{.place = 1, .path = SignalPath::copied_word};
  EXPECT_THAT(queued_behind(schedule, 1), ElementsAre(-1, -1, 0));
}

TEST(HardwareQueues, CopiesOnSmsAndWithinOneGpuStandInLine) {
  Schedule schedule = on_streams({0, 1, 2});
  schedule.operations[1].work = pull_by(CopyPath::sms);
  EXPECT_THAT(queued_behind(schedule, 1), ElementsAre(-1, 0, 1));
  schedule.operations[1].work = Copy{};
  EXPECT_THAT(queued_behind(schedule, 1), ElementsAre(-1, 0, 1));
}

}  // namespace hardware_queues_test
}  // namespace weft
