#include "calibration/device/tensor_map.hpp"

#include <string>

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

CUtensorMap tensor_map(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride, int box_rows) {
  constexpr std::int64_t bytes_of_element = 2;
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    WEFT_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) throw ExecutionError("the driver has no tensor maps: it is too old");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  CUtensorMap map;
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride * bytes_of_element)};
  const cuuint32_t box[] = {box_columns, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), extents, strides,
                                 box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw ExecutionError("no tensor map of " + std::to_string(rows) + " x " + std::to_string(columns) + ": error " +
                         std::to_string(result));
  return map;
}

}  // namespace weft::calibration::device
