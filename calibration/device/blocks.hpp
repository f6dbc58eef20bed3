// Pieces of memory one after the other in a few large blocks, which are kept for the next round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/base/units.hpp"

namespace weft::calibration::device {

/// `Block` has a member `bytes`.
template <class Block>
class Blocks {
 public:
  struct Place {
    const Block& block;
    Bytes offset = 0;
  };

  /// Aligned as cudaMalloc aligns: large pieces to 2 MiB pages, small ones to 512 bytes. Where no block has room,
  /// `make_block` is asked for one of at least the bytes that it is given.
  template <class MakeBlock>
  Place place(Bytes bytes, const MakeBlock& make_block) {
    const Bytes alignment = bytes >= page ? page : small_alignment;
    for (; block_ < blocks_.size(); ++block_, used_ = 0) {
      const Bytes begin = round_up(used_, alignment);
      if (begin + bytes <= blocks_[block_].bytes) return take(begin, bytes);
    }
    blocks_.push_back(make_block(std::max(round_up(bytes, page), smallest_block)));
    used_ = 0;
    return take(0, bytes);
  }
  /// All places are free again.
  void reset() { block_ = 0, used_ = 0; }
  std::vector<Block>& all() { return blocks_; }

 private:
  static constexpr Bytes page = Bytes{2} << 20, small_alignment = 512, smallest_block = Bytes{1} << 30;
  static Bytes round_up(Bytes bytes, Bytes to) { return (bytes + to - 1) / to * to; }
  Place take(Bytes begin, Bytes bytes) {
    used_ = begin + bytes;
    return {blocks_[block_], begin};
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  Bytes used_ = 0;
};

}  // namespace weft::calibration::device
