#include "calibration/device/gemm_questions.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "calibration/device/matmul.hpp"
#include "calibration/device/require_hopper.hpp"
#include "calibration/rank_message.hpp"

namespace weft::calibration::device {
namespace {

struct Pair {
  int first = 0, second = 0;
};

// Made from the names in cublasLt.h when the project is configured: {id, {first, second}}, …
const std::map<int, Pair> tile_sizes{
#include "calibration/device/cublaslt_tiles.inc"
};
const std::map<int, Pair> stage_sizes{
#include "calibration/device/cublaslt_stages.inc"
};
const std::map<int, Pair> cluster_sizes{
#include "calibration/device/cublaslt_clusters.inc"
};

Pair look_up(const std::map<int, Pair>& table, int id) {
  const auto found = table.find(id);
  return found == table.end() ? Pair{} : found->second;
}

template <class Value>
int attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  Value value{};
  std::size_t written = 0;
  WEFT_CHECK(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof value, &written));
  return static_cast<int>(value);
}

/// The library sees the transposed problem: its tile's first side lies along our n.
nlohmann::json describe(const MatrixSize& size, const cublasLtMatmulHeuristicResult_t& choice) {
  const auto& algorithm = choice.algo;
  const int tile_id = attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
  const int stages_id = attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  const int cluster_id = attribute<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  const Pair tile = look_up(tile_sizes, tile_id);
  const Pair stages = look_up(stage_sizes, stages_id);
  const Pair cluster = look_up(cluster_sizes, cluster_id);
  return {{"m", size.m},
          {"n", size.n},
          {"k", size.k},
          {"tile_m", tile.second},
          {"tile_n", tile.first},
          {"tile_k", stages.first},
          {"stages", stages.second},
          {"cluster_m", cluster.second},
          {"cluster_n", cluster.first},
          {"split_k", attribute<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)},
          {"tile_id", tile_id},
          {"stages_id", stages_id},
          {"cluster_id", cluster_id},
          {"algorithm", attribute<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID)},
          {"swizzling", attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING)},
          {"custom_option", attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION)},
          {"inner_shape", attribute<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID)},
          {"reduction_scheme", attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)},
          {"workspace_bytes", choice.workspaceSize},
          {"waves", choice.wavesCount}};
}

nlohmann::json answer(cublasLtHandle_t library, const MatrixSize& size, DataType factors) {
  try {
    // Whole row-major buffers, aligned as allocations are: addresses are only looked at for their alignment.
    const Matmul matmul(library, size, {nullptr, size.k}, {nullptr, size.k}, {nullptr, size.n}, std::nullopt, 0,
                        factors);
    return describe(size, matmul.choice());
  } catch (const ExecutionError& error) {
    return {{"m", size.m}, {"n", size.n}, {"k", size.k}, {"error", error.what()}};
  }
}

}  // namespace

void answer_questions(const std::vector<MatrixSize>& sizes, DataType factors, const Send& send) {
  WEFT_CHECK(cudaSetDevice(0));
  const LtHandle library = make_lt_handle();
  if (factors == DataType::fp8) require_fp8();
  for (const MatrixSize& size : sizes) {
    nlohmann::json line = answer(library.get(), size, factors);
    if (factors != DataType::bf16) line["dtype"] = name_of(factors);
    send(line_of(line));
  }
}

}  // namespace weft::calibration::device
