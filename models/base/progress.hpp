// How far long work is: whoever does it tells a callback, and knows no terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace weft {

/// Is told after each finished piece how many are done, of how many; by one thread at a time. May be empty.
using Progress = std::function<void(std::size_t done, std::size_t of)>;

/// Counts finished pieces of work, from any thread.
class ProgressCounter {
 public:
  ProgressCounter(Progress progress, std::size_t of) : progress_(std::move(progress)), of_(of) {}

  void add() {
    const std::lock_guard lock(telling_);
    of_ = std::max(of_, ++done_);
    if (progress_) progress_(done_, of_);
  }

 private:
  std::mutex telling_;
  Progress progress_;
  std::size_t done_ = 0, of_;
};

}  // namespace weft
