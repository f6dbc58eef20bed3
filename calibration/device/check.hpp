// Two ways to check a call of CUDA, NCCL, cuBLASLt or CUPTI: WEFT_CHECK throws ExecutionError with file, line and the
// decoded error; WEFT_REPORT, for destructors, prints the same and goes on.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <nccl.h>

#include <cstdio>
#include <string>

#include "models/execution/execution_error.hpp"

namespace weft::calibration::device {

/// Empty for success.
inline std::string decode(cudaError_t error) {
  return error == cudaSuccess ? "" : std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}
inline std::string decode(ncclResult_t error) {
  if (error == ncclSuccess) return "";
  return std::string("NCCL: ") + ncclGetErrorString(error) + ": " + ncclGetLastError(nullptr);
}
inline std::string decode(cublasStatus_t error) {
  return error == CUBLAS_STATUS_SUCCESS ? "" : std::string("cuBLASLt: ") + cublasLtGetStatusString(error);
}
inline std::string decode(CUptiResult error) {
  if (error == CUPTI_SUCCESS) return "";
  const char* text = nullptr;
  cuptiGetResultString(error, &text);
  return std::string("CUPTI: ") + (text != nullptr ? text : "unknown error " + std::to_string(error));
}

inline std::string describe_failure(const std::string& decoded, const char* call, const char* file, int line) {
  const std::string path = file;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line) + ": " + call + ": " + decoded;
}

template <class Result>
void check(Result result, const char* call, const char* file, int line) {
  if (const std::string decoded = decode(result); !decoded.empty())
    throw ExecutionError(describe_failure(decoded, call, file, line));
}
template <class Result>
void report(Result result, const char* call, const char* file, int line) noexcept {
  if (const std::string decoded = decode(result); !decoded.empty())
    std::fprintf(stderr, "weft: %s\n", describe_failure(decoded, call, file, line).c_str());
}

#define WEFT_CHECK(call) ::weft::calibration::device::check((call), #call, __FILE__, __LINE__)
#define WEFT_REPORT(call) ::weft::calibration::device::report((call), #call, __FILE__, __LINE__)

}  // namespace weft::calibration::device
