// A hybrid that is one launch of a GEMM of our own (`"trigger": "one_launch"`): no other kernel, no copy, no barrier.
// The ranks meet in it, so that it is as long as its product or its bytes on the links, whatever is more, and little
// else.
//
//   gemm+all_to_all            tiles for peers come first, and are stored there (`"mover": "store"`)
//   X+gemm                     rows of the own shard come first; those of peers are fetched meanwhile (`"fetch"`)
//   gemm+all_reduce,
//   gemm+reduce_scatter        accumulators go round all ranks (`"store"`, fused_rotation.hpp)
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// Roughly, what is more of
///
///   time = product (+ what fetches hold it up)
///   time = bytes on the links / their rate + the tile stored first, or what is left of one when the last chunk of its
///          rows has come (fetch_order.hpp)
///   time = what the first chunk of fetched rows takes to come + a tile of those rows
double estimated_launch_us(const PairWorkload& pair, const Hybrid& hybrid, int gpus, std::int64_t rows,
                           const GemmKernel& kernel, const Machine& machine);

/// The kernel of a GEMM that stores or fetches in one launch, of blocks of `rows` / gpus / count rows.
GemmKernel tiles_of_launch(const PairWorkload& pair, const Hybrid& hybrid, int gpus, std::int64_t rows,
                           const Machine& machine);

/// Of a pair of `rows` rows whose hybrid is sensible (why_not). Throws InputError where no kernel of `machine` fits a
/// block.
void add_one_launch(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                    const Machine& machine);

}  // namespace weft::scenarios::families
