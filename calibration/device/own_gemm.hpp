// A GEMM kernel of our own for Hopper: c = a x b^T (+ addend) of bf16, accumulated in fp32, whose tiles run in a chosen
// order, are stored in a chosen layout, are counted by groups, and may wait for counters before they read. Ranks can
// meet in it (own_gemm_peers.cuh), and rows of a can come from peers meanwhile (own_gemm_fetch.cuh).
//
// One CTA of three warpgroups computes a tile at a time. The first warpgroup moves data: one of its threads loads
// operands by TMA into a ring of stages, another stores finished tiles and signals, and two fetch rows of peers; the
// other two warpgroups multiply, each the half of the tile's rows. CTAs of a cluster compute tiles one below the other
// and share the loads of b. CTAs that a last wave leaves without a tile may compute slices of others'
// (own_gemm_slices.cuh).
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/device/waiting_kernels.hpp"
#include "models/schedule/fetch_order.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/schedule.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft::calibration::device {

/// Consecutive tiles in execution order.
struct OwnGemmGroup {
  std::int64_t first_tile = 0, tiles = 0;
  std::uint32_t* stored = nullptr;    ///< device memory, 0 at first: counts the group's tiles, and ends at 0
  int first_signal = 0, signals = 0;  ///< in the arrays of OwnGemmWork
  /// First those that the tiles wait for before they start, then those before they read what they add to.
  int first_wait = 0, waits_to_start = 0, waits = 0;
  bool signals_peers = false;  ///< some of the signals, or what they tell of, go to other GPUs
  bool counts_tiles = false;   ///< each tile raises the counters (group_counts.hpp), and `stored` is not used
};

/// Rows of a that a GEMM copies from a peer while it computes others; addresses and strides are multiples of 16 bytes.
struct FetchedRows {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t from_stride = 0, to_stride = 0;  ///< bytes
  std::uint64_t* come = nullptr;                ///< device memory, 0 at first: a word for each chunk of each band
};

/// The matrices of a block of rows, in device memory. Replicas are matrices of c's size in which its tiles are stored
/// too. Those on peers, c among them where it lies there, are stored in small boxes.
struct OwnGemmBlock {
  CUtensorMap a, c, addend;
  CUtensorMap replicas[max_own_replicas], on_peers[max_own_replicas + 1];
  int replica_count = 0, peer_count = 0;
  bool adds = false, keeps_c = true;
  FetchedRows fetched;  ///< from nowhere where the rows are there
};

/// How the ranks meet in a GEMM.
struct OwnGemmMeeting {
  BarrierFlags flags;  ///< a word of each rank for its begin, and behind those one for its end; 1 rank: no meeting
  std::uint32_t* left = nullptr;  ///< device memory, 0 at first: counts those that need no peer any more, and ends at 0
  bool at_end = false;            ///< too, and not only when they begin
  bool fetches = false;
  bool ends_with_stores = false;  ///< peers may wait for what it stores, and not only for what it fetches
};

/// The tiles of the last wave, where they are cut along k; memory of the device.
struct CutTiles {
  std::int64_t first_tile = 0;  ///< those before are whole
  int slices = 1;               ///< of each
  float* sums = nullptr;        ///< of all slices but the last ones
  std::uint32_t* come =
      nullptr;  ///< how many have, for each tile and warpgroup that multiplies; 0 at first and at last
};

/// What one launch reads besides the matrices; arrays lie in device memory.
struct OwnGemmWork {
  TileGrid grid;           ///< of one block of rows
  std::int64_t tiles = 0;  ///< of all blocks
  TileOrder order;
  int k_steps = 0;
  bool by_tile = false;       ///< tiles are stored one below the other; false: row-major
  bool rows_in_turn = false;  ///< of a tile go to the blocks in turn; false: block after block
  int blocks = 1;             ///< of a tile's rows, by destination; a group holds first all first blocks, and so on
  // What is said here needs not be read from memory: that takes a microsecond, and until then nothing is loaded.
  bool waits_to_start = false, adds = false;  ///< some tile, whose group or block says more
  bool stores_give_way = false;               ///< those on peers, to the loads of the next tile
  const OwnGemmGroup* groups = nullptr;
  std::uint64_t* const* signals = nullptr;
  const CounterTarget* waits = nullptr;  ///< `iterations` of none is used
  /// Of this GEMM so far, where it waits or meets the peers; two words, the other one is scratch.
  std::uint64_t* iterations = nullptr;
  WaitLimit limit;
  OwnGemmMeeting meeting;
  const OwnGemmBlock* block_of_rows = nullptr;
  int blocks_of_rows = 1;
  CutTiles cut = {};
  FetchOrder fetch = {};
};

/// Row-major matrices whose addresses and strides are multiples of 16 bytes; c of a block that is alone may be by tile.
struct RowBlockMatrices {
  Matrix a, c;
  bool c_is_on_peer = false;
  std::optional<Matrix> addend = {};
  std::vector<Matrix> replicas = {}, replicas_on_peers = {};
  std::optional<Matrix> a_from = {};
};

/// Ready to be enqueued. What its matrices and arrays point at must outlive it.
class OwnGemm {
 public:
  /// `size` is that of one block. `kernel` is one of own_kernels; with clusters of two the order's swizzle and the rows
  /// of tiles are even. `max_sms`: CTAs of a persistent kernel; 0: one for each SM. `work` lacks its blocks of rows
  /// and the cut of its tiles, which are put into `arena`. Throws ExecutionError where the driver refuses.
  OwnGemm(const MatrixSize& size, const std::vector<RowBlockMatrices>& blocks, const Matrix& b,
          const GemmKernel& kernel, int max_sms, const OwnGemmWork& work, Arena& arena);
  void enqueue(cudaStream_t stream) const;

 private:
  GemmKernel kernel_;
  CUtensorMap b_;
  OwnGemmWork work_;
  int ctas_ = 0;
};

}  // namespace weft::calibration::device
