#include "models/check/machine_support.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace machine_support_test {

class PeerAccess : public testing::Test {
 protected:
  PeerAccess() : machine(read_machine(tests::source_folder() + "/tests/sim/test_machine.json")) {
    machine.fabric.peer_access = false;
  }
  bool is_lacked_by(const Work& work) const {
    Schedule schedule;
    schedule.gpus = 2;
    schedule.operations = {{"only", 0, {}, work}};
    return lacks_peer_access(machine, schedule);
  }
  Machine machine;
};

TEST_F(PeerAccess, IsNotNeededByNcclWhichFindsItsOwnWay) {
  EXPECT_FALSE(is_lacked_by(Collective{.transport = Transport::nccl}));
  EXPECT_FALSE(is_lacked_by(GroupedExchange{.transport = Transport::nccl}));
}

TEST_F(PeerAccess, IsNeededByWhatReadsOrWritesPeersItself) {
  EXPECT_TRUE(is_lacked_by(Collective{.transport = Transport::one_shot}));
  EXPECT_TRUE(is_lacked_by(GroupedExchange{.transport = Transport::peer_kernel}));
  EXPECT_TRUE(is_lacked_by(Barrier{}));
  EXPECT_TRUE(is_lacked_by(Copy{.source = {}, .destination = {.place = 1}}));
  machine.fabric.peer_access = true;
  EXPECT_FALSE(is_lacked_by(Barrier{}));
}

}  // namespace machine_support_test
}  // namespace weft
