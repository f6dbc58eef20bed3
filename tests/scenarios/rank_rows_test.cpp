#include "scenarios/rank_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "models/check/hardware_support.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/amounts.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/families/families.hpp"
#include "tests/scenarios/program_text.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios {
namespace rank_rows_test {

using testing::ElementsAre;

PairWorkload uneven(PairOp op, std::int64_t m, double imbalance) {
  PairWorkload pair{op, m, 8, 16};
  pair.imbalance = imbalance;
  return pair;
}

TEST(RankRows, TheBusiestHasItsShareAndTheOthersTheRestEvenly) {
  const auto rows = [](std::int64_t m, double imbalance) {
    return rows_of_ranks(uneven(PairOp::gemm_all_to_all, m, imbalance), 4, 4, "gpus");
  };
  EXPECT_THAT(rows(40, 1), ElementsAre(40, 40, 40, 40));
  EXPECT_THAT(rows(40, 1.9), ElementsAre(76, 28, 28, 28));
  EXPECT_THAT(rows(40, 1.5), ElementsAre(60, 36, 32, 32));  // 100 are 25 units of 4
  EXPECT_THAT(rows(40, 4), ElementsAre(160, 0, 0, 0));
}

TEST(RankRows, NoRowIsLost) {
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (int percent = 100; percent <= 100 * gpus; percent += 7) {
      const std::int64_t m = 6 * gpus;
      const auto rows = rows_of_ranks(uneven(PairOp::gemm_all_to_all, m, percent / 100.0), gpus, gpus, "gpus");
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), gpus * m);
      EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), rows.front());
      EXPECT_EQ(is_uneven(rows), percent > 100);
    }
}

TEST(RankRows, AreThoseOfTheGemmAndOfTheExchange) {
  const Schedule schedule = build_case(uneven(PairOp::gemm_all_to_all, 16, 2.5), 4);
  EXPECT_THAT(schedule.meaning->rows_of_rank, ElementsAre(40, 8, 8, 8));
  const Gemm gemm = all_of_kind<Gemm>(schedule).at(0);
  EXPECT_EQ(size_on_rank(gemm, 0, 4).m, 40);
  EXPECT_EQ(size_on_rank(gemm, 3, 4).m, 8);
  const GroupedExchange exchange = all_of_kind<GroupedExchange>(schedule).at(0);
  EXPECT_THAT(exchange.rows[0], ElementsAre(RowRange{0, 10}, RowRange{10, 10}, RowRange{20, 10}, RowRange{30, 10}));
  EXPECT_THAT(exchange.rows[3], ElementsAre(RowRange{0, 2}, RowRange{2, 2}, RowRange{4, 2}, RowRange{6, 2}));
}

// Where hardly anything flows the other way an exchange takes less, and a graph repeats as much sooner.
TEST(RankRows, AGraphIsHeldToWhatAnUnevenExchangeTakes) {
  const Schedule schedule = build_case(uneven(PairOp::gemm_all_to_all, 1 << 16, 1.9), 2);
  const GroupedExchange exchange = all_of_kind<GroupedExchange>(schedule).at(0);
  Machine machine = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  machine.collective_kernel.one_sided_gain = 0;
  const CollectiveTiming without = time_grouped_exchange(machine, exchange, schedule);
  machine.collective_kernel.one_sided_gain = 0.3;
  const CollectiveTiming with = time_grouped_exchange(machine, exchange, schedule);
  EXPECT_GT(without.alone_us, 0);
  EXPECT_NEAR(with.transfer_us / without.transfer_us, 1 - 0.3 * 2 * 0.9 / 1.9, 1e-3);
  EXPECT_NEAR(with.alone_us / without.alone_us, with.transfer_us / without.transfer_us, 1e-9);
}

TEST(RankRows, BeforeTheGemmTheReceiversDiffer) {
  const Schedule schedule = build_case(uneven(PairOp::all_to_all_gemm, 16, 2.5), 4);
  const GroupedExchange exchange = all_of_kind<GroupedExchange>(schedule).at(0);
  for (const std::vector<RowRange>& sent : exchange.rows)
    EXPECT_THAT(sent, ElementsAre(RowRange{0, 10}, RowRange{10, 2}, RowRange{12, 2}, RowRange{14, 2}));
}

/// Bytes that rank `rank` sends to other ranks, or gets from them.
double exchanged_bytes(const Schedule& schedule, int rank, bool sends) {
  double bytes = 0;
  for (const GroupedExchange& exchange : all_of_kind<GroupedExchange>(schedule))
    for (int peer = 0; peer < schedule.gpus; ++peer)
      if (peer != rank)
        bytes += static_cast<double>(sends ? pair_bytes(exchange, rank, peer, schedule)
                                           : pair_bytes(exchange, peer, rank, schedule));
  return bytes;
}

TEST(RankRows, HoweverCutTheSameBytesAreExchanged) {
  const PairWorkload pair = [] {
    PairWorkload workload{PairOp::gemm_all_to_all, 1536, 4096, 64};
    workload.imbalance = 1.5;
    return workload;
  }();
  const Schedule serial = build_case(pair, 4), chunked = build_case(pair, 4, Decomposition{4}),
                 signaled = build_case(pair, 4, Signaling{{1, 2}});
  for (int rank = 0; rank < 4; ++rank)
    for (const bool sends : {true, false}) {
      const double bytes = exchanged_bytes(serial, rank, sends);
      EXPECT_GT(bytes, 0);
      EXPECT_DOUBLE_EQ(exchanged_bytes(chunked, rank, sends), bytes);
      EXPECT_DOUBLE_EQ(exchanged_bytes(signaled, rank, sends), bytes);
    }
}

TEST(RankRows, FiccoPullsForEachRankWhatItsGemmNeeds) {
  const PairWorkload pair = uneven(PairOp::all_to_all_gemm, 32, 2.5);  // 80, 16, 16, 16 rows
  for (const Ficco& point : families::ficco_points(PairOp::all_to_all_gemm)) {
    const Schedule schedule = build_case(pair, 4, point);
    for (int rank = 0; rank < 4; ++rank) {
      Bytes pulled = 0;
      for (const Copy& copy : all_of_kind<Copy>(schedule))
        if (copy.source.place != 0) pulled += bytes_on_rank(copy.source, rank, schedule);
      EXPECT_EQ(pulled, (rank == 0 ? 80 : 16) * 3 / 4 * 16 * 2) << schedule.name;
    }
  }
}

TEST(RankRows, EveryFamilyThatHasThemRunsOnHoppers) {
  const Machine h200 = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  for (const PairOp op : {PairOp::gemm_all_to_all, PairOp::all_to_all_gemm})
    for (const double imbalance : {1.37, 4.0}) {
      PairWorkload pair{op, 1024, 512, 256};
      pair.imbalance = imbalance;
      std::vector<Family> families{Serial{}};
      if (op == PairOp::gemm_all_to_all) families.insert(families.end(), {Decomposition{2}, Signaling{{1}, {}}});
      for (const Ficco& point : families::ficco_points(op)) families.push_back(point);
      for (const Family& family : families)
        for (const Collectives by : {Collectives::nccl, Collectives::two_shot, Collectives::nccl_copy_engine}) {
          Case request = make_case(pair, 4, family);
          request.schedule.collectives = by;
          const Schedule schedule = families::build(request, h200);
          const auto why = why_not_runnable(schedule, h200);
          EXPECT_EQ(why ? why->what() : "", std::string()) << schedule.name;
          for (const GroupedExchange& exchange : all_of_kind<GroupedExchange>(schedule))
            EXPECT_EQ(exchange.transport == Transport::peer_kernel, by == Collectives::two_shot) << schedule.name;
        }
    }
}

TEST(RankRows, WithoutCommunicationTheExchangeIsLeftOut) {
  Case request = make_case(uneven(PairOp::gemm_all_to_all, 16, 2.5), 4, Serial{});
  request.schedule.collectives = Collectives::none;
  const Schedule schedule = families::build(request, round_machine());
  EXPECT_EQ(all_of_kind<GroupedExchange>(schedule).size(), 0u);
  EXPECT_EQ(all_of_kind<Gemm>(schedule).size(), 1u);
}

}  // namespace rank_rows_test
}  // namespace weft::scenarios
