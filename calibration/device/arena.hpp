// Device memory for one schedule after another. Blocks are never given back while the process lives: NCCL remembers
// which addresses its peers have mapped, and the same address must not come back with other memory behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "calibration/device/handles.hpp"
#include "models/units.hpp"

namespace weft::calibration::device {

class Arena {
 public:
  /// Aligned as cudaMalloc aligns: large pieces to 2 MiB pages, small ones to 512 bytes. Lives until `reset`.
  void* allocate(Bytes bytes) {
    const Bytes alignment = bytes >= page ? page : small_alignment;
    for (; block_ < blocks_.size(); ++block_, used_ = 0) {
      const Bytes begin = round_up(used_, alignment);
      if (begin + bytes <= blocks_[block_].bytes) return take(begin, bytes);
    }
    Block block;
    block.bytes = std::max(round_up(bytes, page), smallest_block);
    void* memory = nullptr;
    const cudaError_t result = cudaMalloc(&memory, static_cast<std::size_t>(block.bytes));
    if (result != cudaSuccess) cudaGetLastError();  // out of memory is no lasting error
    WEFT_CHECK(result);
    block.memory = Memory(memory);
    blocks_.push_back(std::move(block));
    used_ = 0;
    return take(0, bytes);
  }
  void reset() { block_ = 0, used_ = 0; }

 private:
  static constexpr Bytes page = Bytes{2} << 20, small_alignment = 512, smallest_block = Bytes{1} << 30;
  static Bytes round_up(Bytes bytes, Bytes to) { return (bytes + to - 1) / to * to; }

  using Memory = Owned<void*, cudaFree>;
  struct Block {
    Memory memory;
    Bytes bytes = 0;
  };
  void* take(Bytes begin, Bytes bytes) {
    used_ = begin + bytes;
    return static_cast<std::byte*>(blocks_[block_].memory.get()) + begin;
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  Bytes used_ = 0;
};

}  // namespace weft::calibration::device
