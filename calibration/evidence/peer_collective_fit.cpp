#include "calibration/evidence/peer_collective_fit.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

using fitting::Number;

constexpr const char* section = "direct_collectives.two_shot";
constexpr Number numbers[] = {{section, "cta_bandwidth", 1, 1000},       {section, "cta_store_bandwidth", 1, 1000},
                              {section, "cta_bulk_bandwidth", 1, 1000},  {section, "port_bandwidth", 1, 10'000},
                              {section, "one_way_bandwidth", 1, 10'000}, {section, "latency", 0, 100},
                              {section, "copy_latency", 0.01, 100},      {section, "bulk_latency", 0, 100},
                              {section, "cta_wide_bandwidth", 1, 1000},  {section, "peer_latency", 0, 100},
                              {section, "copy_peer_latency", 0.01, 100}};
constexpr std::size_t of_two_ranks = 8;  ///< the first ones

/// Where a profile leaves a number out another one holds, which a fit must start from.
void tell_apart(DirectCollective& kernel) {
  const auto tell = [](double& number, double otherwise) {
    if (number == 0) number = otherwise;
  };
  tell(kernel.cta_store_GBps, kernel.cta_GBps), tell(kernel.cta_bulk_GBps, kernel.cta_GBps);
  tell(kernel.cta_wide_GBps, kernel.cta_GBps), tell(kernel.one_way_GBps, kernel.port_GBps);
  tell(kernel.copy_latency_us, kernel.latency_us), tell(kernel.copy_peer_latency_us, kernel.peer_latency_us);
}

}  // namespace

std::vector<fitting::FittedNumber> fit_peer_collectives(const Machine& given,
                                                        const std::vector<PeerCollective>& collectives) {
  const bool has_more = std::ranges::any_of(collectives, [](const auto& one) { return one.request.gpus > 2; });
  const std::span<const Number> fitted = std::span(numbers).first(has_more ? std::size(numbers) : of_two_ranks);
  if (!given.direct_collectives || !given.direct_collectives->two_shot || collectives.size() < fitted.size()) return {};
  Machine machine = given;
  tell_apart(*machine.direct_collectives->two_shot);
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
  return fitting::fit_numbers(
      machine, fitted,
      [&] {
        std::vector<double> logarithms;
        for (const PeerCollective& one : collectives) {
          const Trace trace = scenarios::study::predict(one.request, machine, executor, {.serial = false}).trace;
          logarithms.push_back(std::log(trace.time_us / one.time_us));
        }
        return logarithms;
      },
      fitting::difference_of_simulations);
}

}  // namespace weft::calibration::evidence
