// Streams of one rank, the same for one schedule after another. A GPU has few hardware queues for streams, and more
// streams than those share them: where eight programs of a mix had streams of their own, the priorities of their
// graphs' branches were lost.
#pragma once

#include <map>
#include <utility>

#include "calibration/device/handles.hpp"

namespace weft::calibration::device {

class Streams {
 public:
  /// The stream for place `index` among a schedule's streams; `priority` as in make_stream().
  cudaStream_t get(int index, int priority) {
    Stream& stream = streams_[{index, priority}];
    if (!stream) stream = make_stream(priority);
    return stream.get();
  }

 private:
  std::map<std::pair<int, int>, Stream> streams_;
};

}  // namespace weft::calibration::device
