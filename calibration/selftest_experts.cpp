#include "calibration/selftest_experts.hpp"

#include <numeric>
#include <optional>

#include "calibration/selftest_kernel_name.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

using Groups = std::vector<std::int64_t>;

constexpr std::int64_t tokens = 1000, hidden = 2048, tokens_experts = 3;  // three experts to a token

/// Buffers "a", "b" and what else is asked for; operations on one stream.
class OneKernel {
 public:
  OneKernel(const std::string& name, int gpus) {
    schedule_.name = "experts: " + name + ", gpus=" + std::to_string(gpus);
    schedule_.family = "serial";
    schedule_.gpus = gpus;
    schedule_.streams = {{"compute", 0}};
  }
  Slice add(const std::string& name, std::int64_t rows, std::int64_t columns) {
    schedule_.buffers.push_back({.name = name, .rows = rows, .columns = columns});
    return {static_cast<BufferId>(schedule_.buffers.size()) - 1, 0, RowRange{0, rows}, 0, columns};
  }
  void then(const std::string& name, Work work) { schedule_.operations.push_back({name, 0, {}, std::move(work)}); }
  Schedule that_computes(const std::string& op, const Slice& a, const Slice& b, const Slice& result) && {
    schedule_.meaning =
        Meaning{op, row_count(result.rows, 1), result.columns, a.columns, a.buffer, b.buffer, result.buffer};
    return std::move(schedule_);
  }

 private:
  Schedule schedule_;
};

Slice rows_of(Slice whole, std::int64_t first, std::int64_t count) {
  whole.rows = RowRange{first, count};
  return whole;
}

/// Columns and k that tiles do not divide.
Schedule grouped_gemm(int gpus, const std::string& name, const Groups& groups,
                      const std::optional<GemmKernel>& kernel) {
  constexpr std::int64_t n = 5 * own_tile_m + 24, k = 1000;
  OneKernel schedule("grouped GEMM, " + name, gpus);
  const std::int64_t rows = std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
  const Slice a = schedule.add("a", rows, k);
  const Slice b = schedule.add("b", static_cast<std::int64_t>(groups.size()) * n, k);
  const Slice c = schedule.add("c", rows, n);
  schedule.then("grouped", GroupedGemm{.a = a, .b = b, .c = c, .group_rows = groups, .kernel = kernel});
  return std::move(schedule).that_computes("grouped_gemm", a, b, c);
}

/// Without rows, with one, and around one tile and two.
Groups uneven_groups() { return {1, 0, 127, 128, 129, 255, 300, 2 * own_tile_m + 1}; }
Groups many_small_groups() {
  Groups groups;
  for (std::int64_t expert = 0; expert < 60; ++expert) groups.push_back(expert % 7 == 3 ? 0 : expert * 37 % 90);
  return groups;
}

std::vector<Schedule> grouped_gemms(int gpus) {
  std::vector<Schedule> schedules{
      grouped_gemm(gpus, "2 experts", {300, 85}, {}), grouped_gemm(gpus, "2 experts, one idle", {0, 517}, {}),
      grouped_gemm(gpus, "8 experts", uneven_groups(), {}), grouped_gemm(gpus, "60 experts", many_small_groups(), {})};
  for (const GemmKernel& kernel : own_kernels)
    if (kernel.scheduler != TileScheduler::stream_k)
      schedules.push_back(grouped_gemm(gpus, "8 experts, " + own_kernel_name(kernel), uneven_groups(), kernel));
  return schedules;
}

/// Each token's row three times, then into two parts that are cut elsewhere.
Schedule gather_and_scatter(int gpus) {
  OneKernel schedule("gather and scatter", gpus);
  const Slice a = schedule.add("a", tokens, hidden);
  const Slice gathered = schedule.add("gathered", tokens_experts * tokens, hidden);
  const Slice result = schedule.add("result", tokens_experts * tokens, hidden);
  constexpr std::int64_t cut = tokens + 77;
  schedule.then("gather", MemoryBound{MemoryKernel::gather, {a, a, a}, {gathered}});
  schedule.then("scatter", MemoryBound{MemoryKernel::scatter,
                                       {gathered},
                                       {rows_of(result, 0, cut), rows_of(result, cut, tokens_experts * tokens - cut)}});
  return std::move(schedule).that_computes("gather", a, a, result);
}

Schedule top_k(int gpus, std::int64_t experts, std::int64_t chosen) {
  OneKernel schedule("top " + std::to_string(chosen) + " of " + std::to_string(experts), gpus);
  const Slice a = schedule.add("a", tokens, experts), result = schedule.add("result", tokens, chosen);
  schedule.then("top_k", MemoryBound{MemoryKernel::top_k, {a}, {result}});
  return std::move(schedule).that_computes("top_k", a, a, result);
}

Schedule weighted_sum(int gpus, std::int64_t experts_of_token) {
  OneKernel schedule("weighted sum of " + std::to_string(experts_of_token), gpus);
  const Slice a = schedule.add("a", experts_of_token * tokens, hidden);
  const Slice b = schedule.add("b", tokens, experts_of_token), result = schedule.add("result", tokens, hidden);
  schedule.then("weighted sum", MemoryBound{MemoryKernel::weighted_sum, {a, b}, {result}});
  return std::move(schedule).that_computes("weighted_sum", a, b, result);
}

}  // namespace

std::vector<Schedule> expert_schedules(int gpus) {
  std::vector<Schedule> schedules = grouped_gemms(gpus);
  schedules.push_back(gather_and_scatter(gpus));
  for (const std::int64_t experts : {2, 8, 60, 512}) schedules.push_back(top_k(gpus, experts, experts == 2 ? 1 : 8));
  for (const std::int64_t experts_of_token : {1, 2, 8}) schedules.push_back(weighted_sum(gpus, experts_of_token));
  return schedules;
}

}  // namespace weft::calibration
