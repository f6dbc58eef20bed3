// The copy engines of one GPU: each carries one copy at a time, first come, first served.
#pragma once

#include <algorithm>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "sim/engine.hpp"

namespace weft::sim {

class CopyEnginePool {
 public:
  /// An engine needs `turnaround` between the copies of two streams.
  CopyEnginePool(Engine& engine, int count, Picoseconds turnaround)
      : engine_(engine), count_(count), idle_(count), turnaround_(turnaround) {}

  /// Does the caller get an engine at once, and may go on? Else `granted` is called when one is his. He gives it back
  /// with release() or keeps it for the next copy of the stream.
  bool is_granted(StreamId stream, Waiter granted) {
    if (!has_engine(stream)) {
      queue_.push_back(granted);
      return false;
    }
    if (engine_.is_next()) {  // who asks would go on next in any case
      engine_.take_place();
      return true;
    }
    engine_.at(engine_.now(), granted);
    return false;
  }
  void release() {
    if (queue_.empty()) {
      ++idle_;
      return;
    }
    engine_.after(turnaround_, queue_.front());
    queue_.erase(queue_.begin());
  }
  /// The engine waits for the next copy of this stream, which nothing holds back.
  void keep_for(StreamId stream) { kept_for_.push_back(stream); }
  /// Engines that carry a copy, or wait for the next one of a stream.
  int busy() const { return count_ - idle_; }
  /// All engines are idle again; nobody waits for one.
  void restart() {
    idle_ = count_;
    kept_for_.clear();
  }

 private:
  bool has_engine(StreamId stream) {
    if (const auto kept = std::find(kept_for_.begin(), kept_for_.end(), stream); kept != kept_for_.end()) {
      kept_for_.erase(kept);
      return true;
    }
    if (idle_ == 0) return false;
    --idle_;
    return true;
  }

  Engine& engine_;
  const int count_;
  int idle_;
  const Picoseconds turnaround_;
  std::vector<Waiter> queue_;
  std::vector<StreamId> kept_for_;
};

}  // namespace weft::sim
