// A hybrid whose sums one GEMM makes (`"sums": "in_gemm"` with `"trigger": "tile_group"`, between two barriers, or
// `"one_launch"`, which meets the peers itself): accumulators go round all
// ranks as in hybrid_rotation.hpp, but one launch computes the blocks of rows of all steps, so that blocks travel while
// the next ones are computed and the last wave of a step is filled by the next step.
//
// In step i a rank multiplies the rows of rank - 1 - i. What it computes in its first step goes to the next rank, which
// adds it to its own product of those rows in its next step, and so on; the owner comes last and keeps the sum. An
// all-reduce's owner sends it to all ranks. A tile looks for what it adds to only when its product is made.
//
//   store   the GEMM stores its tiles where the next sum is made, and says so by groups of tiles
//   push    copy engines bring each block there as soon as it is computed, and a flag behind it
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// Of a gemm+reduce_scatter or gemm+all_reduce of `rows` rows whose hybrid is sensible (why_not). Throws InputError
/// where no kernel of `machine` fits a block.
void add_fused_rotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                        const Machine& machine);

}  // namespace weft::scenarios::families
