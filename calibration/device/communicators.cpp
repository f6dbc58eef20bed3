#include "calibration/device/communicators.hpp"

#include <cstring>

#include "calibration/device/nccl_windows.hpp"

namespace weft::calibration::device {

NcclSetting setting_for(const Collective& collective) {
  return {collective.max_ctas, collective.transport == Transport::nccl_copy_engine};
}

NcclSetting setting_for(const GroupedExchange& exchange) { return {.max_ctas = exchange.max_ctas}; }

void Communicators::connect(const NcclSetting& setting) {
  if (communicators_.contains(setting)) return;
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
  if (setting.max_ctas > 0) {
    config.minCTAs = 1;
    config.maxCTAs = setting.max_ctas;
  }
  if (setting.by_copy_engines) take_no_ctas(config);
  ncclComm_t communicator = nullptr;
  WEFT_CHECK(ncclCommInitRankConfig(&communicator, ranks_.ranks(), id, ranks_.rank(), &config));
  communicators_.emplace(setting, Communicator(communicator));
  ranks_.barrier();
  ranks_.restart_clock();
}

void Communicators::check_health() const {
  for (const auto& [setting, communicator] : communicators_) {
    ncclResult_t asynchronous = ncclSuccess;
    WEFT_CHECK(ncclCommGetAsyncError(communicator.get(), &asynchronous));
    WEFT_CHECK(asynchronous);
  }
}

}  // namespace weft::calibration::device
