#include "calibration/device/nccl_windows.hpp"

#include <cstdlib>
#include <string>

#include "calibration/device/check.hpp"

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
// An older library is loaded all the same: without them it still does everything else.
#pragma weak ncclCommWindowRegister
#pragma weak ncclAlltoAll
#endif

namespace weft::calibration::device {
namespace {

std::string version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

[[noreturn]] void refuse(const std::string& found) {
  throw ExecutionError("nccl_symmetric and nccl_copy_engine need windows of NCCL 2.28 or later: " + found);
}

}  // namespace

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)

void require_windows() {
  int loaded = 0;
  WEFT_CHECK(ncclGetVersion(&loaded));
  if (loaded < NCCL_VERSION(2, 28, 0)) refuse("this machine has " + version_text(loaded));
  // NCCL would give a window all the same, and move the data as without.
  for (const char* name : {"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE"})
    if (const char* value = std::getenv(name); value != nullptr && std::string(value) == "0")
      refuse(std::string(name) + "=0 in the environment turns its windows off");
}

void register_window(ncclComm_t communicator, void* memory, Bytes bytes) {
  ncclWindow_t window = nullptr;
  WEFT_CHECK(
      ncclCommWindowRegister(communicator, memory, static_cast<std::size_t>(bytes), &window, NCCL_WIN_COLL_SYMMETRIC));
  if (window == nullptr) refuse("it gives none here");
}

void take_no_ctas(ncclConfig_t& config) { config.CTAPolicy = NCCL_CTA_POLICY_ZERO; }

void all_to_all_of_nccl(const void* input, void* output, std::size_t count, ncclDataType_t type,
                        ncclComm_t communicator, cudaStream_t stream) {
  WEFT_CHECK(ncclAlltoAll(input, output, count, type, communicator, stream));
}

#else

void require_windows() { refuse("weft was built with " + version_text(NCCL_VERSION_CODE)); }
void register_window(ncclComm_t, void*, Bytes) { require_windows(); }
void take_no_ctas(ncclConfig_t&) { require_windows(); }
void all_to_all_of_nccl(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  require_windows();
}

#endif

}  // namespace weft::calibration::device
