// NCCL communicators of one rank: one for each CTA limit, kept for the whole job.
//
// Calls are blocking: a capture must see the kernels that NCCL launches before it ends. A rank that never comes is the
// parent's business, which kills the group when the time is up; asynchronous errors are asked for while waiting.
#pragma once

#include <map>

#include "calibration/device/handles.hpp"
#include "calibration/shared_state.hpp"

namespace weft::calibration::device {

class Communicators {
 public:
  explicit Communicators(RankView& ranks) : ranks_(ranks) {}

  /// Collective: all ranks ask in the same order. `max_ctas` 0 is the library's default.
  void connect(int max_ctas);
  /// Only after `connect`.
  ncclComm_t get(int max_ctas) const { return communicators_.at(max_ctas).get(); }
  /// Throws the asynchronous error of any communicator.
  void check_health() const;

 private:
  RankView& ranks_;
  std::map<int, Communicator> communicators_;
};

}  // namespace weft::calibration::device
