#include "calibration/device/rank.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/device/conditions.hpp"
#include "calibration/device/gpu_of_rank.hpp"
#include "calibration/device/reference_check.hpp"
#include "calibration/device/schedule_error.hpp"
#include "calibration/device/span_recording.hpp"
#include "calibration/device/timing.hpp"
#include "calibration/measurement_json.hpp"
#include "calibration/rank_message.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::uint64_t input_seed = 1;

class RankProcess {
 public:
  RankProcess(const RankJob& job, const Send& send)
      : job_(job),
        send_(send),
        ranks_(*job.state, job.rank, job.ranks, job.options.rank_limit_s()),
        resources_{{}, {}, SymmetricMemory(ranks_), {}, make_lt_handle(), WindowMemory(ranks_), Communicators(ranks_)},
        sensors_(gpu_of_rank(job.rank)) {
    if (job.in_turn && job.options.guests.are_there())
      guest_.emplace(job.options.guests.folder, job.rank, std::chrono::duration<double>(job.options.longest_limit_s()));
  }

  void run(Profiler* profiler) {
    if (job_.rank == 0) send_json({{"conditions", to_json(read_conditions(job_.ranks, sensors_))}});
    ranks_.barrier();
    for (const Mix& mix : job_.mixes) {
      resources_.arena.reset();
      resources_.symmetric.reset();
      resources_.windows.reset();
      reference_.reset();
      std::vector<std::unique_ptr<Ready>> ready = prepare(mix);
      if (profiler != nullptr)
        for (const auto& one : ready) record_or_say_why_not(one->program, one->index, *profiler);
      else
        measure(ready);
      // No rank may reuse memory that another still reads.
      for (const auto& one : ready) one->program.wait();
      ranks_.barrier();
    }
    resources_.symmetric.close();
    ranks_.enter(Activity::finished);
  }

 private:
  /// A program with the memory that it uses, and what was measured of it.
  struct Ready {
    Ready(std::size_t at, const Schedule& schedule, const RankView& ranks, Resources& resources,
          const RunOptions& options)
        : index(at), program(schedule, ranks, resources, options) {}

    std::size_t index;
    Program program;
    Launcher launcher{program};
    Measurement measurement;
  };

  void send_json(const nlohmann::json& message) const { send_(line_of(message)); }

  void send_error(std::size_t index, const std::string& message) const {
    if (job_.rank == 0) send_json({{"index", index}, {"error", message}});
  }

  /// Those that can be prepared on every rank; of the others the error is sent.
  std::vector<std::unique_ptr<Ready>> prepare(const Mix& mix) {
    std::vector<std::unique_ptr<Ready>> all;
    for (const std::size_t index : mix) {
      ranks_.begin(static_cast<int>(index), Activity::preparing);
      try {
        all.push_back(make_ready(index, (*job_.schedules)[index]));
      } catch (const ScheduleError& error) {
        send_error(index, error.what());
      }
    }
    return all;
  }

  /// Throws ScheduleError when any rank cannot prepare it.
  std::unique_ptr<Ready> make_ready(std::size_t index, const Schedule& schedule) {
    std::unique_ptr<Ready> ready;
    std::string problem;
    try {
      ready = std::make_unique<Ready>(index, schedule, ranks_, resources_, job_.options);
    } catch (const ScheduleError&) {
      throw;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    problem = ranks_.first_problem(problem);
    if (!problem.empty()) throw ScheduleError(problem);
    ready->program.connect();
    ready->program.initialise(input_seed);
    ready->program.wait();
    ranks_.barrier();
    return ready;
  }

  void measure(const std::vector<std::unique_ptr<Ready>>& mix) {
    if (mix.empty()) return;
    for (const auto& one : mix) warm_up_and_capture(*one);
    if (guest_) {
      ranks_.enter(Activity::waiting_for_guest);
      guest_->prepare(job_.options.guests.cases[mix.front()->index]);
    }
    ranks_.enter(Activity::timing);
    time(mix);
    for (const auto& one : mix) {
      ranks_.begin(static_cast<int>(one->index), Activity::checking);
      try {
        if (job_.options.check) check(*one, mix);
        if (job_.rank == 0) send_json({{"index", one->index}, {"measurement", to_json(one->measurement)}});
      } catch (const ScheduleError& error) {
        send_error(one->index, error.what());
      }
    }
  }

  void warm_up_and_capture(Ready& one) {
    ranks_.enter(Activity::warming_up);
    warm_up(one.program);
    ranks_.enter(Activity::capturing);
    one.launcher.prepare();
  }

  void time(const std::vector<std::unique_ptr<Ready>>& mix) {
    const Instruments instruments{sensors_, clocks_};
    std::vector<TimedProgram> timed;
    for (const auto& one : mix) timed.push_back({one->program, one->launcher, one->measurement});
    if (job_.in_turn) {
      const std::unique_ptr<TurnMeeting> meeting = make_meeting();
      return measure_in_turn(timed, ranks_, job_.options, instruments, guest_ ? &*guest_ : nullptr, meeting.get());
    }
    for (const TimedProgram& one : timed) {
      if (job_.options.condition == Condition::sustained)
        measure_sustained(one, ranks_, job_.options, instruments);
      else
        measure_after_pause(one, ranks_, job_.options, instruments);
    }
  }

  /// Null where there is one rank, or GPUs that cannot change each other's memory.
  std::unique_ptr<TurnMeeting> make_meeting() {
    if (job_.ranks == 1) return nullptr;
    std::unique_ptr<TurnMeeting> meeting;
    try {
      meeting = std::make_unique<TurnMeeting>(job_.rank, job_.ranks, resources_.symmetric, resources_.wait_note,
                                              job_.options.time_limit_s * share_of_one_wait);
    } catch (const ScheduleError&) {
      return nullptr;
    }
    ranks_.barrier();
    return meeting;
  }

  /// Null where there is none, or no memory for it. It may be another schedule of the mix, or that of the one before.
  const Ready* reference_of(const Ready& one, const std::vector<std::unique_ptr<Ready>>& mix) {
    const auto found = job_.options.references.find(one.index);
    if (found == job_.options.references.end()) return nullptr;
    const auto is_it = [&](const std::unique_ptr<Ready>& other) {
      return other && other->program.schedule() == found->second;
    };
    const auto in_mix = std::ranges::find_if(mix, is_it);
    if (in_mix != mix.end()) return in_mix->get();
    if (is_it(reference_)) return reference_.get();
    reference_.reset();
    try {
      reference_ = make_ready(one.index, found->second);
    } catch (const ScheduleError&) {
      return nullptr;
    }
    warm_up_and_capture(*reference_);
    ranks_.enter(Activity::checking);
    return reference_.get();
  }

  /// Rank by rank the worst element; the worst of all goes into the measurement.
  void check(Ready& one, const std::vector<std::unique_ptr<Ready>>& mix) {
    const Ready* const other = reference_of(one, mix);
    std::optional<Reference> reference;
    if (other != nullptr) reference.emplace(other->program, other->launcher);
    const auto result = check_result(one.program, one.launcher, ranks_, resources_, reference ? &*reference : nullptr);
    if (!result) return;
    Measurement& measurement = one.measurement;
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

  void record_or_say_why_not(const Program& program, std::size_t index, Profiler& profiler) {
    try {
      record(program, index, profiler);
    } catch (const ScheduleError& error) {
      send_error(index, error.what());
    }
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
  SmClocks clocks_;
  std::optional<Guest> guest_;
  std::unique_ptr<Ready> reference_;  ///< of the mix, in its memory
};

}  // namespace

void run_rank(const RankJob& job, const Send& send) {
  // NVLink multicast stays off unless the user asked for it: figures of machines with it on are another profile.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  std::optional<Profiler> profiler;  // before the CUDA context, so that it sees every graph
  if (job.profiled) profiler.emplace();
  WEFT_CHECK(cudaSetDevice(gpu_of_rank(job.rank)));
  WEFT_CHECK(cudaFree(nullptr));  // makes the context
  RankProcess(job, send).run(profiler ? &*profiler : nullptr);
}

}  // namespace weft::calibration::device
