// Rows of each GPU before or after an all-to-all that is not balanced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Rank 0 is the busiest, with m x imbalance rows rounded up to a multiple of `unit`; the others share the rest of the
/// gpus x m rows evenly, in whole units. Throws InputError where `unit` does not divide m; `derivation` says what the
/// unit is ("gpus x chunks").
std::vector<std::int64_t> rows_of_ranks(const PairWorkload& pair, int gpus, std::int64_t unit,
                                        const std::string& derivation);

/// Not equally many on every rank.
bool is_uneven(const std::vector<std::int64_t>& rows_of_rank);

/// Rows, of the one rank's buffer that an all-to-all reads or writes, before those from or to rank `rank`, where each
/// other rank has a W-th of its own `rows_of_rank` there.
std::int64_t rows_before(const std::vector<std::int64_t>& rows_of_rank, int rank);

}  // namespace weft::scenarios
