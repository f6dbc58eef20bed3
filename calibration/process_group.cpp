#include "calibration/process_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {
namespace {

volatile std::sig_atomic_t stop_signal = 0;
void note_signal(int signal) { stop_signal = signal; }

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

/// Catches those that this process does not ignore, as nohup has it, while it lives.
class StopSignals {
 public:
  StopSignals() {
    stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      sigaction(ending_signals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) sigaction(ending_signals[i], &action, nullptr);
    }
  }
  ~StopSignals() {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) sigaction(ending_signals[i], &old_[i], nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static void check() {
    if (stop_signal != 0) throw Interrupted(stop_signal);
  }

 private:
  std::array<struct sigaction, ending_signals.size()> old_{};
};

void write_line(int pipe, const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(pipe, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) _exit(3);  // the parent is gone
    sent += static_cast<std::size_t>(count);
  }
}

/// Never returns. `_exit`: what the parent registered to run at exit is not the child's business.
[[noreturn]] void child_main(int rank, int pipe, pid_t parent, const ProcessGroup::RankMain& rank_main) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  setpgid(0, 0);  // what the rank starts in turn is in its group, and ends with it
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  int status = 1;
  try {
    status = rank_main(rank, [pipe](const std::string& line) { write_line(pipe, line); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status))
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ProcessGroup::ProcessGroup(int ranks, const RankMain& rank_main) : processes_(static_cast<std::size_t>(ranks)) {
  std::fflush(nullptr);           // or each child would print the parent's buffered text again
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, children leave no status behind
  const pid_t parent = getpid();
  try {
    for (int rank = 0; rank < ranks; ++rank) {
      std::array<int, 2> ends{};
      if (pipe2(ends.data(), O_CLOEXEC) != 0) throw ExecutionError(std::string("pipe: ") + std::strerror(errno));
      const pid_t id = fork();
      if (id == 0) {
        close(ends[0]);
        for (const Process& sibling : processes_)
          if (sibling.pipe >= 0) close(sibling.pipe);
        child_main(rank, ends[1], parent, rank_main);
      }
      const int fork_error = errno;
      close(ends[1]);
      processes_[static_cast<std::size_t>(rank)] = {id, ends[0], {}};
      if (id < 0) throw ExecutionError(std::string("fork: ") + std::strerror(fork_error));
    }
  } catch (...) {
    kill_all();
    throw;
  }
}

ProcessGroup::~ProcessGroup() { kill_all(); }

void ProcessGroup::kill_all() noexcept {
  for (const Process& process : processes_)
    if (process.id > 0) {
      kill(process.id, SIGKILL);
      kill(-process.id, SIGKILL);
    }
  for (Process& process : processes_) {
    if (process.id > 0)
      while (waitpid(process.id, nullptr, 0) < 0 && errno == EINTR) continue;
    if (process.pipe >= 0) close(process.pipe);
    process = {};
  }
}

/// Returns the bytes that were read.
std::size_t ProcessGroup::read_lines(int rank, const Handlers& handlers) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  std::array<char, 65536> bytes;
  const ssize_t count = read(process.pipe, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  if (count <= 0) {
    close(process.pipe);
    process.pipe = -1;
    return 0;
  }
  process.partial_line.append(bytes.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end; (end = process.partial_line.find('\n', begin)) != std::string::npos; begin = end + 1)
    handlers.on_line(rank, process.partial_line.substr(begin, end - begin));
  process.partial_line.erase(0, begin);
  return static_cast<std::size_t>(count);
}

/// Waits for nothing: the end of the pipe may never come where another process has it open.
void ProcessGroup::read_what_is_there(int rank, const Handlers& handlers) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  int bytes = 0;
  if (process.pipe >= 0) ioctl(process.pipe, FIONREAD, &bytes);
  while (process.pipe >= 0 && bytes > 0) bytes -= static_cast<int>(read_lines(rank, handlers));
}

void ProcessGroup::reap(int rank, const Handlers& handlers) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(process.id), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
    return;
  kill(-process.id, SIGKILL);  // its group; until it is reaped no other process has its number
  int status = 0;
  waitpid(std::exchange(process.id, -1), &status, 0);
  // What the others measured before it died counts, too.
  for (std::size_t any = 0; any < processes_.size(); ++any) read_what_is_there(static_cast<int>(any), handlers);
  if (process.pipe >= 0) close(std::exchange(process.pipe, -1));
  if (status != 0) handlers.on_death(rank, describe_status(status));
  if (status == 0 && handlers.on_end) handlers.on_end(rank);
}

void ProcessGroup::supervise(const Handlers& handlers) {
  const StopSignals signals;
  const auto is_alive = [](const Process& process) { return process.id > 0; };
  while (std::ranges::any_of(processes_, is_alive)) {
    std::vector<pollfd> watched;
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank)
      if (processes_[rank].pipe >= 0) {
        watched.push_back({processes_[rank].pipe, POLLIN, 0});
        ranks.push_back(static_cast<int>(rank));
      }
    poll(watched.data(), watched.size(), watched.empty() ? 5 : 100);
    StopSignals::check();
    for (std::size_t i = 0; i < watched.size(); ++i)
      if (watched[i].revents != 0) read_lines(ranks[i], handlers);
    for (std::size_t rank = 0; rank < processes_.size(); ++rank)
      if (processes_[rank].id > 0) reap(static_cast<int>(rank), handlers);
    if (handlers.on_tick) handlers.on_tick();
  }
}

void SilenceLimit::check() const {
  if (std::chrono::steady_clock::now() - since_ <= std::chrono::duration<double>(limit_s_)) return;
  std::ostringstream message;
  message << process_ << " said nothing for " << limit_s_ << " s";
  throw ExecutionError(message.str());
}

}  // namespace weft::calibration
