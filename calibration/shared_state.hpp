// What the rank processes of one group and their parent share: memory mapped before the fork.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibration/max_ranks.hpp"

namespace weft::calibration {

/// What names a rank's device memory to another process (cudaIpcMemHandle_t).
using IpcHandle = std::array<char, 64>;

/// All parties meet; may be used again at once. The generation is the sense that each round reverses.
class SharedBarrier {
 public:
  void set_parties(int parties) { parties_ = parties; }
  /// False: the others did not come within the limit, and the barrier must not be used again.
  bool arrive_and_wait(std::chrono::duration<double> limit);

 private:
  int parties_ = 1;
  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> generation_{0};
};

/// What a rank is doing, for the message when it hangs.
enum class Activity {
  starting,
  waiting_for_ranks,
  connecting,
  preparing,
  warming_up,
  capturing,
  timing,
  waiting_for_guest,
  checking,
  profiling,
  finished
};
std::string_view describe(Activity activity);

struct RankStatus {
  std::atomic<std::int64_t> since_ns{0};  ///< steady clock, when the time that is limited began
  std::atomic<int> schedule{-1};          ///< position in the caller's list; -1: none yet
  std::atomic<Activity> activity{Activity::starting};
  std::atomic<Activity> last_work{Activity::starting};  ///< last activity that was not waiting for ranks
};

struct SharedState {
  SharedBarrier barrier;
  std::array<RankStatus, max_ranks> status;
  std::array<double, max_ranks> values{};
  std::array<std::array<char, 1024>, max_ranks> texts{};
  std::array<IpcHandle, max_ranks> memory{};
  std::array<char, 128> unique_id{};  ///< NCCL's
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<Activity>::is_always_lock_free);

struct Unmap {
  void operator()(SharedState* state) const;
};
using SharedStatePointer = std::unique_ptr<SharedState, Unmap>;
/// Anonymous shared memory: what a child process of a later fork writes, everyone reads.
SharedStatePointer make_shared_state(int ranks);

std::int64_t steady_now_ns();

/// The group as one rank sees it. Collective calls: every rank makes them in the same order.
class RankView {
 public:
  RankView(SharedState& state, int rank, int ranks, double wait_limit_s)
      : state_(state), rank_(rank), ranks_(ranks), wait_limit_s_(wait_limit_s) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  void begin(int schedule, Activity activity);  ///< restarts the limited time
  void enter(Activity activity);                ///< what it does now; when it is finished, the time to end begins
  /// Start-up work, such as connecting, is not counted to the schedule that needs it first.
  void restart_clock();

  /// Throws ExecutionError when the others do not come.
  void barrier();
  double maximum(double value);
  double minimum(double value);
  double from_rank_zero(double value);
  std::vector<double> of_every_rank(double value);  ///< by rank
  /// First non-empty message of any rank, the same on all ranks.
  std::string first_problem(const std::string& own);
  /// Every rank's, by rank.
  std::vector<IpcHandle> gather(const IpcHandle& own);
  std::array<char, 128>& unique_id() { return state_.unique_id; }

 private:
  RankStatus& status() { return state_.status[static_cast<std::size_t>(rank_)]; }

  SharedState& state_;
  int rank_, ranks_;
  double wait_limit_s_;
};

}  // namespace weft::calibration
