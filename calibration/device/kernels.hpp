// The few kernels of our own: test data, the reference they are checked against, delays and memory-bound operations.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// A rectangle in memory: rows x columns elements, `stride` elements from row to row.
struct Matrix {
  void* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;
};

/// Names a stream of random numbers: element i of buffer `buffer` of rank `rank` depends on these and i alone, so that
/// every rank can make every rank's data again.
std::uint64_t data_key(std::uint64_t seed, int buffer, int rank);

/// What random numbers are made of those of N(0, 1): times `deviation`, rounded to whole ones or not.
struct Spread {
  float deviation = 1;
  bool whole = false;
};
/// data[i] = element `first` + i of the normal distribution N(0, 1) named by `key`, spread and rounded to `dtype`.
void fill_normal(void* data, DataType dtype, std::int64_t first, std::int64_t count, std::uint64_t key,
                 cudaStream_t stream, Spread spread = {});

/// Sums of the reference and what bounds the error of the result, in fp32: [slots x columns].
struct ReferenceSums {
  float* sum = nullptr;
  float* magnitude = nullptr;  ///< sum over the ranks of |their contribution|
};
/// For slot s of `slots`: row slot_of[s] of `sums` += row s of `rows` (bf16, [slots x inner]) times b^T (b: [columns x
/// inner]); without b, += the row itself. `slot_of` lies on the device.
void add_reference_rows(const ReferenceSums& sums, std::int64_t columns, const void* rows, const std::int32_t* slot_of,
                        std::int64_t slots, std::int64_t inner, const void* b, cudaStream_t stream);

/// |got - sum| <= relative x magnitude + absolute, element by element. *worst holds, after the call has run, the index
/// of the element with the largest error over bound in its low half and that ratio, as float bits, in its high half;
/// a ratio that is not a number counts as infinite. `got` (bf16 or fp8) has the elements of a slot in parts of
/// `columns` columns, part j of slot s from element starts[s * parts + j] on.
struct ErrorBound {
  float relative = 0, absolute = 0;
};
struct StoredParts {
  const void* got = nullptr;
  DataType dtype = DataType::bf16;
  const std::int64_t* starts = nullptr;  ///< on the device
  std::int64_t slots = 0, parts = 1, columns = 0;
};
void compare_parts(const StoredParts& stored, const ReferenceSums& sums, ErrorBound bound, unsigned long long* worst,
                   cudaStream_t stream);

/// One thread that shares its SM, or a CTA on each of `held_sms` SMs with all of its shared memory.
void spin(double time_us, int held_sms, cudaStream_t stream);

}  // namespace weft::calibration::device
