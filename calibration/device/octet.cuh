// Eight bf16 in one 16-byte access, summed in fp32; eight e4m3 in one of 8 bytes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace weft::calibration::device {

struct alignas(16) Octet {
  __nv_bfloat162 pair[4];
};

struct alignas(8) ByteOctet {
  __nv_fp8x2_storage_t pair[4];
};

/// Past the L1, which does not see what peers store.
__device__ inline Octet load_past_l1(const Octet* from) {
  const uint4 bits = __ldcg(reinterpret_cast<const uint4*>(from));
  return reinterpret_cast<const Octet&>(bits);
}

struct OctetSum {
  float value[8] = {};

  __device__ void add(const Octet& octet) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __bfloat1622float2(octet.pair[i]);
      value[2 * i] += pair.x, value[2 * i + 1] += pair.y;
    }
  }
  __device__ void add_scaled(const Octet& octet, float factor) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __bfloat1622float2(octet.pair[i]);
      value[2 * i] += factor * pair.x, value[2 * i + 1] += factor * pair.y;
    }
  }
  __device__ float sum_of_squares() const {
    float sum = 0;
#pragma unroll
    for (const float one : value) sum += one * one;
    return sum;
  }
  __device__ Octet scaled(float factor) const {
    Octet octet;
#pragma unroll
    for (int i = 0; i < 4; ++i) octet.pair[i] = __floats2bfloat162_rn(value[2 * i] * factor, value[2 * i + 1] * factor);
    return octet;
  }
  /// What is too large becomes the largest.
  __device__ ByteOctet scaled_to_fp8(float factor) const {
    ByteOctet octet;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      octet.pair[i] = __nv_cvt_float2_to_fp8x2(make_float2(value[2 * i] * factor, value[2 * i + 1] * factor),
                                               __NV_SATFINITE, __NV_E4M3);
    return octet;
  }
};

}  // namespace weft::calibration::device
