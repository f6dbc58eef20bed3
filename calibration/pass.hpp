// One pass over schedules of one number of GPUs: a process for each rank, supervised.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibration/device_module.hpp"
#include "calibration/hardware.hpp"
#include "calibration/rank_message.hpp"
#include "calibration/shared_state.hpp"

namespace weft::calibration {

/// A rank came to harm over a schedule that is not answered yet: it hangs, fails, or is gone. Its pass is over.
class ScheduleFailure : public ExecutionError {
 public:
  ScheduleFailure(std::size_t index, const std::string& name, const std::string& reason)
      : ExecutionError("schedule \"" + name + "\": " + reason), index_(index), reason_(reason) {}
  std::size_t index() const { return index_; }
  const std::string& reason() const { return reason_; }  ///< "exceeded the time limit of 60 s: rank 0 was timing"

 private:
  std::size_t index_;
  std::string reason_;
};

/// Times, or under `RankJob::profiled` spans.
class Pass {
 public:
  /// Schedules, observer and results must outlive this. `results`: by position in the schedules; spans are added to
  /// the times of a pass before.
  Pass(const std::vector<Schedule>& schedules, RankJob job, const Observer& observer,
       std::map<std::size_t, Measurement>& results);

  /// Throws ScheduleFailure, and ExecutionError for what no schedule is to blame for.
  void run();

  /// Is there no answer yet about this schedule, or not from all ranks?
  bool awaits(std::size_t index) const { return awaited_.contains(index); }

 private:
  int rank_main(int rank, const Send& send) const;
  void take(int rank, const std::string& line);
  RankMessage understood(int rank, const std::string& line) const;
  void require_awaited(int rank, std::size_t index) const;
  void take_error(std::size_t index, const std::string& error);
  void take_measurement(std::size_t index, const Measurement& measurement);
  void take_recording(const RankMessage& message);
  void check_time() const;
  void check_time_of(int rank) const;
  void report_death(int rank, const std::string& how) const;
  void check_end(int rank);
  void require_all_answers() const;
  [[noreturn]] void fail(int rank, const std::string& reason) const;
  double limit_s(int rank) const;

  const std::vector<Schedule>& schedules_;
  RankJob job_;
  const Observer& observer_;
  std::map<std::size_t, Measurement>& results_;
  std::map<std::size_t, int> awaited_;  ///< how many answers are still to come about a schedule
  std::set<int> ended_;                 ///< ranks whose work is done
  int ranks_;
  SharedStatePointer state_;
};

}  // namespace weft::calibration
