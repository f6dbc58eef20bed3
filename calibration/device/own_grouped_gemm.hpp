// The GEMMs of several groups, such as the experts of a layer, in one launch of our own kernel for Hopper: bf16,
// accumulated in fp32. Groups may have any number of rows, also none.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/kernels.hpp"
#include "models/schedule/grouped_tiles.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {

/// Boxes of 128, 64, … and 1 rows: of a the smallest that has the rows of a tile's group, since rows outside of the
/// matrix take longer to load than those within, and others are of no use; of c those that add up to the rows, so that
/// nothing is written to the next group's.
struct RowBoxes {
  static constexpr int count = 8;
  static_assert(own_tile_m == 1 << (count - 1));
  CUtensorMap maps[count];
};

/// What one launch reads besides the matrices.
struct OwnGroupedGemmWork {
  const GroupedTile* tiles = nullptr;  ///< in device memory, in the order in which they run
  std::int64_t count = 0;
  int k_steps = 0;
};

/// Ready to be enqueued. Its matrices, and what it puts into the arena, must outlive it.
class OwnGroupedGemm {
 public:
  /// a and c: all groups' rows, one group after the other; b: their weights, size.n rows each. Addresses and strides
  /// are multiples of 16 bytes. `kernel` is one of own_kernels; empty: the persistent one that suits the groups. Throws
  /// ExecutionError where the driver refuses.
  OwnGroupedGemm(const Matrix& a, const Matrix& b, const Matrix& c, const GroupedSize& size,
                 const std::optional<GemmKernel>& kernel, Arena& arena);
  void enqueue(cudaStream_t stream) const;

 private:
  GemmKernel kernel_;
  CUtensorMap b_;
  RowBoxes a_, c_;
  OwnGroupedGemmWork work_;
  int ctas_ = 0;
};

}  // namespace weft::calibration::device
