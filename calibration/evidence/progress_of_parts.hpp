// Work of several parts, each of which tells how far it is.
#pragma once

#include <cstddef>
#include <utility>

#include "models/base/progress.hpp"

namespace weft::calibration::evidence {

/// Lets parts tell how far all of the work is. Must outlive what `next` gives.
class ProgressOfParts {
 public:
  /// `of`: pieces of all parts. `progress` must outlive this.
  ProgressOfParts(const Progress& progress, std::size_t of) : progress_(progress), of_(of) {}

  /// For the next part, which begins where the one before has ended.
  Progress next(std::size_t pieces) {
    const std::size_t before = std::exchange(before_, before_ + pieces);
    return [this, before](std::size_t done, std::size_t) {
      if (progress_) progress_(before + done, of_);
    };
  }

 private:
  const Progress& progress_;
  std::size_t before_ = 0, of_;
};

}  // namespace weft::calibration::evidence
