// The copy engines of one GPU: each carries one copy at a time, first come, first served.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "sim/engine.hpp"

namespace weft::sim {

class CopyEngines {
 public:
  /// An engine needs `turnaround` between two copies.
  CopyEngines(Engine& engine, int count, Picoseconds turnaround)
      : engine_(engine), idle_(count), turnaround_(turnaround) {}

  /// Calls back when an engine is the caller's, who gives it back with `release` or keeps it for the next copy.
  void acquire(StreamId stream, Waiter granted) {
    if (const auto kept = std::find(kept_for_.begin(), kept_for_.end(), stream); kept != kept_for_.end()) {
      kept_for_.erase(kept);
      engine_.at(engine_.now(), granted);
      return;
    }
    if (idle_ == 0) return queue_.push_back(granted);
    --idle_;
    engine_.at(engine_.now(), granted);
  }
  void release() {
    if (queue_.empty()) {
      ++idle_;
      return;
    }
    engine_.after(turnaround_, queue_.front());
    queue_.pop_front();
  }
  /// The engine waits for the next copy of this stream, which nothing holds back.
  void keep_for(StreamId stream) { kept_for_.push_back(stream); }

 private:
  Engine& engine_;
  int idle_;
  Picoseconds turnaround_;
  std::deque<Waiter> queue_;
  std::vector<StreamId> kept_for_;
};

}  // namespace weft::sim
