// What memory-bound kernels and attention do to integers. Sums are exact; what needs fractions has a stand-in that
// depends on the same elements as the real kernel, so that a schedule which lets it read too early, too late or the
// wrong rows shows.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"
#include "sim/meaning/integer_matrix.hpp"

namespace weft::sim::meaning {

/// Row blocks of `input`, as many as `rows` go into it, added up; with `weights` [rows, blocks] each times its own.
IntegerMatrix sum_of_blocks(const IntegerMatrix& input, std::int64_t rows, const IntegerMatrix* weights = nullptr);

/// Every row over its root mean square, times 16, rounded to the nearest integer; 0 for a row of zeros.
IntegerMatrix rms_norm(const IntegerMatrix& input);

/// The left half of every row times the right half: SwiGLU without the sigmoid.
IntegerMatrix gated(const IntegerMatrix& input);

/// Every pair of columns turned by as many quarter turns as the row's position, counted from `first_row`.
IntegerMatrix rotated(const IntegerMatrix& input, std::int64_t first_row);

/// The `columns` largest elements of each row, the largest first.
IntegerMatrix largest_of_rows(const IntegerMatrix& input, std::int64_t columns);

/// What stands for a weight of attention: of query x key the remainder by 7, since layers follow one another and their
/// results must not outgrow the integers. Both of `columns` elements.
std::int64_t attention_weight(const std::int64_t* query, const std::int64_t* key, std::int64_t columns);

/// Causal attention of the last `attention.qkv` rows of `qkv` to all rows before and their own, by attention_weight()
/// in place of the softmax. `qkv` holds attention.prefix earlier rows first.
IntegerMatrix attended(const IntegerMatrix& qkv, const Attention& attention);

}  // namespace weft::sim::meaning
