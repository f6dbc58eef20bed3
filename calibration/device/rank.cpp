#include "calibration/device/rank.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/device/conditions.hpp"
#include "calibration/device/reference_check.hpp"
#include "calibration/device/schedule_error.hpp"
#include "calibration/device/span_recording.hpp"
#include "calibration/device/timing.hpp"
#include "calibration/measurement_json.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::uint64_t input_seed = 1;
/// Longer than the parent waits, which says more about a hang than a rank can.
constexpr double barrier_limit_s = 600;

class RankProcess {
 public:
  RankProcess(const RankJob& job, const Send& send)
      : job_(job),
        send_(send),
        ranks_(*job.state, job.rank, job.ranks, barrier_limit_s),
        resources_{{}, SymmetricMemory(ranks_), {}, make_lt_handle(), Communicators(ranks_)},
        sensors_(job.rank) {}

  void run(Profiler* profiler) {
    if (job_.rank == 0) send_json({{"conditions", to_json(read_conditions(job_.ranks, sensors_))}});
    ranks_.barrier();
    for (std::size_t position = 0; position < job_.schedules.size(); ++position) {
      ranks_.begin(static_cast<int>(position), Activity::preparing);
      const std::size_t index = job_.indices[position];
      try {
        run_schedule(*job_.schedules[position], index, profiler);
      } catch (const ScheduleError& error) {
        if (job_.rank == 0) send_json({{"index", index}, {"error", error.what()}});
      }
      ranks_.barrier();
    }
    resources_.symmetric.close();
    ranks_.enter(Activity::finished);
  }

 private:
  void send_json(const nlohmann::json& message) const { send_(message.dump()); }

  void run_schedule(const Schedule& schedule, std::size_t index, Profiler* profiler) {
    const std::optional<Program> program = make_program(schedule);
    if (profiler != nullptr)
      record(*program, index, *profiler);
    else
      measure(*program, index);
    // No rank may reuse memory that another still reads.
    program->wait();
    ranks_.barrier();
  }

  /// Throws ScheduleError when any rank cannot prepare it.
  std::optional<Program> make_program(const Schedule& schedule) {
    resources_.arena.reset();
    resources_.symmetric.reset();
    std::optional<Program> program;
    std::string problem;
    try {
      program.emplace(schedule, ranks_, resources_, job_.options);
    } catch (const ScheduleError&) {
      throw;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    problem = ranks_.first_problem(problem);
    if (!problem.empty()) throw ScheduleError(problem);
    program->connect();
    program->initialise(input_seed);
    program->wait();
    ranks_.barrier();
    return program;
  }

  void measure(const Program& program, std::size_t index) {
    Measurement measurement;
    ranks_.enter(Activity::warming_up);
    warm_up(program);
    Launcher launcher(program);
    ranks_.enter(Activity::capturing);
    launcher.prepare();
    ranks_.enter(Activity::timing);
    measure_times(program, launcher, ranks_, job_.options, measurement);
    if (job_.rank == 0) {
      measurement.sm_clock_MHz = sensors_.sm_clock_MHz();
      measurement.power_W = sensors_.power_W();
    }
    if (job_.options.check) check(program, launcher, measurement);
    if (job_.rank == 0) send_json({{"index", index}, {"measurement", to_json(measurement)}});
  }

  /// Rank by rank the worst element; the worst of all goes into the measurement.
  void check(const Program& program, const Launcher& launcher, Measurement& measurement) {
    ranks_.enter(Activity::checking);
    const auto result = check_result(program, launcher, ranks_, resources_);
    if (!result) return;
    std::string problem;
    if (!(result->ratio <= 1))
      problem = "wrong result on rank " + std::to_string(job_.rank) + ", row " + std::to_string(result->row) +
                ", column " + std::to_string(result->column) + ": error " + std::to_string(result->max_error) +
                ", bound " + std::to_string(result->error_bound);
    problem = ranks_.first_problem(problem);
    if (!problem.empty()) throw ScheduleError(problem);
    const double worst = ranks_.maximum(result->ratio);
    measurement.checked = true;
    measurement.max_error = ranks_.maximum(result->ratio == worst ? result->max_error : 0);
    measurement.error_bound = ranks_.maximum(result->ratio == worst ? result->error_bound : 0);
  }

  void record(const Program& program, std::size_t index, Profiler& profiler) {
    ranks_.enter(Activity::profiling);
    const RecordedIteration recorded = record_spans(program, ranks_, profiler);
    nlohmann::json message{{"index", index}, {"spans", nlohmann::json::array()}, {"kernels", nlohmann::json::array()}};
    for (const Span& span : recorded.spans) message["spans"].push_back(to_json(span));
    for (const KernelRecord& kernel : recorded.kernels) message["kernels"].push_back(to_json(kernel));
    send_json(message);
  }

  const RankJob& job_;
  const Send& send_;
  RankView ranks_;
  Resources resources_;
  Sensors sensors_;
};

}  // namespace

void run_rank(const RankJob& job, const Send& send) {
  // NVLink multicast stays off unless the user asked for it: figures of machines with it on are another profile.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  std::optional<Profiler> profiler;  // before the CUDA context, so that it sees every graph
  if (job.profiled) profiler.emplace();
  WEFT_CHECK(cudaSetDevice(job.rank));
  WEFT_CHECK(cudaFree(nullptr));  // makes the context
  RankProcess(job, send).run(profiler ? &*profiler : nullptr);
}

}  // namespace weft::calibration::device
