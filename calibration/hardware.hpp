// The hardware executor: runs schedules on real GPUs, one process per GPU. No CUDA here: the device part is a module
// (libweft_device.so beside the command) that only the forked rank processes load.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/execution/executor.hpp"
#include "models/execution/timing_protocol.hpp"
#include "models/execution/trace.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// Programs that take turns with the schedules of a mix, one for each rank: see guest.hpp.
struct Guests {
  std::string folder;  ///< of their sockets; empty: there are none
  /// By position in the list of schedules: the case that a schedule is of, as weft predict reads it, in one line.
  /// Guests are told that of the first of each mix.
  std::vector<std::string> cases;

  bool are_there() const { return !folder.empty(); }
};

struct RunOptions {
  Condition condition = Condition::sustained;
  int windows = fewest_windows;  ///< sustained: at least so many, up to `most_windows`
  double target_ms = run_ms;     ///< load of one timed run after a pause
  int repeats = timed_runs;      ///< after a pause: the median counts
  bool check = true;         ///< compare the result with a plain reference, where the schedule says what it computes
  bool spans = false;        ///< run everything a second time under CUPTI
  double time_limit_s = 60;  ///< for each schedule and pass
  /// CUDA, NCCL and CUPTI start, communicators connect, and a process ends, in tens of seconds at worst.
  double start_up_limit_s = 120;
  /// Where there are fewer GPUs than ranks, several ranks may have the same one: results are those of as many GPUs, but
  /// ranks wait for each other's turns, and no time means anything. NCCL refuses it.
  bool may_share_gpus = false;
  Guests guests;  ///< in turn only
  /// Where a schedule's result has no plain reference: one that computes the same, by position in the list of
  /// schedules.
  std::map<std::size_t, Schedule> references = {};
  int absent_rank = -1;  ///< self-test: this rank leaves out what the others wait for, so that they hang

  /// What a rank may take over a schedule that finds it starting up.
  double longest_limit_s() const { return std::max(start_up_limit_s, time_limit_s); }
  /// How long a rank waits for the others: longer than their parent, which says more about a hang than a rank can.
  double rank_limit_s() const { return 2 * longest_limit_s() + 60; }
};

/// What a kernel is and how it is launched. A copy has an empty grid.
struct KernelLaunch {
  std::string kernel;
  std::array<int, 3> grid{}, block{}, cluster{};
  int registers = 0;  ///< per thread
  Bytes static_shared_memory = 0, dynamic_shared_memory = 0;
  auto operator<=>(const KernelLaunch&) const = default;
};

/// One kernel or copy of one iteration, as CUPTI saw it. Times are whole nanoseconds and count from the start of that
/// iteration's first kernel on any GPU.
struct KernelRecord {
  std::string operation;
  KernelLaunch launch;
  int gpu = 0;
  std::string stream;
  Bytes bytes = 0;  ///< of a copy
  double start_us = 0, end_us = 0;
};

/// What the GPUs did while the time that counts was taken, one value a GPU; empty where nothing was read.
struct GpuReadings {
  std::vector<double> sm_clock_MHz;  ///< mean: cycles of the SMs over time
  std::vector<double> power_W;       ///< mean, from the driver's energy counter
  /// Why the driver held the clock back at some time, in its words: "power cap", "thermal", …; of all GPUs together.
  std::vector<std::string> held_back_by;

  /// By heat, or by a fault of power supply or cooling: another time it would be faster, so it does not count.
  bool is_held_back_by_surroundings() const;
};

struct Measurement {
  Condition condition = Condition::after_pause;
  std::string in_turn_with;    ///< id of the first case of the mix that it was measured in; empty: alone
  bool beside_guests = false;  ///< in turn with what weft does not know: the clock of the mix is not that of its cases
  double time_us = 0;          ///< of one iteration: the mean of `repeats_us`; after a pause their median
  std::vector<double> repeats_us;  ///< each the slowest rank's mean iteration, over repeats_per_iteration
  int iterations = 0;              ///< in each timed run or window
  bool checked = false;
  double max_error = 0, error_bound = 0;  ///< of the element that comes closest to its bound (absolute values)
  /// After a pause: mean clock of GPU 0 in each of `repeats_us`. Empty: unknown.
  std::vector<double> repeat_clocks_MHz;
  /// Sustained: means of the GPU with the lowest clock. After a pause: of GPU 0 right after the last run. 0: unknown.
  double sm_clock_MHz = 0, power_W = 0;
  GpuReadings gpus;  ///< sustained
  /// Sustained: all windows from the first, as `repeats_us`, and the clock of GPU 0 in each from the second: how the
  /// governor comes to rest. In turn: sums over the schedules of the mix.
  std::vector<double> windows_us, window_clocks_MHz;
  Trace trace;                        ///< with spans: of one steady iteration
  std::vector<KernelRecord> kernels;  ///< with spans: what that iteration ran, in ascending order of GPU and start
};

/// An empty text and 0 say that it is not known, or does not apply.
struct Conditions {
  std::string date;  ///< UTC
  std::string gpu, driver, cuda, nccl, cublaslt;
  int gpus = 0, sms = 0;
  double max_sm_clock_MHz = 0, power_limit_W = 0;
  std::string torch, uuid;  ///< where PyTorch measured: its version, and the serial number of the GPU
  std::string commit;       ///< of weft
  /// What is set of NCCL_…, CUDA_… and CUBLAS…, as NAME=VALUE in alphabetical order.
  std::vector<std::string> environment;
  std::string ecc, mig, mps;  ///< "on" or "off"
  /// What the SMs' clock is set to at most, where that is below the highest; of a lock by nvidia-smi -lgc the driver
  /// tells nothing but the clocks that it leads to.
  double application_clock_MHz = 0;
  int other_processes = 0;  ///< that had work on GPU 0 besides this one when the run began
};

/// Receives what a measuring run produces, as it is produced: an interrupted run loses nothing.
struct Observer {
  /// Once for each number of GPUs, and once more where a schedule took its processes along.
  std::function<void(const Conditions&)> on_conditions;
  /// With RunOptions::spans called twice for an index: as soon as the times are there, and when the trace and kernels
  /// are complete.
  std::function<void(std::size_t index, const Measurement&)> on_result;
  /// This schedule cannot be run, hangs or takes a process along, or its result is wrong; the others go on.
  std::function<void(std::size_t index, const std::string& message)> on_error;
};

/// Is there a device part, as a build with a CUDA toolkit makes it?
bool has_device_part();
/// Throws InputError where there is none.
void require_device_part();
/// GPUs that CUDA shows to a process started here; 0 without a device part or driver. Throws ExecutionError where that
/// process fails or says nothing within the limit.
int visible_gpus(double limit_s = RunOptions{}.start_up_limit_s);

/// Measures all schedules, grouped by their number of GPUs; start-up is paid once a group, and again after a schedule
/// that hangs or takes a process along. Throws InputError where there is no device part or too few GPUs, ExecutionError
/// where a rank answers nonsense or not at all, or fails before or after its work, and, naming rank, schedule and
/// activity, for the third failure of schedules in a row, or for each where nobody observes errors. No process is left
/// behind.
void measure(const std::vector<Schedule>& schedules, const RunOptions& options, const Observer& observer);

/// Positions in a list of schedules.
using Mix = std::vector<std::size_t>;
/// As `measure`, but the schedules of a mix, all for one number of GPUs, take turns of `turn_ms` under one sustained
/// load: their times are those of one clock. Of options.spans nothing is recorded.
void measure_in_turn(const std::vector<Schedule>& schedules, const std::vector<Mix>& mixes, const RunOptions& options,
                     const Observer& observer);

/// One schedule at a time, with spans. `machine` only names the trace.
class HardwareExecutor : public Executor {
 public:
  explicit HardwareExecutor(RunOptions options = {}) : options_(options) { options_.spans = true; }
  Trace run(const Schedule& schedule, const Machine& machine) override;

 private:
  RunOptions options_;
};

}  // namespace weft::calibration
