#include "calibration/process_group.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {
namespace process_group_test {

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

int hang() {
  for (;;) pause();
}

ProcessGroup::Handlers throwing_handlers() {
  return {.on_line = [](int, const std::string& line) { throw ExecutionError(line); },
          .on_tick = {},
          .on_death = [](int rank,
                         const std::string& how) { throw ExecutionError("rank " + std::to_string(rank) + " " + how); }};
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ProcessGroup, DeliversTheLinesOfEachRankInOrder) {
  std::map<int, std::string> heard;
  ProcessGroup group(2, [](int rank, const ProcessGroup::Send& send) {
    for (int i = 0; i < 3; ++i) send(std::to_string(rank * 10 + i));
    return 0;
  });
  group.supervise({.on_line = [&](int rank, const std::string& line) { heard[rank] += line + " "; },
                   .on_tick = {},
                   .on_death = throwing_handlers().on_death});
  EXPECT_EQ(heard, (std::map<int, std::string>{{0, "0 1 2 "}, {1, "10 11 12 "}}));
}

TEST(ProcessGroup, DeliversLinesThatArePiecedTogetherFromManyReads) {
  const std::string long_line(1'000'000, 'x');
  std::size_t length = 0;
  ProcessGroup group(1, [&](int, const ProcessGroup::Send& send) {
    send(long_line);
    return 0;
  });
  group.supervise({.on_line = [&](int, const std::string& line) { length = line.size(); },
                   .on_tick = {},
                   .on_death = throwing_handlers().on_death});
  EXPECT_EQ(length, long_line.size());
}

TEST(ProcessGroup, NamesTheRankThatASignalEnded) {
  const auto work = [] {
    ProcessGroup group(2, [](int rank, const ProcessGroup::Send&) { return rank == 1 ? std::raise(SIGKILL) : hang(); });
    group.supervise(throwing_handlers());
  };
  EXPECT_EQ(message_of(work), "rank 1 was ended by signal 9 (Killed)");
}

TEST(ProcessGroup, NamesTheRankThatEndedWithAStatus) {
  const auto work = [] {
    ProcessGroup group(1, [](int, const ProcessGroup::Send&) { return 3; });
    group.supervise(throwing_handlers());
  };
  EXPECT_EQ(message_of(work), "rank 0 ended with status 3");
}

TEST(ProcessGroup, HearsTheLastLineOfARankThatFails) {
  const auto work = [] {
    ProcessGroup group(1, [](int, const ProcessGroup::Send& send) {
      send("my reason");
      return 1;
    });
    group.supervise(throwing_handlers());
  };
  EXPECT_EQ(message_of(work), "my reason");
}

TEST(ProcessGroup, LeavesNoProcessBehindWhenATickGivesUpOnRanksThatHang) {
  const auto work = [] {
    ProcessGroup group(3, [](int, const ProcessGroup::Send&) { return hang(); });
    auto handlers = throwing_handlers();
    handlers.on_tick = [] { throw ExecutionError("time is up"); };
    group.supervise(handlers);
  };
  EXPECT_EQ(message_of(work), "time is up");
  EXPECT_FALSE(has_children());
}

TEST(ProcessGroup, LeavesNoProcessBehindWhenItIsNeverSupervised) {
  {
    const ProcessGroup group(2, [](int, const ProcessGroup::Send&) { return hang(); });
  }
  EXPECT_FALSE(has_children());
}

class EndingSignal : public testing::TestWithParam<int> {};

TEST_P(EndingSignal, StopsTheGroupAndFindsItsOldHandlerAgain) {
  const int signal = GetParam();
  const auto work = [&] {
    ProcessGroup group(2, [](int, const ProcessGroup::Send&) { return hang(); });
    auto handlers = throwing_handlers();
    handlers.on_tick = [&] { std::raise(signal); };
    group.supervise(handlers);
  };
  EXPECT_EQ(message_of(work), "stopped by signal " + std::to_string(signal));
  EXPECT_FALSE(has_children());
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, EndingSignal, testing::Values(SIGINT, SIGTERM, SIGHUP));

// nohup has SIGHUP ignored.
TEST(ProcessGroup, IsNotStoppedByASignalThatTheProcessIgnores) {
  std::signal(SIGHUP, SIG_IGN);
  ProcessGroup group(1, [](int, const ProcessGroup::Send&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // some ticks
    return 0;
  });
  auto handlers = throwing_handlers();
  handlers.on_tick = [] { std::raise(SIGHUP); };
  EXPECT_EQ(message_of([&] { group.supervise(handlers); }), "no error");
  std::signal(SIGHUP, SIG_DFL);
}

/// Waits some seconds at most; 0 where it is still alive then.
int signal_that_ended(pid_t process) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) == process) return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  return 0;
}

TEST(ProcessGroup, EndsWithItsParentHoweverThatIsKilled) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // its ranks become children of this process
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    ProcessGroup group(2, [&](int, const ProcessGroup::Send&) {
      const pid_t own = getpid();
      return write(ends[1], &own, sizeof own) == sizeof own ? hang() : 1;
    });
    group.supervise({.on_line = {}, .on_tick = {}, .on_death = {}});
    _exit(0);
  }
  pid_t ranks[2];
  for (pid_t& rank : ranks) ASSERT_EQ(read(ends[0], &rank, sizeof rank), static_cast<ssize_t>(sizeof rank));
  kill(parent, SIGKILL);
  EXPECT_EQ(signal_that_ended(parent), SIGKILL);
  for (const pid_t rank : ranks) EXPECT_EQ(signal_that_ended(rank), SIGKILL);
  for (const int end : ends) close(end);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(ProcessGroup, AnExceptionInARankEndsItWithStatusOne) {
  const auto work = [] {
    ProcessGroup group(1, [](int, const ProcessGroup::Send&) -> int { throw ExecutionError("in the child"); });
    group.supervise(throwing_handlers());
  };
  EXPECT_EQ(message_of(work), "rank 0 ended with status 1");
}

}  // namespace process_group_test
}  // namespace weft::calibration
