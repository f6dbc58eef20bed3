// NCCL communicators of one rank: one for each way in which they are set, kept for the whole job.
//
// Calls are blocking: a capture must see the kernels that NCCL launches before it ends. A rank that never comes is the
// parent's business, which kills the group when the time is up; asynchronous errors are asked for while waiting.
#pragma once

#include <map>

#include "calibration/device/handles.hpp"
#include "calibration/shared_state.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// How a communicator is set.
struct NcclSetting {
  int max_ctas = 0;  ///< 0: the library's default
  bool by_copy_engines = false;
  auto operator<=>(const NcclSetting&) const = default;
};

class Communicators {
 public:
  explicit Communicators(RankView& ranks) : ranks_(ranks) {}

  /// Collective: all ranks ask in the same order.
  void connect(const NcclSetting& setting);
  /// Only after `connect`.
  ncclComm_t get(const NcclSetting& setting) const { return communicators_.at(setting).get(); }
  /// Throws the asynchronous error of any communicator.
  void check_health() const;

 private:
  RankView& ranks_;
  std::map<NcclSetting, Communicator> communicators_;
};

/// What a collective of NCCL needs.
NcclSetting setting_for(const Collective& collective);
NcclSetting setting_for(const GroupedExchange& exchange);

}  // namespace weft::calibration::device
