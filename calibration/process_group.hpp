// Rank processes: forked, listened to, and always cleared away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {

/// A user or a supervisor stopped the work.
class Interrupted : public ExecutionError {
 public:
  explicit Interrupted(int signal) : ExecutionError("stopped by signal " + std::to_string(signal)), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// Forks one process per rank and reads the lines that they send. Whatever happens, the destructor kills and reaps what
/// is still there, with what the ranks started in turn. A child dies with its parent.
class ProcessGroup {
 public:
  /// Sends one line (without the line break) to the parent.
  using Send = std::function<void(const std::string& line)>;
  /// Runs in the child; its return value is the exit status.
  using RankMain = std::function<int(int rank, const Send& send)>;

  ProcessGroup(int ranks, const RankMain& rank_main);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  struct Handlers {
    std::function<void(int rank, const std::string& line)> on_line;
    /// Called about ten times a second; throws to end the group.
    std::function<void()> on_tick;
    /// A process ended badly; throws. `how`: "was ended by signal 9 (Killed)", "ended with status 3".
    std::function<void(int rank, const std::string& how)> on_death;
    /// A process ended with status 0, and its lines were heard; throws where it had more to do.
    std::function<void(int rank)> on_end = {};
  };
  /// Returns when all ranks ended with status 0. Throws what a handler throws, and Interrupted on SIGINT, SIGTERM or
  /// SIGHUP unless this process ignores it.
  void supervise(const Handlers& handlers);

 private:
  struct Process {
    pid_t id = -1;  ///< -1: reaped
    int pipe = -1;  ///< reading end; -1: at its end
    std::string partial_line;
  };
  std::size_t read_lines(int rank, const Handlers& handlers);
  void read_what_is_there(int rank, const Handlers& handlers);
  void reap(int rank, const Handlers& handlers);
  void kill_all() noexcept;

  std::vector<Process> processes_;
};

/// How long a process may say nothing, for those that answer a list of questions.
class SilenceLimit {
 public:
  SilenceLimit(std::string process, double limit_s)
      : process_(std::move(process)), limit_s_(limit_s), since_(std::chrono::steady_clock::now()) {}

  void restart() { since_ = std::chrono::steady_clock::now(); }
  /// Throws ExecutionError "PROCESS said nothing for … s".
  void check() const;

 private:
  std::string process_;
  double limit_s_;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace weft::calibration
