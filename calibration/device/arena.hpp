// Device memory for one schedule after another. Blocks are never given back while the process lives: NCCL remembers
// which addresses its peers have mapped, and the same address must not come back with other memory behind it.
#pragma once

#include "calibration/device/blocks.hpp"
#include "calibration/device/handles.hpp"

namespace weft::calibration::device {

class Arena {
 public:
  /// Lives until `reset`.
  void* allocate(Bytes bytes) {
    const auto place = blocks_.place(bytes, [](Bytes least) { return Block{make_device_memory(least), least}; });
    return static_cast<std::byte*>(place.block.memory.get()) + place.offset;
  }
  void reset() { blocks_.reset(); }

 private:
  struct Block {
    DeviceMemory memory;
    Bytes bytes = 0;
  };
  Blocks<Block> blocks_;
};

}  // namespace weft::calibration::device
