// Proves the hardware executor on a machine with GPUs: every supported family once, checked and profiled; wrong results
// that have to be found; the time limit. Prints one line per schedule and one per kind of kernel.
//
//   weft_device_selftest --gpus N              all of it on N GPUs
//   weft_device_selftest --gpus N --only TEXT  schedules whose names have TEXT, such as "experts:", without load
//   weft_device_selftest --gpus N --hang       rank 1 takes no part: expects a clean end by the time limits
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "calibration/selftest_fp8.hpp"
#include "calibration/selftest_schedules.hpp"
#include "models/base/input_error.hpp"
#include "models/base/statistics.hpp"
#include "models/execution/executor_rules.hpp"

namespace weft::calibration {
namespace {

void print(const Schedule& schedule, const Measurement& measurement) {
  std::printf("%-60s %10.2f us  noise %.3f  iterations %d  error %.3g of %.3g%s  %.0f MHz %.0f W\n",
              schedule.name.c_str(), measurement.time_us, relative_spread(measurement.repeats_us),
              measurement.iterations, measurement.max_error, measurement.error_bound,
              measurement.checked ? "" : " (unchecked)", measurement.sm_clock_MHz, measurement.power_W);
  for (const KernelRecord& kernel : measurement.kernels) {
    const KernelLaunch& launch = kernel.launch;
    if (kernel.gpu == 0)
      std::printf("    %-14s %9.2f .. %9.2f us  grid %dx%dx%d block %d cluster %dx%dx%d regs %d smem %lld+%lld  %s\n",
                  kernel.operation.c_str(), kernel.start_us, kernel.end_us, launch.grid[0], launch.grid[1],
                  launch.grid[2], launch.block[0], launch.cluster[0], launch.cluster[1], launch.cluster[2],
                  launch.registers, static_cast<long long>(launch.static_shared_memory),
                  static_cast<long long>(launch.dynamic_shared_memory), launch.kernel.c_str());
  }
  std::fflush(stdout);
}

void print(const Conditions& c) {
  std::printf("%d x %s, %d SMs, driver %s, CUDA %s, NCCL %s, cuBLASLt %s, SM clock up to %.0f MHz, limit %.0f W\n",
              c.gpus, c.gpu.c_str(), c.sms, c.driver.c_str(), c.cuda.c_str(), c.nccl.c_str(), c.cublaslt.c_str(),
              c.max_sm_clock_MHz, c.power_limit_W);
  std::fflush(stdout);
}

int print_complaints(const std::vector<std::string>& complaints) {
  for (const std::string& complaint : complaints) std::printf("FAILED: %s\n", complaint.c_str());
  return static_cast<int>(complaints.size());
}

/// Every operation that has something to do must have been seen on every GPU.
int missing_spans(const Schedule& schedule, const Trace& trace) {
  std::set<std::pair<int, std::string>> seen;
  for (const Span& span : trace.spans) seen.insert({span.gpu, span.operation});
  int missing = 0;
  for (const Operation& operation : schedule.operations)
    for (int gpu = 0; gpu < schedule.gpus; ++gpu)
      if (!seen.contains({gpu, operation.name}) && !has_nothing_to_do(operation, gpu, schedule.gpus)) ++missing;
  return missing;
}

/// `only`: those whose names have it.
int run_all(int gpus, const std::string& only) {
  auto schedules = all_schedules(gpus);
  std::erase_if(schedules, [&](const Schedule& schedule) { return schedule.name.find(only) == std::string::npos; });
  int failures = 0;
  std::map<std::size_t, Measurement> results;
  RunOptions options;
  options.spans = true;
  options.condition = Condition::after_pause;
  measure(schedules, options,
          {.on_conditions = [](const Conditions& conditions) { print(conditions); },
           .on_result =
               [&](std::size_t i, const Measurement& measurement) {
                 results[i] = measurement;
                 print(schedules[i], measurement);
               },
           .on_error =
               [&](std::size_t i, const std::string& message) {
                 ++failures;
                 std::printf("%-60s FAILED: %s\n", schedules[i].name.c_str(), message.c_str());
               }});
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!results.contains(i)) continue;
    failures += print_complaints(broken_rules(schedules[i], results[i].trace));
    const int missing = missing_spans(schedules[i], results[i].trace);
    if (missing == 0 && (results[i].checked || !schedules[i].meaning)) continue;
    ++failures;
    std::printf("%-60s FAILED: %d spans missing, %s\n", schedules[i].name.c_str(), missing,
                results[i].checked ? "checked" : "unchecked");
  }
  if (only.empty() && gpus >= schedule_for_rules().gpus) {
    HardwareExecutor executor;
    failures += print_complaints(broken_rules(executor, Machine{}));
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

/// Each of them has to be found wrong.
int run_spoilt(int gpus, const std::string& only) {
  auto schedules = spoilt_fp8_schedules(gpus);
  std::erase_if(schedules, [&](const Schedule& schedule) { return schedule.name.find(only) == std::string::npos; });
  if (schedules.empty()) return 0;
  std::size_t found = 0;
  RunOptions options;
  options.condition = Condition::after_pause;
  measure(schedules, options,
          {.on_conditions = {},
           .on_result =
               [&](std::size_t i, const Measurement&) {
                 std::printf("%-60s FAILED: its wrong result was not found\n", schedules[i].name.c_str());
               },
           .on_error =
               [&](std::size_t i, const std::string& message) {
                 const bool is_expected = message.find("wrong result") != std::string::npos;
                 found += is_expected ? 1 : 0;
                 std::printf("%-60s %s: %s\n", schedules[i].name.c_str(), is_expected ? "found" : "FAILED",
                             message.c_str());
               }});
  std::printf("%zu of %zu spoilt schedules found\n", found, schedules.size());
  return found == schedules.size() ? 0 : 1;
}

/// A few schedules under load, each alone and all in turn: right results, times that settle.
int run_under_load(int gpus) {
  constexpr std::size_t step = 8;
  const auto all = all_schedules(gpus);
  std::vector<Schedule> some;
  Mix mix;
  for (std::size_t i = 0; i < all.size(); i += step) {
    mix.push_back(some.size());
    some.push_back(all[i]);
  }
  int failures = 0, results = 0;
  const Observer observer{.on_conditions = {},
                          .on_result =
                              [&](std::size_t i, const Measurement& measurement) {
                                ++results;
                                const bool is_right = measurement.checked || !some[i].meaning;
                                if (!is_right || measurement.gpus.sm_clock_MHz.size() != static_cast<std::size_t>(gpus))
                                  ++failures;
                                print(some[i], measurement);
                              },
                          .on_error =
                              [&](std::size_t i, const std::string& message) {
                                ++failures;
                                std::printf("%-60s FAILED: %s\n", some[i].name.c_str(), message.c_str());
                              }};
  measure(some, {}, observer);
  measure_in_turn(some, {mix}, {}, observer);
  std::printf("under load: %d failures\n", failures);
  return failures == 0 && results == 2 * static_cast<int>(some.size()) ? 0 : 1;
}

bool ends_with(const Schedule& schedule, const std::string& expected) {
  RunOptions options;
  options.absent_rank = 1;
  options.time_limit_s = 6;
  try {
    measure({schedule}, options, {});
  } catch (const ExecutionError& error) {
    const bool is_expected = std::string(error.what()).find(expected) != std::string::npos;
    std::printf("%s: %s\n", is_expected ? "ended as it should" : "FAILED", error.what());
    return is_expected;
  }
  std::printf("FAILED: the hang was not noticed\n");
  return false;
}

int run_hang(int gpus) {
  const bool nccl_ends = ends_with(waits_for_nccl(gpus), "exceeded the time limit");
  const bool barrier_ends = ends_with(waits_for_barrier(gpus), "\"enter\" waited too long for rank 1");
  return nccl_ends && barrier_ends ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  int gpus = 1;
  bool hang = false;
  std::string only;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--hang")
      hang = true;
    else if (arguments[i] == "--gpus" && has_value)
      gpus = std::stoi(arguments[++i]);
    else if (arguments[i] == "--only" && has_value)
      only = arguments[++i];
    else
      throw InputError(arguments[i], "expected --gpus N [--hang | --only TEXT]");
  }
  if (hang) return run_hang(gpus);
  const auto has_name = [&](const Schedule& schedule) { return schedule.name.find(only) != std::string::npos; };
  if (!std::ranges::any_of(all_schedules(gpus), has_name) && !std::ranges::any_of(spoilt_fp8_schedules(gpus), has_name))
    throw InputError("--only", "expected a part of a schedule's name, got \"" + only + "\"");
  const int alone = run_all(gpus, only), spoilt = run_spoilt(gpus, only);
  const int under_load = only.empty() ? run_under_load(gpus) : 0;
  return alone + spoilt + under_load == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::calibration

int main(int argc, char** argv) {
  try {
    return weft::calibration::run({argv + 1, argv + argc});
  } catch (const weft::InputError& error) {
    std::fprintf(stderr, "weft_device_selftest: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft_device_selftest: %s\n", error.what());
    return 1;
  }
}
