// Does a schedule compute what it says, whatever its operations' durations? See numerical_device.hpp for how it is run,
// models/schedule/row_order.hpp for the permutation that a meaning declares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "sim/meaning/integer_matrix.hpp"

namespace weft::sim::meaning {

/// An element of a result that is not what the meaning says; rows and columns are those of the logical matrix.
struct WrongElement {
  std::string op;
  std::string buffer;
  int iteration = 0;
  int rank = 0;
  std::int64_t row = 0, column = 0;
  std::int64_t expected = 0;
  std::int64_t got = 0;  ///< `undefined`: never written, or made from what was not ready
  bool operator==(const WrongElement&) const = default;
};
/// "gemm+all_reduce: iteration 0, rank 1, row 3, column 0 of "c": expected 12, got an undefined value".
std::string describe(const WrongElement& wrong);

/// The result on rank `rank` of what `meaning` says, in logical rows and columns; `a` and `b` are the operands of every
/// rank (b is not used by a collective alone). Shapes must fit.
IntegerMatrix expected_result(const Meaning& meaning, int gpus, int rank, const std::vector<IntegerMatrix>& a,
                              const std::vector<IntegerMatrix>& b);

/// Do the shapes that the meaning names fit the buffers, however large? Throws InputError for a schedule without a
/// meaning or with one that does not.
void require_meaning_fits(const Schedule& schedule);

/// Runs the schedule once, with all ranks apart, random durations and random operands, and returns the first element
/// that is wrong. A correct schedule passes with every seed; one that lacks an edge fails with some seeds. Runs two
/// iterations, with other operands in the second, where no operand is overwritten; a result is what the rank holds when
/// its iteration ends.
/// The schedule must have passed validation. Throws InputError for a schedule without a meaning, with one that does not
/// fit its buffers, or with operations that mean nothing in integers; ExecutionError when it gets stuck.
std::optional<WrongElement> check_meaning(const Schedule& schedule, std::uint64_t seed);

}  // namespace weft::sim::meaning
