#include "calibration/device/matmul.hpp"

#include <algorithm>
#include <bit>

namespace weft::calibration::device {
namespace {

/// Column-major view of a row-major matrix: its rows become columns.
MatrixLayout make_layout(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  const cudaDataType_t stored = type == DataType::fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
  WEFT_CHECK(cublasLtMatrixLayoutCreate(&layout, stored, static_cast<std::uint64_t>(columns),
                                        static_cast<std::uint64_t>(rows), stride));
  return MatrixLayout(layout);
}

MatmulDescriptor make_descriptor(int max_sms) {
  cublasLtMatmulDesc_t raw = nullptr;
  WEFT_CHECK(cublasLtMatmulDescCreate(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  MatmulDescriptor descriptor(raw);
  const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  WEFT_CHECK(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  WEFT_CHECK(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
  if (max_sms > 0) {
    const std::int32_t sms = max_sms;
    WEFT_CHECK(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &sms, sizeof sms));
  }
  return descriptor;
}

/// Largest power of two up to 256 that divides the address, as cuBLAS finds it.
std::uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address == 0 ? 256 : std::uint32_t{1} << std::min(8, std::countr_zero(address));
}

MatmulPreference make_preference(const void* first, const void* second, const void* result) {
  cublasLtMatmulPreference_t raw = nullptr;
  WEFT_CHECK(cublasLtMatmulPreferenceCreate(&raw));
  MatmulPreference preference(raw);
  const auto set = [raw](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    WEFT_CHECK(cublasLtMatmulPreferenceSetAttribute(raw, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, matmul_workspace_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(first));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(second));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(result));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(result));
  return preference;
}

}  // namespace

Matmul::Matmul(cublasLtHandle_t library, const MatrixSize& size, const MatrixOperand& a, const MatrixOperand& b,
               const MatrixOperand& c, const std::optional<MatrixOperand>& addend, int max_sms, DataType factors)
    : library_(library),
      a_(a),
      b_(b),
      c_(c),
      addend_(addend.value_or(c)),
      beta_(addend ? 1.0F : 0.0F),
      descriptor_(make_descriptor(max_sms)),
      layout_a_(make_layout(factors, size.m, size.k, a.stride)),
      layout_b_(make_layout(factors, size.n, size.k, b.stride)),
      layout_c_(make_layout(DataType::bf16, size.m, size.n, c.stride)),
      layout_addend_(make_layout(DataType::bf16, size.m, size.n, addend_.stride)) {
  const MatmulPreference preference = make_preference(b.data, a.data, c.data);
  int found = 0;
  WEFT_CHECK(cublasLtMatmulAlgoGetHeuristic(library_, descriptor_.get(), layout_b_.get(), layout_a_.get(),
                                            layout_addend_.get(), layout_c_.get(), preference.get(), 1, &choice_,
                                            &found));
  if (found == 0) throw ExecutionError("cuBLASLt knows no kernel for this GEMM");
  WEFT_CHECK(choice_.state);
}

void Matmul::enqueue(void* workspace, cudaStream_t stream) const {
  const float alpha = 1.0F;
  WEFT_CHECK(cublasLtMatmul(library_, descriptor_.get(), &alpha, b_.data, layout_b_.get(), a_.data, layout_a_.get(),
                            &beta_, addend_.data, layout_addend_.get(), c_.data, layout_c_.get(), &choice_.algo,
                            workspace, matmul_workspace_bytes, stream));
}

}  // namespace weft::calibration::device
