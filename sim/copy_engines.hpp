// The copy engines of one GPU: each carries one copy at a time, first come, first served.
#pragma once

#include <deque>

#include "sim/engine.hpp"

namespace weft::sim {

class CopyEngines {
 public:
  CopyEngines(Engine& engine, int count) : engine_(engine), idle_(count) {}

  /// Calls back when an engine is the caller's, who gives it back with `release`.
  void acquire(Waiter granted) {
    if (idle_ == 0) return queue_.push_back(granted);
    --idle_;
    engine_.at(engine_.now(), granted);
  }
  void release() {
    if (queue_.empty()) {
      ++idle_;
      return;
    }
    engine_.at(engine_.now(), queue_.front());
    queue_.pop_front();
  }

 private:
  Engine& engine_;
  int idle_;
  std::deque<Waiter> queue_;
};

}  // namespace weft::sim
