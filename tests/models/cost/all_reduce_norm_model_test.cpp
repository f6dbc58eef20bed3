// Its all-reduce is that of the profile, and the norm goes at the rate of an SM unless the profile says another: what
// is published of TokenWeave's kernel is met without having been fitted.
#include "models/cost/all_reduce_norm_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/cost/direct_collective_model.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"

namespace weft {
namespace all_reduce_norm_model_test {

constexpr std::array ctas_published{2, 4, 8, 16, 32};

/// TokenWeave (arXiv 2505.11329), artifact/csvs/figure_10.csv: 8 H100s, rows of 8192 bf16, in us.
struct PublishedRow {
  Bytes tokens = 0;
  std::array<double, ctas_published.size()> time_us;
};
constexpr std::array<PublishedRow, 10> published{{{64, {23.3, 18.7, 18.3, 17.1, 17.6}},
                                                  {128, {36.8, 27.2, 23.1, 22.0, 21.7}},
                                                  {256, {61.2, 42.0, 33.7, 30.1, 31.9}},
                                                  {512, {110.0, 70.8, 51.3, 45.1, 48.0}},
                                                  {1024, {207.8, 128.0, 86.6, 75.4, 78.7}},
                                                  {2048, {403.1, 240.4, 155.4, 137.1, 138.6}},
                                                  {4096, {792.8, 465.9, 290.8, 258.2, 259.8}},
                                                  {8192, {1571.1, 913.8, 561.7, 503.5, 502.3}},
                                                  {16384, {3125.4, 1797.9, 1103.0, 1004.3, 987.3}},
                                                  {32768, {6240.8, 3558.4, 2184.0, 1972.1, 1965.6}}}};
constexpr double clock_us = 7.8;  // a norm of 8 rows by the same clock (figure_4.csv)

const Machine& h100() {
  static const Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
  return machine;
}

double fused_us(int ctas, Bytes bytes) {
  const CollectiveTiming timing = time_all_reduce_norm(h100(), Transport::multicast, ctas, 8, bytes);
  return timing.latency_us + timing.transfer_us;
}

TEST(AllReduceNormLaw, MeetsTokenWeavesKernelOnEightH100s) {
  double sum = 0, worst = 0;
  for (const PublishedRow& row : published)
    for (std::size_t i = 0; i < ctas_published.size(); ++i) {
      const double error =
          std::abs((fused_us(ctas_published[i], row.tokens * 8192 * 2) + clock_us) / row.time_us[i] - 1);
      sum += error;
      worst = std::max(worst, error);
    }
  EXPECT_LT(sum / (published.size() * ctas_published.size()), 0.05);
  EXPECT_LT(worst, 0.13);
}

TEST(AllReduceNormLaw, WithFewCtasTheNormCostsAndWithManyThePortIsTheLimit) {
  const Bytes bytes = Bytes{512} << 20;
  const auto all_reduce_us = [&](int ctas) {
    return time_direct_collective(h100(), Transport::multicast, CollectiveKind::all_reduce, 8, bytes, ctas).transfer_us;
  };
  EXPECT_GT(fused_us(2, bytes), 1.5 * all_reduce_us(2));
  EXPECT_LT(fused_us(16, bytes), 1.02 * all_reduce_us(16));
}

TEST(AllReduceNormLaw, TakesTheKernelsOwnRates) {
  Machine machine = h100();
  FusedNormKernel& kernel = machine.fused_norm_kernel.value();
  const auto timing = [&] { return time_all_reduce_norm(machine, Transport::peer_kernel, 2, 8, Bytes{512} << 20); };
  const CollectiveTiming before = timing();
  kernel.norm_GBps = 1e9;
  const double without_us =
      time_direct_collective(machine, Transport::peer_kernel, CollectiveKind::all_reduce, 8, Bytes{512} << 20, 2)
          .transfer_us;
  EXPECT_NEAR(timing().transfer_us, without_us, 0.01 * without_us);
  EXPECT_GT(before.transfer_us, 1.2 * without_us);
  kernel.peer = {.cta_GBps = 1, .port_GBps = 1e9, .latency_us = 5, .peer_latency_us = 2};
  EXPECT_NEAR(timing().latency_us, 5 + 6 * 2, 1e-9);
  EXPECT_NEAR(timing().transfer_us, (Bytes{512} << 20) * (1 + 7 / 8.) / 2e3, 1);
}

}  // namespace all_reduce_norm_model_test
}  // namespace weft
