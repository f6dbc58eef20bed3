#include "scenarios/families/collective_kernels.hpp"

#include <gtest/gtest.h>

#include "models/base/input_error.hpp"

namespace weft::scenarios::families {
namespace collective_kernels_test {

/// s0: 0 first, 3 last; s1: 1 the all-reduce, which waits for the first, 2 a kernel. The last waits for the kernel.
Schedule schedule() {
  Schedule schedule;
  schedule.streams = {{.name = "s0"}, {.name = "s1"}};
  schedule.buffers.emplace_back();
  schedule.operations = {{.name = "first", .stream = 0, .after = {}, .work = Delay{}},
                         {.name = "all_reduce", .stream = 1, .after = {{0}}, .work = Collective{}},
                         {.name = "kernel", .stream = 1, .after = {}, .work = Delay{}},
                         {.name = "last", .stream = 0, .after = {{2}, {1}}, .work = Delay{}}};
  schedule.meaning.emplace();
  return schedule;
}

TEST(CollectiveKernels, GiveEveryCollectiveItsTransport) {
  const auto transport = [](Collectives choice) {
    return std::get<Collective>(with_collectives(schedule(), choice).operations[1].work).transport;
  };
  EXPECT_EQ(transport(Collectives::nccl), Transport::nccl);
  EXPECT_EQ(transport(Collectives::two_shot), Transport::peer_kernel);
  EXPECT_EQ(transport(Collectives::multimem), Transport::multicast);
  EXPECT_EQ(transport(Collectives::nccl_nvls), Transport::nccl_nvls);
  EXPECT_EQ(transport(Collectives::one_shot), Transport::one_shot);
  EXPECT_EQ(transport(Collectives::nccl_symmetric), Transport::nccl_symmetric);
  EXPECT_EQ(with_collectives(schedule(), Collectives::nccl_symmetric).buffers[0].memory, Memory::symmetric);
  EXPECT_EQ(with_collectives(schedule(), Collectives::nccl_nvls).buffers[0].memory, Memory::local);
  EXPECT_EQ(with_collectives(schedule(), Collectives::nccl).buffers[0].memory, Memory::local);
  EXPECT_EQ(with_collectives(schedule(), Collectives::two_shot).buffers[0].memory, Memory::symmetric);
}

TEST(CollectiveKernels, WhatIsOfAllReducesAloneLeavesTheOthersToItsKind) {
  EXPECT_EQ(transport_of(Collectives::nccl_nvls, CollectiveKind::all_gather), Transport::nccl);
  EXPECT_EQ(transport_of(Collectives::one_shot, CollectiveKind::reduce_scatter), Transport::peer_kernel);
}

TEST(CollectiveKernels, CopyEnginesLeaveWhatIsAddedUpToNcclsKernelsForWindows) {
  using enum CollectiveKind;
  EXPECT_EQ(transport_of(Collectives::nccl_copy_engine, all_gather), Transport::nccl_copy_engine);
  EXPECT_EQ(transport_of(Collectives::nccl_copy_engine, reduce_scatter), Transport::nccl_symmetric);
  EXPECT_EQ(transport_of(Collectives::nccl_symmetric, all_to_all), Transport::nccl);
  Schedule limited = schedule();
  auto& gather = std::get<Collective>(limited.operations[1].work);
  gather.kind = all_gather, gather.max_ctas = 8;
  EXPECT_EQ(std::get<Collective>(with_collectives(limited, Collectives::nccl_copy_engine).operations[1].work).max_ctas,
            0);
  EXPECT_EQ(std::get<Collective>(with_collectives(limited, Collectives::nccl_symmetric).operations[1].work).max_ctas,
            8);
}

TEST(CollectiveKernels, NoneLeavesThemOutAndKeepsTheOrderOfTheRest) {
  const Schedule without = with_collectives(schedule(), Collectives::none);
  ASSERT_EQ(without.operations.size(), 3u);
  EXPECT_EQ(without.operations[1].name, "kernel");
  EXPECT_EQ(without.operations[1].after, std::vector<After>{{0}});
  EXPECT_EQ(without.operations[2].after, (std::vector<After>{{1}, {0}}));
  EXPECT_FALSE(without.meaning);
}

TEST(CollectiveKernels, NoneIsRefusedWhereNothingIsLeftOrANormIsFused) {
  const auto refusal_of = [](const Work& work) -> std::string {
    Schedule only = schedule();
    only.operations = {{.name = "only", .stream = 0, .after = {}, .work = work}};
    try {
      with_collectives(only, Collectives::none);
      return "";
    } catch (const InputError& error) {
      return error.field() + ": " + error.expected();
    }
  };
  EXPECT_EQ(refusal_of(Delay{}), "");
  EXPECT_EQ(refusal_of(Collective{}),
            "schedule.collectives: expected collectives in a workload that is nothing else, got none");
  EXPECT_EQ(refusal_of(AllReduceNorm{}),
            "schedule.collectives: expected collectives, with which the norm is fused, got none");
}

TEST(CollectiveKernels, APointOfWhatIsLeftStaysThatPoint) {
  Schedule before = schedule();
  before.operations[3].after = {{2, Point::first_cta_started}};
  EXPECT_EQ(with_collectives(before, Collectives::none).operations[2].after,
            (std::vector<After>{{1, Point::first_cta_started}}));
}

}  // namespace collective_kernels_test
}  // namespace weft::scenarios::families
