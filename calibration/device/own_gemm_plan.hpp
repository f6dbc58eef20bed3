// From a GEMM of the schedule to a launch of our own kernel: where its tiles go, whom they signal, what they wait for.
#pragma once

#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/rank_signals.hpp"

namespace weft::calibration::device {

/// The matrices as this rank addresses them.
struct GemmMatrices {
  Matrix b;
  std::vector<RowBlockMatrices> blocks;
};

/// Another operation follows a group of tiles: its last tile adds 1 to this counter too.
struct TileEdge {
  int tile_group = 0;
  std::uint64_t* counter = nullptr;
};

/// On rank `rank`, which has rows. Arrays that the kernel reads are put into `arena`. Throws ExecutionError on a GPU
/// that is no Hopper.
OwnGemm plan_own_gemm(const Schedule& schedule, OperationId id, int rank, const Gemm& gemm,
                      const GemmMatrices& matrices, const std::vector<TileEdge>& edges, const RankSignals& signals,
                      Arena& arena);

}  // namespace weft::calibration::device
