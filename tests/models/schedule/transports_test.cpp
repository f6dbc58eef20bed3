#include "models/schedule/transports.hpp"

#include <gmock/gmock.h>

namespace weft {
namespace transports_test {

using testing::ElementsAre;

/// One operation on two buffers of 8 x 8, on two GPUs.
Schedule schedule_of(Work work) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.buffers = {{.name = "x", .rows = 8, .columns = 8}, {.name = "y", .rows = 8, .columns = 8}};
  schedule.operations = {{"only", 0, {}, std::move(work)}};
  return schedule;
}
Slice whole(BufferId buffer, int place = 0) { return {buffer, place, RowRange{0, 8}, 0, 8}; }
Collective sum(Transport transport) { return {.input = whole(1), .output = whole(1), .transport = transport}; }
std::vector<BufferId> reached(const Work& work) {
  const Schedule schedule = schedule_of(work);
  return reached_on_peers(schedule, schedule.operations[0]);
}

TEST(Transports, CopyEnginesAddNothingUp) {
  using enum CollectiveKind;
  for (const CollectiveKind kind : {all_reduce, reduce_scatter}) EXPECT_FALSE(does(Transport::nccl_copy_engine, kind));
  for (const CollectiveKind kind : {all_gather, all_to_all}) EXPECT_TRUE(does(Transport::nccl_copy_engine, kind));
}

TEST(Transports, NcclHasNoSymmetricAllToAll) {
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    EXPECT_EQ(does(Transport::nccl_symmetric, kind), kind != CollectiveKind::all_to_all);
}

TEST(Transports, WhatNcclMapsLiesInWindows) {
  EXPECT_THAT(buffers_in_windows(schedule_of(sum(Transport::nccl_symmetric))), ElementsAre(false, true));
  EXPECT_THAT(buffers_in_windows(schedule_of(sum(Transport::nccl))), ElementsAre(false, false));
  EXPECT_THAT(buffers_in_windows(schedule_of(sum(Transport::peer_kernel))), ElementsAre(false, false));
}

TEST(Transports, OthersThanNcclReachPeers) {
  EXPECT_THAT(reached(sum(Transport::nccl_symmetric)), ElementsAre());
  EXPECT_THAT(reached(sum(Transport::peer_kernel)), ElementsAre(1, 1));
  EXPECT_THAT(reached(Copy{whole(0, 1), whole(1)}), ElementsAre(0));
  EXPECT_THAT(reached(Copy{whole(0), whole(1, 1)}), ElementsAre(1));
  GroupedExchange exchange{.input = whole(0), .output = whole(1)};
  EXPECT_THAT(reached(exchange), ElementsAre());
  exchange.transport = Transport::peer_kernel;
  EXPECT_THAT(reached(exchange), ElementsAre(0));
}

}  // namespace transports_test
}  // namespace weft
