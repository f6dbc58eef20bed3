// The GEMM library's answers as text: each kernel once, and below it the shapes for which the library takes it.
//
//   weft.gemm_kernels/1
//   kernel 128x256x64 2x1 4 1       tile m x n x k, cluster m x n, stages, split_k
//   320 64:128,192 128:64           n m:k,k m:k: the shapes (64, 320, 128), (64, 320, 192) and (128, 320, 64)
#pragma once

#include <string>
#include <string_view>

#include "models/machine/gemm_choices.hpp"

namespace weft {

/// Also reads a CSV table with the columns m,n,k,tile_m,tile_n,tile_k,cluster_m,cluster_n,stages,split_k, which a
/// script that asks the library itself writes easily. Lines that begin with # say nothing. Throws InputError "line N:
/// expected …", and for a shape with two answers.
GemmChoices gemm_choices_from_text(std::string_view text);

/// Kernels and shapes in ascending order, so that equal answers are equal texts.
std::string to_text(const GemmChoices& choices);

}  // namespace weft
