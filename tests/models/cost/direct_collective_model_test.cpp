#include "models/cost/direct_collective_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/base/input_error.hpp"

namespace weft {
namespace direct_collective_model_test {

constexpr auto all_reduce = CollectiveKind::all_reduce;
constexpr auto peers = Transport::peer_kernel, multicast = Transport::multicast;

/// Few CTAs, so that the port never counts.
DirectCollective kernel(double cta_GBps, double latency_us) {
  return {.ctas = 10, .cta_GBps = cta_GBps, .port_GBps = 1e6, .latency_us = latency_us};
}

Machine machine() {
  Machine machine;
  machine.name = "m";
  machine.fabric.multicast = true;
  machine.direct_collectives = {.one_shot = kernel(10, 2), .two_shot = kernel(10, 8), .multimem = kernel(10, 5)};
  return machine;
}

double transfer_us(Transport transport, CollectiveKind kind, int max_ctas = 0) {
  return time_direct_collective(machine(), transport, kind, 4, 80'000'000, max_ctas).transfer_us;
}

double transfer_us_of(const DirectCollective& two_shot, CollectiveKind kind) {
  Machine one = machine();
  one.direct_collectives->two_shot = two_shot;
  return time_direct_collective(one, peers, kind, 4, 80'000'000, 0).transfer_us;
}

// 10 CTAs at 10 GB/s are 0.1 MB in a microsecond.
TEST(DirectCollective, OverPeersItsCtasLoadAllThatTheyAddUp) {
  EXPECT_NEAR(transfer_us_of(kernel(10, 8), all_reduce), 80e6 / 1e5, 1e-3);
  EXPECT_NEAR(transfer_us_of(kernel(10, 8), CollectiveKind::reduce_scatter), 80e6 / 1e5, 1e-3);
}

TEST(DirectCollective, StoringSumsToPeersAndCopyingHaveRatesOfTheirOwn) {
  DirectCollective own = kernel(10, 8);
  own.cta_store_GBps = 20, own.cta_bulk_GBps = 40;
  EXPECT_NEAR(transfer_us_of(own, all_reduce), 80e6 / 1e5 + 60e6 / 2e5, 1e-3);
  EXPECT_NEAR(transfer_us_of(own, CollectiveKind::reduce_scatter), 80e6 / 1e5, 1e-3);
  EXPECT_NEAR(transfer_us_of(own, CollectiveKind::all_gather), 80e6 / 4e5, 1e-3);
  EXPECT_NEAR(transfer_us_of(own, CollectiveKind::all_to_all), 80e6 / 4e5, 1e-3);
}

TEST(DirectCollective, ItsPortMovesARingsBytes) {
  DirectCollective slow = kernel(1e6, 8);
  slow.port_GBps = 1;
  EXPECT_NEAR(transfer_us_of(slow, all_reduce), 2 * 60e6 / 1e3, 1);
  EXPECT_NEAR(transfer_us_of(slow, CollectiveKind::all_gather), 60e6 / 1e3, 1);
}

TEST(DirectCollective, AGemmSlowsDownItsCtasAndNotItsPort) {
  const auto ratio = [](double cta_GBps, double port_GBps) {
    Machine one = machine();
    one.direct_collectives = {
        .one_shot = {},
        .two_shot =
            DirectCollective{
                .ctas = 10, .cta_GBps = cta_GBps, .port_GBps = port_GBps, .latency_us = 1, .beside_gemm = 0.5},
        .multimem = {}};
    const CollectiveTiming timing = time_direct_collective(one, peers, all_reduce, 4, 80'000'000, 0);
    return timing.beside_gemm_us / timing.transfer_us;
  };
  EXPECT_NEAR(ratio(10, 1e6), 1.5, 1e-6);
  EXPECT_NEAR(ratio(1e6, 1), 1, 1e-6);
}

// Each of 4 ranks waits for 80 MB at 0.1 MB in a microsecond, and loads 3 x 80 MB through its port.
TEST(DirectCollective, InOneShotCtasWaitForTheBufferAndThePortForAllPeersData) {
  EXPECT_NEAR(transfer_us(Transport::one_shot, all_reduce), 80e6 / 1e5, 1e-3);
  Machine of_slow_ports = machine();
  of_slow_ports.direct_collectives->one_shot->port_GBps = 1;
  const CollectiveTiming timing =
      time_direct_collective(of_slow_ports, Transport::one_shot, all_reduce, 4, 80'000'000, 0);
  EXPECT_NEAR(timing.transfer_us, 3 * 80e6 / 1e3, 1);
  EXPECT_EQ(time_direct_collective(machine(), Transport::one_shot, all_reduce, 4, 1 << 10, 0).latency_us, 2);
  EXPECT_THROW(transfer_us(Transport::one_shot, CollectiveKind::all_gather), InputError);
}

// In the switch (W + 1) / W of 64 MB go through a port at 8 of its 10 GB/s; a ring's 2 (W - 1) / W at 5.
TEST(DirectCollective, TheLibraryCanBeToldToBeInTheSwitch) {
  Machine one = machine();
  one.fabric.link = {.GBps = 10, .peak_GBps = 10};
  one.collective_protocols = {
      {.name = "ring", .algorithm = CollectiveAlgorithm::ring, .channels = 8, .channel_GBps = 10, .efficiency = 0.5},
      {.name = "switch",
       .algorithm = CollectiveAlgorithm::in_switch,
       .channels = 4,
       .channel_GBps = 10,
       .efficiency = 0.8,
       .base_us = 1e6}};
  const CollectiveTiming chosen = time_over(one, Transport::nccl, all_reduce, 4, 64'000'000, 0);
  const CollectiveTiming told = time_over(one, Transport::nccl_nvls, all_reduce, 4, 64'000'000, 0);
  EXPECT_EQ(chosen.algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(told.algorithm, CollectiveAlgorithm::in_switch);
  EXPECT_EQ(told.ctas, 4);
  EXPECT_NEAR(told.transfer_us, 64e6 * 5 / 4 / 8e3, 1);
  EXPECT_NEAR(time_over(one, Transport::nccl_nvls, all_reduce, 4, 64'000'000, 1).transfer_us, told.transfer_us, 1);
  one.collective_protocols.pop_back();
  EXPECT_THROW(time_over(one, Transport::nccl_nvls, all_reduce, 4, 64'000'000, 0), InputError);
}

TEST(DirectCollective, OfEveryTransportTheLibrarysIsItsCurve) {
  Machine one = machine();
  one.collectives = {{.kind = all_reduce, .gpus = 4, .ctas = 3, .points = {{.bytes = 1 << 20, .kernel_us = 70}}}};
  EXPECT_EQ(time_over(one, Transport::nccl, all_reduce, 4, 1 << 20, 0).ctas, 3);
  EXPECT_EQ(time_over(one, peers, all_reduce, 4, 1 << 20, 0).ctas, 10);
}

TEST(DirectCollective, OverTheSwitchMovesItsBytesOnceAndASharesSumBesides) {
  EXPECT_NEAR(transfer_us(multicast, all_reduce), 100e6 / 1e5, 1e-3);
  EXPECT_NEAR(transfer_us(multicast, CollectiveKind::reduce_scatter), 80e6 / 1e5, 1e-3);
  EXPECT_NEAR(transfer_us(multicast, CollectiveKind::all_gather), 80e6 / 1e5, 1e-3);
}

TEST(DirectCollective, WithFewerCtasMovesLess) {
  EXPECT_NEAR(transfer_us(multicast, all_reduce, 5), 2 * transfer_us(multicast, all_reduce), 1e-3);
  EXPECT_EQ(time_direct_collective(machine(), multicast, all_reduce, 4, 1000, 20).ctas, 10);
}

TEST(DirectCollective, IsHeldByThePortAsWell) {
  Machine slow = machine();
  slow.direct_collectives->multimem->port_GBps = 1;
  EXPECT_NEAR(time_direct_collective(slow, multicast, all_reduce, 4, 80'000'000, 0).transfer_us, 100e6 / 1e3, 1);
}

TEST(DirectCollective, OverTheSwitchFillsOneDirectionUnlessItReducesToAll) {
  Machine one = machine();
  one.direct_collectives->multimem->port_GBps = 1, one.direct_collectives->multimem->one_way_GBps = 2;
  const auto us = [&one](CollectiveKind kind) {
    return time_direct_collective(one, multicast, kind, 4, 80'000'000, 0).transfer_us;
  };
  EXPECT_NEAR(us(all_reduce), 100e6 / 1e3, 1);
  EXPECT_NEAR(us(CollectiveKind::reduce_scatter), 80e6 / 2e3, 1);
  EXPECT_NEAR(us(CollectiveKind::all_gather), 80e6 / 2e3, 1);
}

TEST(DirectCollective, OverPeersFillsOneDirectionUnlessItReducesToAll) {
  DirectCollective own = kernel(1e6, 8);
  own.port_GBps = 1, own.one_way_GBps = 2;
  Machine one = machine();
  one.direct_collectives->two_shot = own;
  const auto timing = [&one](CollectiveKind kind) {
    return time_direct_collective(one, peers, kind, 4, 80'000'000, 0);
  };
  EXPECT_NEAR(timing(all_reduce).transfer_us, 120e6 / 1e3, 1);
  EXPECT_EQ(timing(all_reduce).latency_us, 8);
  EXPECT_NEAR(timing(CollectiveKind::reduce_scatter).transfer_us, 60e6 / 2e3, 1);
  EXPECT_EQ(timing(CollectiveKind::all_to_all).latency_us, 8);
}

Machine with_two_shot(const DirectCollective& two_shot) {
  Machine one = machine();
  one.direct_collectives->two_shot = two_shot;
  return one;
}

double latency_us(const Machine& one, CollectiveKind kind, int gpus, Bytes bytes) {
  return time_direct_collective(one, peers, kind, gpus, bytes, 0).latency_us;
}

TEST(DirectCollective, EachRankBeyondTwoTakesLonger) {
  DirectCollective own = kernel(10, 8);
  own.peer_latency_us = 0.5;
  EXPECT_EQ(latency_us(with_two_shot(own), all_reduce, 2, 1000), 8);
  EXPECT_EQ(latency_us(with_two_shot(own), all_reduce, 4, 1000), 9);
  EXPECT_EQ(latency_us(with_two_shot(own), all_reduce, 8, 1000), 11);
  own.copy_peer_latency_us = 1;
  EXPECT_EQ(latency_us(with_two_shot(own), CollectiveKind::reduce_scatter, 4, 1000), 9);
  EXPECT_EQ(latency_us(with_two_shot(own), CollectiveKind::all_gather, 4, 1000), 10);
}

TEST(DirectCollective, CtasThatAskForMoreAddUpFaster) {
  DirectCollective own = kernel(10, 8);
  own.cta_wide_GBps = 2 * own.cta_GBps;
  const Machine one = with_two_shot(own), narrow = with_two_shot(kernel(10, 8));
  const auto transfer_us = [](const Machine& machine, CollectiveKind kind, int gpus, int ctas) {
    return time_direct_collective(machine, peers, kind, gpus, 1'000'000, ctas).transfer_us;
  };
  constexpr auto reduce_scatter = CollectiveKind::reduce_scatter;
  EXPECT_DOUBLE_EQ(transfer_us(one, reduce_scatter, 4, 2), transfer_us(narrow, reduce_scatter, 4, 2) / 2);
  EXPECT_EQ(transfer_us(one, reduce_scatter, 2, 2), transfer_us(narrow, reduce_scatter, 2, 2));
  EXPECT_EQ(transfer_us(one, all_reduce, 4, 2), transfer_us(narrow, all_reduce, 4, 2));
}

// In bulk from 10 CTAs x 320 KiB on.
TEST(DirectCollective, GathersAndExchangesStartSoonerAndMoveInBulkWhereTheyAreLarge) {
  DirectCollective own = kernel(10, 8);
  own.copy_latency_us = 6, own.bulk_latency_us = 2, own.cta_bulk_GBps = 20;
  const Machine one = with_two_shot(own);
  constexpr Bytes large = 3'276'800, small = large - 8;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    EXPECT_EQ(latency_us(one, kind, 2, small), 6);
    EXPECT_EQ(latency_us(one, kind, 2, large), 8);
    EXPECT_NEAR(time_direct_collective(one, peers, kind, 2, small, 0).transfer_us, 32.768, 1e-2);
    EXPECT_NEAR(time_direct_collective(one, peers, kind, 2, large, 0).transfer_us, 16.384, 1e-2);
  }
  EXPECT_EQ(latency_us(one, CollectiveKind::reduce_scatter, 2, large), 8);
}

TEST(DirectCollective, WhatTheMemoryAcceleratorMovesIsHeldByTheSlowerOfItsLimitsAlone) {
  const auto over_either = [](CollectiveKind kind) {
    DirectCollective own = kernel(10, 8);
    own.port_GBps = 50;  // 40 MB through it take as long as 80 MB by the CTAs
    return time_direct_collective(with_two_shot(own), peers, kind, 2, 80'000'000, 0).transfer_us / 800;
  };
  EXPECT_NEAR(over_either(CollectiveKind::all_gather), std::pow(2, 1.0 / 16), 1e-6);
  EXPECT_NEAR(over_either(CollectiveKind::reduce_scatter), std::pow(2, 1.0 / 8), 1e-6);
}

std::string refusal(const Machine& machine, Transport transport, CollectiveKind kind = all_reduce) {
  try {
    time_direct_collective(machine, transport, kind, 4, 1000, 0);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DirectCollective, IsRefusedWhereTheMachineHasNone) {
  Machine without = machine();
  without.fabric.multicast = false;
  EXPECT_EQ(refusal(without, multicast),
            "transport: expected a switch that multicasts, which m does not have, got multicast");
  without.direct_collectives->one_shot.reset();
  without.direct_collectives->two_shot.reset();
  EXPECT_EQ(refusal(without, peers),
            "transport: expected direct_collectives.two_shot in the profile, which m does not have, got peer_kernel");
  EXPECT_NE(refusal(machine(), multicast, CollectiveKind::all_to_all), "accepted");
  EXPECT_NE(refusal(Machine{}, peers), "accepted");
  EXPECT_NE(refusal(machine(), Transport::push), "accepted");
}

}  // namespace direct_collective_model_test
}  // namespace weft
