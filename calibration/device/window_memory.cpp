#include "calibration/device/window_memory.hpp"

#include "calibration/device/nccl_windows.hpp"
#include "calibration/device/symmetric_memory.hpp"
#include "calibration/device/together.hpp"

namespace weft::calibration::device {

void* WindowMemory::allocate(Bytes bytes) {
  const auto place = blocks_.place(bytes, [this](Bytes least) { return make_block(least); });
  return static_cast<std::byte*>(place.block.memory.get()) + place.offset;
}

WindowMemory::Block WindowMemory::make_block(Bytes bytes) const {
  Block block;
  together(ranks_, [&] {
    require_windows();
    for (int peer = 0; peer < ranks_.ranks(); ++peer)
      if (peer != ranks_.rank()) require_peer_access(ranks_.rank(), peer, "windows of NCCL need");
    void* memory = nullptr;
    WEFT_CHECK(ncclMemAlloc(&memory, static_cast<std::size_t>(bytes)));
    block = {NcclMemory(memory), bytes};
  });
  return block;
}

void WindowMemory::register_with(ncclComm_t communicator) {
  for (const Block& block : blocks_.all()) {
    if (!registered_.emplace(communicator, block.memory.get()).second) continue;
    together(ranks_, [&] { register_window(communicator, block.memory.get(), block.bytes); });
  }
}

}  // namespace weft::calibration::device
