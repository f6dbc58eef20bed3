// A GEMM kernel of our own for Hopper: c = a x b^T of bf16, accumulated in fp32, whose tiles run in a chosen order, are
// stored in a chosen layout, are counted by groups, and may wait for counters before they read.
//
// One CTA of three warpgroups computes a tile at a time. The first warpgroup moves data: one of its threads loads
// operands by TMA into a ring of stages, another stores finished tiles and signals; the other two multiply, each the
// half of the tile's rows. CTAs of a cluster compute tiles one below the other and share the loads of b.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "calibration/device/waiting_kernels.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/schedule.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft::calibration::device {

/// Consecutive tiles in execution order.
struct OwnGemmGroup {
  std::int64_t first_tile = 0, tiles = 0;
  std::uint32_t* stored = nullptr;  ///< device memory, 0 at first: counts the group's tiles, and ends at 0
  int first_signal = 0, signals = 0, first_wait = 0, waits = 0;  ///< in the arrays of OwnGemmWork
  bool signals_peers = false;  ///< some of the signals, or what they tell of, go to other GPUs
};

/// What one launch reads besides the matrices; arrays lie in device memory.
struct OwnGemmWork {
  TileGrid grid;
  TileOrder order;
  int k_steps = 0;
  bool by_tile = false;          ///< tiles are stored one below the other; false: row-major
  bool rows_in_turn = false;     ///< of a tile go to the blocks in turn; false: block after block
  int blocks = 1;                ///< of a tile's rows, by destination; a group holds first all first blocks, and so on
  const void* addend = nullptr;  ///< row-major c to add to, or null
  std::int64_t m = 0, n = 0, addend_stride = 0;
  const OwnGemmGroup* groups = nullptr;
  std::uint64_t* const* signals = nullptr;
  const CounterTarget* waits = nullptr;  ///< `iterations` of none is used
  std::uint64_t* iterations = nullptr;   ///< of this GEMM so far, where it waits; two words, the other one is scratch
  WaitLimit limit;
};

/// Row-major matrices of c's size in which its tiles are stored too, such as on peers.
struct OwnGemmReplicas {
  int count = 0;
  CUtensorMap maps[max_own_replicas];
};

/// Ready to be enqueued. What its matrices and arrays point at must outlive it.
class OwnGemm {
 public:
  /// Row-major operands; of `c` where it is not by tile. Their addresses and strides are multiples of 16 bytes.
  struct Operands {
    MatrixSize size;
    const void *a = nullptr, *b = nullptr;
    std::int64_t a_stride = 0, b_stride = 0;
    void* c = nullptr;
    std::int64_t c_stride = 0;
    /// Of c's size; none where c is by tile.
    struct Replica {
      void* data = nullptr;
      std::int64_t stride = 0;
    };
    std::vector<Replica> replicas = {};
  };
  /// `kernel` is one of own_kernels; with clusters of two the order's swizzle and the rows of tiles are even.
  /// `max_sms`: CTAs of a persistent kernel; 0: one for each SM. Throws ExecutionError where the driver refuses.
  OwnGemm(const Operands& operands, const GemmKernel& kernel, int max_sms, const OwnGemmWork& work);
  void enqueue(cudaStream_t stream) const;

 private:
  GemmKernel kernel_;
  CUtensorMap a_, b_, c_;
  OwnGemmReplicas replicas_;
  OwnGemmWork work_;
  int ctas_ = 0;
};

}  // namespace weft::calibration::device
