// Library GEMMs: cuBLASLt, asked the way PyTorch asks cuBLAS for a product of row-major matrices.
//
// C[m,n] = A[m,k] x B[n,k]^T in row-major storage is, read column by column, an n x m matrix whose first factor is B
// and whose second is A: transa = T, transb = N, and the library's M is our n, its N our m.
//
// Factors in fp8 (e4m3) have unit scales, as schedules know no others, and a result in bf16. The library is not allowed
// to accumulate fast (CUBLASLT_MATMUL_DESC_FAST_ACCUM), as torch._scaled_mm does not unless it is asked to: sums of 128
// products go from the tensor cores' registers of about 14 bits to ones of fp32.
#pragma once

#include <cstdint>
#include <optional>

#include "calibration/device/handles.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

inline constexpr std::size_t matmul_workspace_bytes = std::size_t{32} << 20;  ///< PyTorch's on Hopper

/// One row-major operand: address and row stride in elements.
struct MatrixOperand {
  void* data = nullptr;
  std::int64_t stride = 0;
};

/// A GEMM with the library's choice made, ready to be enqueued.
class Matmul {
 public:
  /// c = a x b^T + addend, where a and b are of type `factors`, bf16 or fp8, and the others bf16. Asks the library's
  /// heuristic; throws ExecutionError when it knows no kernel. `max_sms` 0: no limit.
  Matmul(cublasLtHandle_t library, const MatrixSize& size, const MatrixOperand& a, const MatrixOperand& b,
         const MatrixOperand& c, const std::optional<MatrixOperand>& addend, int max_sms,
         DataType factors = DataType::bf16);
  /// `workspace`: matmul_workspace_bytes that no other stream uses.
  void enqueue(void* workspace, cudaStream_t stream) const;
  const cublasLtMatmulHeuristicResult_t& choice() const { return choice_; }

 private:
  cublasLtHandle_t library_;
  MatrixOperand a_, b_, c_, addend_;  ///< the last is c where nothing is added
  float beta_;
  MatmulDescriptor descriptor_;
  MatrixLayout layout_a_, layout_b_, layout_c_, layout_addend_;
  cublasLtMatmulHeuristicResult_t choice_{};
};

inline LtHandle make_lt_handle() {
  cublasLtHandle_t handle = nullptr;
  WEFT_CHECK(cublasLtCreate(&handle));
  return LtHandle(handle);
}

}  // namespace weft::calibration::device
