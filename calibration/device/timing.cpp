#include "calibration/device/timing.hpp"

#include <algorithm>

#include "calibration/device/power_log.hpp"
#include "calibration/device/windows.hpp"
#include "models/base/statistics.hpp"
#include "models/check/deadlock_check.hpp"
#include "models/execution/timing_protocol.hpp"

namespace weft::calibration::device {
namespace {

/// Windows that the GPU is given ahead, so that a slow moment of the host is no pause.
constexpr std::size_t queued_windows = 3;
constexpr double queued_ms_of_turns = 60;
/// After a guest's turn the GPU is idle: so much of the first schedule goes before what is timed, for the host to get
/// ahead.
constexpr double lead_ms = 0.2;

/// Means over the iterations of one run after a pause.
struct TimedRun {
  double iteration_us = 0;  ///< on the slowest rank
  double clock_MHz = 0;     ///< of this rank's GPU
};

TimedRun timed(int launches, const TimedProgram& one, RankView& ranks, SmClocks& clocks) {
  const Event start = make_event(Timed::yes), end = make_event(Timed::yes);
  const cudaStream_t stream = one.program.origin();
  one.program.wait();
  ranks.barrier();
  clocks.restart();
  const int before = clocks.read(stream);
  WEFT_CHECK(cudaEventRecord(start.get(), stream));
  for (int i = 0; i < launches; ++i) one.launcher.launch();
  WEFT_CHECK(cudaEventRecord(end.get(), stream));
  const int after = clocks.read(stream);
  one.program.wait();
  return {ranks.maximum(elapsed_us(start, end) / launches), clocks.mean_MHz({{before, after}})};
}

int launches_to_fill(double ms, double iteration_us, int at_least) {
  return static_cast<int>(std::max<double>(at_least, ms * 1e3 / std::max(iteration_us, 0.1)));
}

/// Windows of one schedule, or rounds of a mix, until they agree. Every rank decides by the same times, those of
/// windows that have ended everywhere, so all add the same windows.
class Settling {
 public:
  Settling(std::size_t queued, int fewest, RankView& ranks, const Instruments& instruments,
           const TurnMeeting* meeting = nullptr)
      : fewest_(static_cast<std::size_t>(fewest)),
        ranks_(ranks),
        log_(instruments.sensors),
        windows_(queued, instruments.clocks, meeting) {}

  /// `add_period` adds the windows of one period, always as many.
  template <class AddPeriod>
  void run(const AddPeriod& add_period) {
    while (periods_.size() < most_windows && !agree()) {
      periods_.emplace_back();
      add_period(windows_);
      end_stretch();
      per_period_ = windows_.size() / periods_.size();
      collect();
    }
    const bool settled = agree();
    const std::size_t known = period_us_.size();
    windows_.finish();
    collect();
    end_ = settled ? known : period_us_.size();
  }

  /// Between two windows of a period: the GPU is idle, and another program has it. What `others` enqueues afterwards is
  /// of `first`, and counts for nothing.
  template <class Others>
  void pause(const Program& first, const Others& others) {
    if (windows_.size() > 0) end_stretch();
    windows_.finish();
    others();
    stretch_begins_ = windows_.read_clock(first);
  }

  /// Mean iteration in window `of_period` of counted period `i` on this rank.
  double iteration_us(int i, std::size_t of_period) const {
    return windows_.iteration_us((first_counted() + static_cast<std::size_t>(i)) * per_period_ + of_period);
  }
  GpuReadings readings() {
    std::vector<Stretch> counted;
    for (std::size_t i = first_counted(); i < end_; ++i)
      counted.insert(counted.end(), periods_[i].begin(), periods_[i].end());
    const std::int64_t from = seen_end_ns(first_counted() - 1), to = seen_end_ns(end_ - 1);
    GpuReadings gpus;
    gpus.sm_clock_MHz = ranks_.of_every_rank(windows_.clocks().mean_MHz(counted));
    gpus.power_W = ranks_.of_every_rank(log_.mean_W(from, to));
    std::uint64_t limits = 0;
    for (const double of_rank : ranks_.of_every_rank(static_cast<double>(log_.clock_limits(from, to))))
      limits |= static_cast<std::uint64_t>(of_rank);
    gpus.held_back_by = names_of_clock_limits(limits);
    return gpus;
  }
  /// Of every period: the sum of its windows' iterations on the slowest rank.
  const std::vector<double>& periods_us() const { return period_us_; }
  std::vector<double> clocks_MHz() const {
    std::vector<double> clocks;
    for (std::size_t i = 1; i < periods_.size(); ++i) clocks.push_back(windows_.clocks().mean_MHz(periods_[i]));
    return clocks;
  }

 private:
  std::size_t first_counted() const { return end_ - counted_windows; }
  std::int64_t seen_end_ns(std::size_t period) const { return windows_.seen_end_ns((period + 1) * per_period_ - 1); }
  bool agree() const {
    return period_us_.size() >= fewest_ &&
           relative_spread({period_us_.end() - counted_windows, period_us_.end()}) <= settled_spread;
  }
  void end_stretch() {
    const int reading = windows_.read_clock();
    if (stretch_begins_ >= 0) periods_.back().push_back({stretch_begins_, reading});
    stretch_begins_ = reading;
  }
  void collect() {
    for (; (period_us_.size() + 1) * per_period_ <= windows_.ended();) {
      double sum_us = 0;
      for (std::size_t i = 0; i < per_period_; ++i)
        sum_us += windows_.iteration_us(period_us_.size() * per_period_ + i);
      period_us_.push_back(ranks_.maximum(sum_us));
    }
  }

  std::size_t fewest_;
  RankView& ranks_;
  PowerLog log_;
  Windows windows_;
  std::size_t per_period_ = 1, end_ = 0;
  std::vector<std::vector<Stretch>> periods_;  ///< when the GPU was ours
  int stretch_begins_ = -1;                    ///< a reading; -1: there was none yet
  std::vector<double> period_us_;
};

void keep_windows(const Settling& settling, Measurement& measurement) {
  measurement.windows_us = settling.periods_us();
  measurement.window_clocks_MHz = settling.clocks_MHz();
}

void fill(Measurement& measurement, std::vector<double> repeats_us, int launches, const GpuReadings& gpus) {
  measurement.condition = Condition::sustained;
  measurement.time_us = mean(repeats_us);
  measurement.repeats_us = std::move(repeats_us);
  measurement.iterations = launches;
  measurement.gpus = gpus;
  const auto slowest = std::ranges::min_element(gpus.sm_clock_MHz) - gpus.sm_clock_MHz.begin();
  measurement.sm_clock_MHz = gpus.sm_clock_MHz[static_cast<std::size_t>(slowest)];
  measurement.power_W = gpus.power_W[static_cast<std::size_t>(slowest)];
}

}  // namespace

void warm_up(const Program& program) {
  const bool one_by_one = program.schedule().launch == Launch::graph && runs_one_by_one(program.schedule());
  for (int i = 0; i < 2; ++i) one_by_one ? program.enqueue_one_by_one() : program.enqueue();
  program.wait();
}

void measure_after_pause(const TimedProgram& one, RankView& ranks, const RunOptions& options,
                         const Instruments& instruments) {
  Measurement& measurement = one.measurement;
  measurement.condition = Condition::after_pause;
  const auto run = [&](int launches) { return timed(launches, one, ranks, instruments.clocks); };
  measurement.iterations = launches_for(options.target_ms * 1e3, run(2).iteration_us);
  const int parts = one.program.schedule().repeats_per_iteration;
  for (int i = 0; i < options.repeats; ++i) {
    const TimedRun timed_run = run(measurement.iterations);
    measurement.repeats_us.push_back(timed_run.iteration_us / parts);
    measurement.repeat_clocks_MHz.push_back(timed_run.clock_MHz);
  }
  measurement.time_us = median(measurement.repeats_us);
  measurement.sm_clock_MHz = instruments.sensors.sm_clock_MHz();
  measurement.power_W = instruments.sensors.power_W();
}

void measure_sustained(const TimedProgram& one, RankView& ranks, const RunOptions& options,
                       const Instruments& instruments) {
  const int launches = launches_to_fill(window_ms, timed(3, one, ranks, instruments.clocks).iteration_us, 3);
  Settling settling(queued_windows, options.windows, ranks, instruments);
  settling.run([&](Windows& windows) { windows.add(one.program, one.launcher, launches); });
  const int parts = one.program.schedule().repeats_per_iteration;
  std::vector<double> counted_us;
  for (int i = 0; i < counted_windows; ++i) counted_us.push_back(ranks.maximum(settling.iteration_us(i, 0)) / parts);
  fill(one.measurement, std::move(counted_us), launches, settling.readings());
  keep_windows(settling, one.measurement);
}

void measure_in_turn(const std::vector<TimedProgram>& mix, RankView& ranks, const RunOptions& options,
                     const Instruments& instruments, Guest* guest, const TurnMeeting* meeting) {
  std::vector<int> launches;
  double round_us = 0;
  for (const TimedProgram& one : mix) {
    const double iteration_us = timed(3, one, ranks, instruments.clocks).iteration_us;
    launches.push_back(launches_to_fill(turn_ms, iteration_us, 1));
    round_us += launches.back() * iteration_us;
  }
  const int rounds = std::max(1, static_cast<int>(rounds_ms * 1e3 / round_us));
  const auto queued = static_cast<std::size_t>(queued_ms_of_turns * 1e3 / round_us * static_cast<double>(mix.size()));
  const int leading = std::max(1, static_cast<int>(launches.front() * lead_ms / turn_ms));
  Settling settling(std::max(queued_windows, queued), options.windows, ranks, instruments, meeting);
  settling.run([&](Windows& windows) {
    for (int round = 0; round < rounds; ++round) {
      if (guest != nullptr)
        settling.pause(mix.front().program, [&] {
          ranks.barrier();
          ranks.enter(Activity::waiting_for_guest);
          guest->turn();
          ranks.enter(Activity::timing);
          ranks.barrier();
          for (int i = 0; i < leading; ++i) mix.front().launcher.launch();
        });
      for (std::size_t i = 0; i < mix.size(); ++i) windows.add(mix[i].program, mix[i].launcher, launches[i]);
    }
  });
  if (guest != nullptr) guest->end(counted_windows * rounds, counted_windows);

  const GpuReadings gpus = settling.readings();
  for (std::size_t i = 0; i < mix.size(); ++i) {
    std::vector<double> repeats_us;
    for (int repeat = 0; repeat < counted_windows; ++repeat) {
      double sum_us = 0;
      for (int round = 0; round < rounds; ++round)
        sum_us += settling.iteration_us(repeat, static_cast<std::size_t>(round) * mix.size() + i);
      repeats_us.push_back(ranks.maximum(sum_us / rounds) / mix[i].program.schedule().repeats_per_iteration);
    }
    fill(mix[i].measurement, std::move(repeats_us), launches[i], gpus);
    mix[i].measurement.beside_guests = guest != nullptr;
  }
  keep_windows(settling, mix.front().measurement);
}

}  // namespace weft::calibration::device
