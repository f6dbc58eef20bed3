#include "calibration/fitting/signal_times.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "models/base/statistics.hpp"
#include "models/schedule/counters.hpp"

namespace weft::calibration::fitting {
namespace {

/// A wait that begins later than this before the GEMM's end may find its counter there.
constexpr double least_wait_us = 5;

bool is(const KernelRecord& kernel, std::string_view name) {
  return kernel.launch.kernel.find(name) != std::string::npos;
}

/// The kernels of that name, by operation and GPU; the last of each, as waits for tiles come before an operation's own.
using ByOperation = std::map<std::pair<std::string, int>, const KernelRecord*>;
ByOperation last_of_each(const std::vector<KernelRecord>& kernels, std::string_view name) {
  ByOperation found;
  for (const KernelRecord& kernel : kernels)
    if (is(kernel, name)) {
      const KernelRecord*& last = found[{kernel.operation, kernel.gpu}];
      if (last == nullptr || last->start_us < kernel.start_us) last = &kernel;
    }
  return found;
}

/// Those of `use` that raise the counter of `rank`, each by a kernel; none where one was not recorded.
std::vector<const KernelRecord*> senders(const CounterUse& use, const Schedule& schedule, int rank,
                                         const ByOperation& signals) {
  std::vector<const KernelRecord*> kernels;
  for (const CounterSignal& signal : use.signals) {
    const int from = (rank - signal.place % schedule.gpus + schedule.gpus) % schedule.gpus;
    const auto sent = signals.find({schedule.operations[signal.operation].name, from});
    if (sent == signals.end()) return {};
    kernels.push_back(sent->second);
  }
  return kernels;
}

void add_wait(SignalSamples& samples, const KernelRecord& wait, const std::vector<const KernelRecord*>& signals) {
  const auto starts_earlier = [](const KernelRecord* a, const KernelRecord* b) { return a->start_us < b->start_us; };
  const KernelRecord& last = **std::max_element(signals.begin(), signals.end(), starts_earlier);
  const double all_ended_us = (*std::max_element(signals.begin(), signals.end(), [](const auto* a, const auto* b) {
                                return a->end_us < b->end_us;
                              }))->end_us;
  if (wait.start_us < last.start_us) samples.sent_us.push_back(wait.end_us - last.start_us);
  if (wait.start_us > all_ended_us) samples.found_us.push_back(wait.end_us - wait.start_us);
}

std::set<int> gpus_of(const std::vector<KernelRecord>& kernels) {
  std::set<int> gpus;
  for (const KernelRecord& kernel : kernels) gpus.insert(kernel.gpu);
  return gpus;
}

}  // namespace

void add_signals(SignalSamples& samples, const Schedule& schedule, const std::vector<KernelRecord>& kernels) {
  const ByOperation signals = last_of_each(kernels, "signal_kernel"), waits = last_of_each(kernels, "wait_kernel");
  for (const CounterUse& use : counter_uses(schedule)) {
    if (use.waits.size() != 1 || use.waits[0].tile_group >= 0 || use.waits[0].value != use.total()) continue;
    const std::string& name = schedule.operations[use.waits[0].operation].name;
    for (int rank = 0; rank < schedule.gpus; ++rank) {
      const auto wait = waits.find({name, rank});
      if (wait == waits.end()) continue;
      if (const auto sent = senders(use, schedule, rank, signals); !sent.empty())
        add_wait(samples, *wait->second, sent);
    }
  }
}

void add_tile_groups(SignalSamples& samples, const std::vector<KernelRecord>& kernels) {
  for (const int gpu : gpus_of(kernels)) {
    const KernelRecord *gemm = nullptr, *last_wait = nullptr;
    int gemms = 0;
    for (const KernelRecord& kernel : kernels) {
      if (kernel.gpu != gpu) continue;
      if (is(kernel, "own_gemm")) gemm = &kernel, ++gemms;
      if (is(kernel, "wait_kernel") && (last_wait == nullptr || last_wait->start_us < kernel.start_us))
        last_wait = &kernel;
    }
    if (gemms == 1 && last_wait != nullptr && last_wait->start_us < gemm->end_us - least_wait_us)
      samples.seen_us.push_back(last_wait->end_us - gemm->end_us);
  }
}

SignalTimes signal_times(const SignalSamples& samples, double signal_us) {
  SignalTimes times;
  if (!samples.seen_us.empty()) times.signal_us = signal_us = std::max(0.0, median(samples.seen_us));
  const auto beyond_signal = [&](const std::vector<double>& all) -> std::optional<double> {
    if (all.empty()) return std::nullopt;
    return std::max(0.0, median(all) - signal_us);
  };
  times.signal_kernel_us = beyond_signal(samples.sent_us);
  times.wait_kernel_us = beyond_signal(samples.found_us);
  return times;
}

}  // namespace weft::calibration::fitting
