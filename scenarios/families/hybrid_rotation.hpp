// A hybrid whose sums the GEMMs make (`"sums": "in_gemm"`): the accumulator of each rank's rows goes round all ranks.
//
// It begins on the rank behind its owner, which multiplies; each of the next ranks adds its product to what came from
// the rank before, in the epilogue of its GEMM, and sends it on; the owner comes last. An all-reduce's owner then sends
// the sum to all ranks. In step i a rank has the rows of rank - 1 - i, in `count` pieces, so that a piece travels while
// the next ones are computed. No kernel adds anything up, and nothing is left to do after the last GEMM or, in an
// all-reduce, after its piece has been sent.
//
//   s0     enter | gemm 0 0 | gemm 0 1 | arrived 0 0 | gemm 1 0 | arrived 0 1 | gemm 1 1 | …
//   s1                       push 0 0 | push 0 1 |             push 1 0 | …
//   flags                               flag 0 0 | flag 0 1 | …
//
// Flags have a stream of their own: between two copies a kernel would let the copy engine stand for several
// microseconds. What is pulled needs no flag, but a barrier before the pull.
#pragma once

#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// Of a gemm+reduce_scatter or gemm+all_reduce of `rows` rows whose hybrid is sensible (why_not).
void add_rotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows);

}  // namespace weft::scenarios::families
