#include "calibration/device/communicators.hpp"

#include <cstring>

namespace weft::calibration::device {

void Communicators::connect(int max_ctas) {
  if (communicators_.contains(max_ctas)) return;
  ranks_.enter(Activity::connecting);
  ranks_.restart_clock();
  ncclUniqueId id;
  static_assert(sizeof id.internal == sizeof ranks_.unique_id());
  if (ranks_.rank() == 0) {
    WEFT_CHECK(ncclGetUniqueId(&id));
    std::memcpy(ranks_.unique_id().data(), id.internal, sizeof id.internal);
  }
  ranks_.barrier();
  std::memcpy(id.internal, ranks_.unique_id().data(), sizeof id.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (max_ctas > 0) {
    config.minCTAs = 1;
    config.maxCTAs = max_ctas;
  }
  ncclComm_t communicator = nullptr;
  WEFT_CHECK(ncclCommInitRankConfig(&communicator, ranks_.ranks(), id, ranks_.rank(), &config));
  communicators_.emplace(max_ctas, Communicator(communicator));
  ranks_.barrier();
  ranks_.restart_clock();
}

void Communicators::check_health() const {
  for (const auto& [max_ctas, communicator] : communicators_) {
    ncclResult_t asynchronous = ncclSuccess;
    WEFT_CHECK(ncclCommGetAsyncError(communicator.get(), &asynchronous));
    WEFT_CHECK(asynchronous);
  }
}

}  // namespace weft::calibration::device
