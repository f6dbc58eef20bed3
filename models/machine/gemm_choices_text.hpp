// The GEMM library's answers as text: each kernel once, and below it the shapes for which the library takes it.
//
//   weft.gemm_kernels/2
//   kernel 128x256x64 2x1 4 1       tile m x n x k, cluster m x n, stages, split_k
//   320 64:128,64 64:64             n m:k,k m:k: the shapes (64, 320, 128), (64, 320, 192) and (128, 320, 64)
//   64 128:64                       and (128, 384, 64)
//
// Each n, m and k is by so much larger than the one before it: n than that of the line above, m and k than those to the
// left. So a table of a million shapes is a fifth smaller, compressed, than with the numbers themselves, as
// weft.gemm_kernels/1 has them.
#pragma once

#include <string>
#include <string_view>

#include "models/machine/gemm_choices.hpp"

namespace weft {

/// Also reads weft.gemm_kernels/1, and a CSV table with the columns
/// m,n,k,tile_m,tile_n,tile_k,cluster_m,cluster_n,stages,split_k, which a script that asks the library itself writes
/// easily. Lines that begin with # say nothing. Throws InputError "line N: expected …", and for a shape with two
/// answers.
GemmChoices gemm_choices_from_text(std::string_view text);

/// Kernels and shapes in ascending order, so that equal answers are equal texts.
std::string to_text(const GemmChoices& choices);

}  // namespace weft
