#include "calibration/evidence/peer_collective_fit.hpp"

#include <algorithm>
#include <span>

namespace weft::calibration::evidence {
namespace {

using fitting::FittedNumber, fitting::Number;

constexpr const char* two_shot = "direct_collectives.two_shot";
constexpr Number of_collectives[] = {
    {two_shot, "cta_bandwidth", 1, 1000},       {two_shot, "cta_store_bandwidth", 1, 1000},
    {two_shot, "cta_bulk_bandwidth", 1, 1000},  {two_shot, "port_bandwidth", 1, 10'000},
    {two_shot, "one_way_bandwidth", 1, 10'000}, {two_shot, "latency", 0, 100},
    {two_shot, "copy_latency", 0.01, 100},      {two_shot, "bulk_latency", 0, 100},
    {two_shot, "cta_wide_bandwidth", 1, 1000},  {two_shot, "peer_latency", 0, 100},
    {two_shot, "copy_peer_latency", 0.01, 100}};
constexpr std::size_t of_two_ranks = 8;  ///< the first ones

constexpr const char *fused = "fused_norm_kernel", *fused_sum = "fused_norm_kernel.peer";
constexpr Number of_fused_norms[] = {{fused, "norm_bandwidth", 1, 10'000},
                                     {fused_sum, "cta_bandwidth", 1, 1000},
                                     {fused_sum, "port_bandwidth", 1, 10'000},
                                     {fused_sum, "latency", 0, 100},
                                     {fused_sum, "peer_latency", 0, 100}};
constexpr std::size_t fused_norms_of_two_ranks = 4;  ///< the first ones

void tell_apart(DirectCollective& kernel) {
  start_from(kernel.cta_store_GBps, kernel.cta_GBps), start_from(kernel.cta_bulk_GBps, kernel.cta_GBps);
  start_from(kernel.cta_wide_GBps, kernel.cta_GBps), start_from(kernel.one_way_GBps, kernel.port_GBps);
  start_from(kernel.copy_latency_us, kernel.latency_us),
      start_from(kernel.copy_peer_latency_us, kernel.peer_latency_us);
}

/// All `numbers` where some case has more than two ranks, otherwise the first `of_two`; none of too few cases.
std::vector<FittedNumber> fit(Machine machine, std::span<const Number> numbers, std::size_t of_two,
                              const std::vector<TimedCase>& cases) {
  const bool has_more = std::ranges::any_of(cases, [](const TimedCase& one) { return one.request.gpus > 2; });
  if (!has_more) numbers = numbers.first(of_two);
  if (cases.size() < numbers.size()) return {};
  return fit_to_times(machine, numbers, cases);
}

}  // namespace

std::vector<FittedNumber> fit_peer_collectives(const Machine& given, const std::vector<TimedCase>& collectives) {
  if (!given.direct_collectives || !given.direct_collectives->two_shot) return {};
  Machine machine = given;
  tell_apart(*machine.direct_collectives->two_shot);
  return fit(machine, of_collectives, of_two_ranks, collectives);
}

std::vector<FittedNumber> fit_fused_norms(const Machine& given, const std::vector<TimedCase>& norms) {
  if (!given.fused_norm_kernel || !given.fused_norm_kernel->peer) return {};
  Machine machine = given;
  start_from(machine.fused_norm_kernel->norm_GBps, machine.other_kernels.memory_share_per_sm * machine.gpu.hbm_GBps);
  return fit(machine, of_fused_norms, fused_norms_of_two_ranks, norms);
}

}  // namespace weft::calibration::evidence
