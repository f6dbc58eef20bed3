// Library GEMMs: cuBLASLt, asked the way PyTorch asks cuBLAS for a product of row-major matrices.
//
// C[m,n] = A[m,k] x B[n,k]^T in row-major storage is, read column by column, an n x m matrix whose first factor is B
// and whose second is A: transa = T, transb = N, and the library's M is our n, its N our m.
#pragma once

#include <cstdint>
#include <optional>

#include "calibration/device/handles.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

inline constexpr std::size_t matmul_workspace_bytes = std::size_t{32} << 20;  ///< PyTorch's on Hopper

/// One row-major bf16 operand: address and row stride in elements.
struct MatrixOperand {
  void* data = nullptr;
  std::int64_t stride = 0;
};

/// A GEMM with the library's choice made, ready to be enqueued.
class Matmul {
 public:
  /// c = a x b^T + addend. Asks the library's heuristic; throws ExecutionError when it knows no kernel. `max_sms` 0: no
  /// limit.
  Matmul(cublasLtHandle_t library, const MatrixSize& size, const MatrixOperand& a, const MatrixOperand& b,
         const MatrixOperand& c, const std::optional<MatrixOperand>& addend, int max_sms);
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
