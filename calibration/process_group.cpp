#include "calibration/process_group.hpp"

#include <fcntl.h>
#include <poll.h>
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

#include "models/execution/executor.hpp"

namespace weft::calibration {
namespace {

volatile std::sig_atomic_t stop_signal = 0;
void note_signal(int signal) { stop_signal = signal; }

/// Catches SIGINT and SIGTERM while it lives.
class StopSignals {
 public:
  StopSignals() {
    stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static void check() {
    if (stop_signal != 0) throw Interrupted(stop_signal);
  }

 private:
  struct sigaction old_interrupt_ {
  }, old_terminate_{};
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
  std::fflush(nullptr);  // or each child would print the parent's buffered text again
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
    if (process.id > 0) kill(process.id, SIGKILL);
  for (Process& process : processes_) {
    if (process.id > 0)
      while (waitpid(process.id, nullptr, 0) < 0 && errno == EINTR) continue;
    if (process.pipe >= 0) close(process.pipe);
    process = {};
  }
}

void ProcessGroup::read_lines(int rank, const Handlers& handlers) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  std::array<char, 65536> bytes;
  const ssize_t count = read(process.pipe, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    close(process.pipe);
    process.pipe = -1;
    return;
  }
  process.partial_line.append(bytes.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end; (end = process.partial_line.find('\n', begin)) != std::string::npos; begin = end + 1)
    handlers.on_line(rank, process.partial_line.substr(begin, end - begin));
  process.partial_line.erase(0, begin);
}

void ProcessGroup::reap(int rank, const Handlers& handlers) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  // With the pipe still open only look; at its end the process is on its way out, but a GPU's driver can take long.
  int status = 0;
  const pid_t done = waitpid(process.id, &status, WNOHANG);
  if (done != process.id) return;
  while (process.pipe >= 0) read_lines(rank, handlers);
  process.id = -1;
  if (status != 0) handlers.on_death(rank, describe_status(status));
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

}  // namespace weft::calibration
