#include "calibration/device/timing.hpp"

#include "models/base/statistics.hpp"
#include "models/execution/timing_protocol.hpp"

namespace weft::calibration::device {
namespace {

/// Mean time of `launches` iterations on the slowest rank, in microseconds.
double timed(int launches, const Program& program, const Launcher& launcher, RankView& ranks, const Event& start,
             const Event& end) {
  program.wait();
  ranks.barrier();
  WEFT_CHECK(cudaEventRecord(start.get(), program.origin()));
  for (int i = 0; i < launches; ++i) launcher.launch();
  WEFT_CHECK(cudaEventRecord(end.get(), program.origin()));
  program.wait();
  float elapsed_ms = 0;
  WEFT_CHECK(cudaEventElapsedTime(&elapsed_ms, start.get(), end.get()));
  return ranks.maximum(static_cast<double>(elapsed_ms) * 1e3 / launches);
}

}  // namespace

void warm_up(const Program& program) {
  for (int i = 0; i < 2; ++i) program.enqueue();
  program.wait();
}

void measure_times(const Program& program, const Launcher& launcher, RankView& ranks, const RunOptions& options,
                   Measurement& measurement) {
  const Event start = make_event(Timed::yes), end = make_event(Timed::yes);
  const auto run = [&](int launches) { return timed(launches, program, launcher, ranks, start, end); };
  measurement.iterations = launches_for(options.target_ms * 1e3, run(2));
  const int parts = program.schedule().repeats_per_iteration;
  for (int i = 0; i < options.repeats; ++i) measurement.repeats_us.push_back(run(measurement.iterations) / parts);
  measurement.time_us = median(measurement.repeats_us);
}

}  // namespace weft::calibration::device
