// The model whose layers are kept for validation: whatever calibrates a machine leaves its shapes out.
#pragma once

#include <cstdint>

#include "scenarios/model_config.hpp"

namespace weft::calibration::evidence {

/// Llama 3.3 70B: none of its layers was measured for calibration.
inline const scenarios::ModelConfig held_out_model{
    .hidden = 8192, .intermediate = 28672, .heads = 64, .kv_heads = 8, .head_dim = 128, .layers = 80};

/// n and k of a GEMM, as its kernel sees them.
struct MatrixWidths {
  std::int64_t n = 0, k = 0;
  bool operator==(const MatrixWidths&) const = default;
};

struct LayerGemms {
  MatrixWidths qkv, attention_out, gate_and_up, down;
};

/// The GEMMs of one of its layers, tensor-parallel over `gpus`.
LayerGemms held_out_gemms(int gpus);

/// Whether a GEMM is one of those on 1, 2, 4 or 8 GPUs, for any number of rows.
bool is_held_out(const MatrixWidths& widths);

}  // namespace weft::calibration::evidence
