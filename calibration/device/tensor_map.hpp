// What the tensor memory accelerator must know of a matrix that it moves boxes of.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace weft::calibration::device {

inline constexpr int box_columns = 64;  ///< of bf16: 128 bytes, what the swizzle spans

/// Boxes of `box_rows` x box_columns elements, swizzled by 128 bytes, of a row-major bf16 matrix whose address and
/// stride (in elements) are multiples of 16 bytes. What lies outside is read as 0 and not written. Throws
/// ExecutionError where the driver refuses.
CUtensorMap tensor_map(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride, int box_rows);

}  // namespace weft::calibration::device
