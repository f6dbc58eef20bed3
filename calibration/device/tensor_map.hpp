// What the tensor memory accelerator must know of a matrix that it moves boxes of.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace weft::calibration::device {

inline constexpr int box_columns = 64;  ///< of bf16: 128 bytes, what the swizzle spans

/// How often a kernel reads a matrix. With what is read once the L2 fetches 128 bytes for a miss, not 256: a kernel
/// that does nothing but load 2 GB in boxes of 128 rows takes 4.67 TB/s from an H200 then, in place of 4.20
/// (2026-11-30). Layers whose GEMMs read so take up to 4 % longer.
enum class Read { again, once };

/// Boxes of `box_rows` x box_columns elements, swizzled by 128 bytes, of a row-major bf16 matrix whose address and
/// stride (in elements) are multiples of 16 bytes. What lies outside is read as 0 and not written. Throws
/// ExecutionError where the driver refuses.
CUtensorMap tensor_map(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride, int box_rows,
                       Read read = Read::again);

/// A matrix whose rows are those of sequences of `tokens`, one sequence after the other, and whose columns are heads.
struct RowsOfHeads {
  const void* data = nullptr;
  std::int64_t sequences = 1, tokens = 0, heads = 0, head_dim = 0, stride = 0;
};
/// Boxes of box_columns columns of `box_heads` heads of `box_tokens` tokens, in shared memory a row for each head of
/// each token. What lies behind a sequence's last token is outside.
CUtensorMap tensor_map(const RowsOfHeads& rows, int box_heads, int box_tokens);

}  // namespace weft::calibration::device
