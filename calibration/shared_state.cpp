#include "calibration/shared_state.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {

bool SharedBarrier::arrive_and_wait(std::chrono::duration<double> limit) {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    return true;
  }
  // Spin first: ranks meet here just before a timed run, and should leave together.
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (std::int64_t turn = 0; generation_.load(std::memory_order_acquire) == generation; ++turn) {
    if (turn < 2000) continue;
    sched_yield();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

std::string_view describe(Activity activity) {
  switch (activity) {
    case Activity::starting:
      return "starting";
    case Activity::waiting_for_ranks:
      return "waiting for the other ranks";
    case Activity::connecting:
      return "creating an NCCL communicator";
    case Activity::preparing:
      return "preparing buffers and kernels";
    case Activity::warming_up:
      return "warming up";
    case Activity::capturing:
      return "capturing the graph";
    case Activity::timing:
      return "timing";
    case Activity::waiting_for_guest:
      return "waiting for the guest";
    case Activity::checking:
      return "checking the result";
    case Activity::profiling:
      return "profiling";
    case Activity::finished:
      return "finished";
  }
  return "?";
}

void Unmap::operator()(SharedState* state) const { munmap(state, sizeof(SharedState)); }

SharedStatePointer make_shared_state(int ranks) {
  void* memory = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw ExecutionError(std::string("mmap of shared memory: ") + std::strerror(errno));
  SharedStatePointer state(new (memory) SharedState);
  state->barrier.set_parties(ranks);
  for (RankStatus& status : state->status) status.since_ns = steady_now_ns();
  return state;
}

std::int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void RankView::begin(int schedule, Activity activity) {
  status().schedule = schedule;
  enter(activity);
  restart_clock();
}

void RankView::enter(Activity activity) {
  const Activity before = status().last_work.exchange(activity);
  status().activity = activity;
  const bool is_guests_time = activity == Activity::waiting_for_guest || before == Activity::waiting_for_guest;
  if (activity == Activity::finished || is_guests_time) restart_clock();
}

void RankView::restart_clock() { status().since_ns = steady_now_ns(); }

void RankView::barrier() {
  const Activity before = status().activity;
  status().activity = Activity::waiting_for_ranks;
  if (!state_.barrier.arrive_and_wait(std::chrono::duration<double>(wait_limit_s_)))
    throw ExecutionError("the other ranks did not come within " + std::to_string(static_cast<int>(wait_limit_s_)) +
                         " s after " + std::string(describe(before)));
  status().activity = before;
}

double RankView::maximum(double value) { return std::ranges::max(of_every_rank(value)); }

double RankView::minimum(double value) { return -maximum(-value); }

double RankView::from_rank_zero(double value) { return of_every_rank(value).front(); }

std::vector<double> RankView::of_every_rank(double value) {
  state_.values[static_cast<std::size_t>(rank_)] = value;
  barrier();
  std::vector<double> values(state_.values.begin(), state_.values.begin() + ranks_);
  barrier();
  return values;
}

std::string RankView::first_problem(const std::string& own) {
  auto& text = state_.texts[static_cast<std::size_t>(rank_)];
  text.fill('\0');
  own.copy(text.data(), text.size() - 1);
  barrier();
  std::string problem;
  for (int rank = 0; rank < ranks_ && problem.empty(); ++rank)
    problem = state_.texts[static_cast<std::size_t>(rank)].data();
  barrier();
  return problem;
}

std::vector<IpcHandle> RankView::gather(const IpcHandle& own) {
  state_.memory[static_cast<std::size_t>(rank_)] = own;
  barrier();
  std::vector<IpcHandle> all(state_.memory.begin(), state_.memory.begin() + ranks_);
  barrier();
  return all;
}

}  // namespace weft::calibration
