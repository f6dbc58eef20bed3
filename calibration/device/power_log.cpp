#include "calibration/device/power_log.hpp"

#include <chrono>

#include "calibration/shared_state.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::chrono::milliseconds interval{5};
/// Between fewer changes the counter's own steps would show.
constexpr std::size_t fewest_changes = 3;

}  // namespace

PowerLog::PowerLog(const Sensors& sensors) : sensors_(sensors), thread_([this] { run(); }) {}

PowerLog::~PowerLog() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

void PowerLog::run() {
  while (!ends_) {
    samples_.push_back({steady_now_ns(), sensors_.energy_J(), sensors_.power_W(), sensors_.clock_limits()});
    std::this_thread::sleep_for(interval);
  }
}

std::vector<PowerLog::Sample> PowerLog::between(std::int64_t from_ns, std::int64_t to_ns) {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  std::vector<Sample> found;
  for (const Sample& sample : samples_)
    if (from_ns <= sample.time_ns && sample.time_ns <= to_ns) found.push_back(sample);
  return found;
}

double PowerLog::mean_W(std::int64_t from_ns, std::int64_t to_ns) {
  const std::vector<Sample> samples = between(from_ns, to_ns);
  std::vector<Sample> changes;
  double sum_W = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    sum_W += samples[i].power_W;
    if (i > 0 && samples[i].energy_J != samples[i - 1].energy_J) changes.push_back(samples[i]);
  }
  if (changes.size() < fewest_changes) return samples.empty() ? 0 : sum_W / static_cast<double>(samples.size());
  return (changes.back().energy_J - changes.front().energy_J) * 1e9 /
         static_cast<double>(changes.back().time_ns - changes.front().time_ns);
}

std::uint64_t PowerLog::clock_limits(std::int64_t from_ns, std::int64_t to_ns) {
  std::uint64_t limits = 0;
  for (const Sample& sample : between(from_ns, to_ns)) limits |= sample.clock_limits;
  return limits;
}

}  // namespace weft::calibration::device
