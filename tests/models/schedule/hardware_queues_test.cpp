#include "models/schedule/hardware_queues.hpp"

#include <gmock/gmock.h>

namespace weft {
namespace {

using ::testing::ElementsAre;

/// One operation for each entry, on that stream.
Schedule on_streams(const std::vector<StreamId>& streams) {
  Schedule schedule;
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

}  // namespace
}  // namespace weft
