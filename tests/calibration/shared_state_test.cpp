// Ranks are forked processes here, as they are on GPUs.
#include "calibration/shared_state.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {
namespace shared_state_test {

constexpr std::chrono::duration<double> long_enough{60}, short_while{0.05};

/// Runs `work` in one process per rank; the number of ranks where it returned true.
int successes(int ranks, const std::function<bool(int rank)>& work) {
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) _exit(work(rank) ? 0 : 1);
  int count = 0;
  for (int status = 0; wait(&status) > 0;) count += status == 0;
  return count;
}

TEST(SharedBarrier, LetsNobodyPassBeforeTheLastHasCome) {
  const int ranks = 3, rounds = 200;
  const auto state = make_shared_state(ranks);
  const auto work = [&](int rank) {
    for (int round = 0; round < rounds; ++round) {
      state->status[static_cast<std::size_t>(rank)].schedule = round;
      if (!state->barrier.arrive_and_wait(long_enough)) return false;
      for (int other = 0; other < ranks; ++other)
        if (state->status[static_cast<std::size_t>(other)].schedule < round) return false;
      if (!state->barrier.arrive_and_wait(long_enough)) return false;
    }
    return true;
  };
  EXPECT_EQ(successes(ranks, work), ranks);
}

TEST(SharedBarrier, GivesUpWhenARankDoesNotCome) {
  const auto state = make_shared_state(2);
  EXPECT_FALSE(state->barrier.arrive_and_wait(short_while));
}

TEST(SharedBarrier, OfOnePartyDoesNotWait) {
  const auto state = make_shared_state(1);
  EXPECT_TRUE(state->barrier.arrive_and_wait(short_while));
}

// Memory with a name would stay behind where nobody is left to remove it.
TEST(SharedState, HasNoNameThatCouldOutliveIt) {
  const auto state = make_shared_state(2);
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(state.get());
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line) && !line.starts_with(start.str())) continue;
  EXPECT_THAT(line, testing::HasSubstr(" rw-s "));
  EXPECT_THAT(line, testing::EndsWith("/dev/zero (deleted)"));
}

TEST(RankView, GathersEveryRanksHandle) {
  const int ranks = 3;
  const auto state = make_shared_state(ranks);
  const auto handle_of = [](int rank, int round) {
    IpcHandle handle{};
    handle.fill(static_cast<char>(10 * round + rank));
    return handle;
  };
  const auto work = [&](int rank) {
    RankView view(*state, rank, ranks, long_enough.count());
    for (int round = 0; round < 5; ++round) {
      const std::vector<IpcHandle> all = view.gather(handle_of(rank, round));
      for (int other = 0; other < ranks; ++other)
        if (all.at(static_cast<std::size_t>(other)) != handle_of(other, round)) return false;
    }
    return true;
  };
  EXPECT_EQ(successes(ranks, work), ranks);
}

TEST(RankView, FindsTheMaximumAndMinimumOverRanks) {
  const int ranks = 3;
  const auto state = make_shared_state(ranks);
  const auto work = [&](int rank) {
    RankView view(*state, rank, ranks, long_enough.count());
    return view.maximum(10.0 * rank) == 20 && view.minimum(10.0 * rank - 5) == -5;
  };
  EXPECT_EQ(successes(ranks, work), ranks);
}

TEST(RankView, GivesEveryRankTheValueOfRankZero) {
  const int ranks = 3;
  const auto state = make_shared_state(ranks);
  const auto work = [&](int rank) {
    return RankView(*state, rank, ranks, long_enough.count()).from_rank_zero(42.0 + rank) == 42;
  };
  EXPECT_EQ(successes(ranks, work), ranks);
}

TEST(RankView, TellsEveryRankTheFirstProblemOfAny) {
  const int ranks = 3;
  const auto state = make_shared_state(ranks);
  const auto work = [&](int rank) {
    RankView view(*state, rank, ranks, long_enough.count());
    const bool told = view.first_problem(rank == 1 ? "out of memory" : "") == "out of memory";
    return told && view.first_problem("").empty();
  };
  EXPECT_EQ(successes(ranks, work), ranks);
}

TEST(RankView, SaysWhatItWasDoingWhenTheOthersDoNotCome) {
  const auto state = make_shared_state(2);
  RankView view(*state, 0, 2, short_while.count());
  view.begin(0, Activity::timing);
  try {
    view.barrier();
    FAIL() << "expected an ExecutionError";
  } catch (const ExecutionError& error) {
    EXPECT_NE(std::string(error.what()).find("after timing"), std::string::npos) << error.what();
  }
}

}  // namespace shared_state_test
}  // namespace weft::calibration
