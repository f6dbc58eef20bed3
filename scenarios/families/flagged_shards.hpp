// X+gemm by one GEMM that waits for the flags of its rows: signaling of all_gather+gemm, and a hybrid (`"trigger":
// "tile_group"`, `"pieces": "shards"`, `"mover": "pull"`). The own rows come first, and are read where they are; copy
// engines pull those of peers meanwhile, so that no SM moves a byte.
//
//   s0: gemm
//   s1: enter | pull 1 | pull 2 | … | leave
//   s2: flag 1 | flag 2 | …                    flag i follows pull i
//
// Nothing stands before the GEMM: the barriers, which say that the peers' inputs are there and have been read, lie
// beside it, and so do the flags, so that one pull follows the other.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/families/exchange_in_gemm.hpp"
#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// Roughly, what is more of
///
///   time = product
///   time = barrier + copies one after the other + flag + product of the rows that come last
double estimated_flagged_us(const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows, const GemmKernel& kernel,
                            const Machine& machine);

/// The kernel of the GEMM over `rows` rows. Throws InputError where none of `machine` fits a block.
GemmKernel tiles_of_flagged(const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows, SignalingTiles scheduler,
                            const Machine& machine);

/// A pair of `rows` rows; on `max_sms` SMs, 0: no limit. Whole tiles of the kernel divide the rows of a block.
void add_flagged_gemm(Program& program, const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows,
                      const GemmKernel& kernel, int max_sms);

}  // namespace weft::scenarios::families
