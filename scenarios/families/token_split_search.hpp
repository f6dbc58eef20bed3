// Where to split the tokens: the candidates that a wave-aware split proposes. Which of them is the fastest is for a
// simulation to say.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// CTAs of the first of two parts of a kernel, near the middle, so that both parts together take as many waves as the
/// whole: a whole number of waves (TokenWeave, arXiv 2505.11329, section 3.1.1: 300 CTAs on 132 SMs are 3 waves as 132
/// + 168 and 4 as 150 + 150). Half of the CTAs where there is no whole wave for each part.
std::int64_t wave_aware_first(std::int64_t ctas, std::int64_t ctas_of_wave);

/// Splits of the case's tokens: the middle, then those that cost the layer's GEMMs the least time. Proposed are two
/// 128-row tiles to either side of it, the offsets of TokenWeave's tuned tables (0, 128 and 256 rows beyond half of the
/// tokens, rounded up to 256: microsoft/tokenweave, vllm/model_executor/models/llama.py), and for each GEMM the rows of
/// wave_aware_first(). Fused, a split has rows for each GPU: multiples of `gpus`; of several sequences, whole ones. At
/// most `count`, at least one; throws InputError where there are too few tokens for two splits.
std::vector<std::int64_t> first_candidates(const LayerWorkload& layer, int gpus, bool fused_norm,
                                           const Machine& machine, std::size_t count);

}  // namespace weft::scenarios::families
