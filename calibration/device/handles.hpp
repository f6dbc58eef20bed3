// Owners of device handles: move-only, one small type each, destroyed where they go out of scope.
#pragma once

#include <type_traits>
#include <utility>

#include "calibration/device/check.hpp"
#include "models/base/units.hpp"

namespace weft::calibration::device {

/// Owns a handle that `destroy` gives back.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) WEFT_REPORT(destroy(handle_));
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using DeviceMemory = Owned<void*, cudaFree>;
using PinnedMemory = Owned<void*, cudaFreeHost>;
using PeerMemory = Owned<void*, cudaIpcCloseMemHandle>;  ///< of another process
using Communicator = Owned<ncclComm_t, ncclCommDestroy>;
using LtHandle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using MatmulDescriptor = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using MatmulPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
static_assert(std::is_nothrow_move_constructible_v<Stream> && !std::is_copy_constructible_v<Stream>);

/// `priority` as in CUDA: 0 is normal, lower is more urgent; clamped to what the device knows.
inline Stream make_stream(int priority) {
  cudaStream_t stream = nullptr;
  WEFT_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return Stream(stream);
}

inline DeviceMemory make_device_memory(Bytes bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
  if (result != cudaSuccess) cudaGetLastError();  // out of memory is no lasting error
  WEFT_CHECK(result);
  return DeviceMemory(memory);
}

enum class Timed { no, yes };
inline Event make_event(Timed timed) {
  cudaEvent_t event = nullptr;
  WEFT_CHECK(cudaEventCreateWithFlags(&event, timed == Timed::yes ? cudaEventDefault : cudaEventDisableTiming));
  return Event(event);
}

/// Between two events of Timed::yes that have happened, in microseconds.
inline double elapsed_us(const Event& start, const Event& end) {
  float elapsed_ms = 0;
  WEFT_CHECK(cudaEventElapsedTime(&elapsed_ms, start.get(), end.get()));
  return static_cast<double>(elapsed_ms) * 1e3;
}

}  // namespace weft::calibration::device
