#include "calibration/device/tensor_map.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "calibration/device/driver_function.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::int64_t bytes_of_element = 2;

/// From the innermost dimension, whose elements lie side by side, to the outermost: elements of the matrix and of a
/// box, and how many elements lie between two of the next dimension.
template <std::size_t rank>
struct Boxes {
  std::array<std::int64_t, rank> extents, box;
  std::array<std::int64_t, rank - 1> strides;
};

template <std::size_t rank>
CUtensorMap encoded(const void* data, const Boxes<rank>& boxes, Read read = Read::again) {
  static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>(
      "cuTensorMapEncodeTiled", "the driver has no tensor maps: it is too old");
  cuuint64_t extents[rank], strides[rank];
  cuuint32_t box[rank], steps[rank];
  for (std::size_t i = 0; i < rank; ++i) {
    extents[i] = static_cast<cuuint64_t>(boxes.extents[i]), box[i] = static_cast<cuuint32_t>(boxes.box[i]);
    steps[i] = 1;
    if (i + 1 < rank) strides[i] = static_cast<cuuint64_t>(boxes.strides[i] * bytes_of_element);
  }
  CUtensorMap map;
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, const_cast<void*>(data), extents, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             read == Read::once ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  std::string shape;
  for (std::size_t i = rank; i-- > 0;) shape += std::to_string(extents[i]) + (i > 0 ? " x " : "");
  throw ExecutionError("no tensor map of " + shape + ": error " + std::to_string(result));
}

}  // namespace

CUtensorMap tensor_map(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride, int box_rows,
                       Read read) {
  return encoded<2>(data, {.extents = {columns, rows}, .box = {box_columns, box_rows}, .strides = {stride}}, read);
}

CUtensorMap tensor_map(const RowsOfHeads& rows, int box_heads, int box_tokens) {
  return encoded<4>(rows.data, {.extents = {rows.head_dim, rows.heads, rows.tokens, rows.sequences},
                                .box = {box_columns, box_heads, box_tokens, 1},
                                .strides = {rows.head_dim, rows.stride, rows.tokens * rows.stride}});
}

}  // namespace weft::calibration::device
