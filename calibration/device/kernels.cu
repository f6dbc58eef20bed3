// See kernels.hpp for what each kernel promises. Indices are 64 bits wide: buffers pass 2^31 elements.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/global_timer.cuh"
#include "calibration/device/kernels.hpp"
#include "calibration/device/sms_of_gpu.hpp"
#include "models/base/division.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = 256;
using bf16 = __nv_bfloat16;

/// A grid that covers `items` with a stride loop: a few CTAs on every SM.
int grid_for(std::int64_t items) {
  return static_cast<int>(std::clamp<std::int64_t>(divided_up(items, std::int64_t{threads}), 1, 16 * sms_of_gpu()));
}

__device__ std::int64_t first_item() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t item_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// splitmix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
__host__ __device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Box-Muller: one normal number from the 64 bits of element `index`.
__device__ float normal_at(std::uint64_t key, std::int64_t index) {
  const std::uint64_t bits = mix(key ^ mix(static_cast<std::uint64_t>(index)));
  const float first = (static_cast<float>(static_cast<std::uint32_t>(bits >> 40)) + 1.0F) * 0x1p-24F;  // (0, 1]
  const float second = static_cast<float>(static_cast<std::uint32_t>(bits & 0xffffffU)) * 0x1p-24F;    // [0, 1)
  return sqrtf(-2.0F * __logf(first)) * __cosf(6.2831853F * second);
}

__device__ void store(bf16* to, float value) { *to = __float2bfloat16(value); }
__device__ void store(__half* to, float value) { *to = __float2half(value); }
__device__ void store(float* to, float value) { *to = value; }
__device__ void store(__nv_fp8_e4m3* to, float value) { *to = __nv_fp8_e4m3(value); }

__device__ float value_of(bf16 element) { return __bfloat162float(element); }
__device__ float value_of(__nv_fp8_e4m3 element) { return static_cast<float>(element); }

template <class Element>
__global__ void fill_normal_kernel(Element* data, std::int64_t first, std::int64_t count, std::uint64_t key,
                                   Spread spread) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const float value = normal_at(key, first + i) * spread.deviation;
    store(data + i, spread.whole ? rintf(value) : value);
  }
}

template <class Element>
void fill_with(void* data, std::int64_t first, std::int64_t count, std::uint64_t key, cudaStream_t stream,
               Spread spread) {
  fill_normal_kernel<<<grid_for(count), threads, 0, stream>>>(static_cast<Element*>(data), first, count, key, spread);
  WEFT_CHECK(cudaGetLastError());
}

__device__ float warp_sum(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffU, value, lanes);
  return value;
}

/// One CTA for each column: its warps share out the slots, the lanes of a warp walk along the inner dimension.
__global__ void add_reference_product(ReferenceSums sums, std::int64_t columns, const bf16* rows,
                                      const std::int32_t* slot_of, std::int64_t slots, std::int64_t inner,
                                      const bf16* b) {
  const std::int64_t column = blockIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (std::int64_t slot = warp; slot < slots; slot += threads / 32) {
    float sum = 0;
    for (std::int64_t i = lane; i < inner; i += 32)
      sum += __bfloat162float(rows[slot * inner + i]) * __bfloat162float(b[column * inner + i]);
    sum = warp_sum(sum);
    if (lane != 0) continue;
    const std::int64_t element = slot_of[slot] * columns + column;
    sums.sum[element] += sum;
    sums.magnitude[element] += fabsf(sum);
  }
}

__global__ void add_reference_values(ReferenceSums sums, std::int64_t columns, const bf16* rows,
                                     const std::int32_t* slot_of, std::int64_t slots) {
  for (std::int64_t i = first_item(); i < slots * columns; i += item_stride()) {
    const std::int64_t element = slot_of[i / columns] * columns + i % columns;
    const float value = __bfloat162float(rows[i]);
    sums.sum[element] += value;
    sums.magnitude[element] += fabsf(value);
  }
}

template <class Element>
__global__ void compare_kernel(StoredParts stored, ReferenceSums sums, ErrorBound bound, unsigned long long* worst) {
  unsigned long long own_worst = 0;
  for (std::int64_t i = first_item(); i < stored.slots * stored.parts * stored.columns; i += item_stride()) {
    const auto* part = static_cast<const Element*>(stored.got) + stored.starts[i / stored.columns];
    const float error = fabsf(value_of(part[i % stored.columns]) - sums.sum[i]);
    const float allowed = bound.relative * sums.magnitude[i] + bound.absolute;
    const float ratio = error == 0 ? 0.0F : isfinite(error) ? error / allowed : __int_as_float(0x7f800000);
    const auto packed = static_cast<unsigned long long>(__float_as_uint(ratio)) << 32 | static_cast<std::uint32_t>(i);
    if (packed > own_worst) own_worst = packed;
  }
  atomicMax(worst, own_worst);
}

__global__ void spin_kernel(std::uint64_t time_ns) {
  const std::uint64_t start_ns = now_ns();
  while (now_ns() - start_ns < time_ns) continue;
}

}  // namespace

std::uint64_t data_key(std::uint64_t seed, int buffer, int rank) {
  return mix(mix(mix(seed) + static_cast<std::uint64_t>(buffer)) + static_cast<std::uint64_t>(rank));
}

void fill_normal(void* data, DataType dtype, std::int64_t first, std::int64_t count, std::uint64_t key,
                 cudaStream_t stream, Spread spread) {
  switch (dtype) {
    case DataType::bf16:
      return fill_with<bf16>(data, first, count, key, stream, spread);
    case DataType::fp16:
      return fill_with<__half>(data, first, count, key, stream, spread);
    case DataType::fp32:
      return fill_with<float>(data, first, count, key, stream, spread);
    case DataType::fp8:
      return fill_with<__nv_fp8_e4m3>(data, first, count, key, stream, spread);
  }
}

void add_reference_rows(const ReferenceSums& sums, std::int64_t columns, const void* rows, const std::int32_t* slot_of,
                        std::int64_t slots, std::int64_t inner, const void* b, cudaStream_t stream) {
  const auto* values = static_cast<const bf16*>(rows);
  if (b != nullptr)
    add_reference_product<<<static_cast<unsigned>(columns), threads, 0, stream>>>(sums, columns, values, slot_of, slots,
                                                                                  inner, static_cast<const bf16*>(b));
  else
    add_reference_values<<<grid_for(slots * columns), threads, 0, stream>>>(sums, columns, values, slot_of, slots);
  WEFT_CHECK(cudaGetLastError());
}

void compare_parts(const StoredParts& stored, const ReferenceSums& sums, ErrorBound bound, unsigned long long* worst,
                   cudaStream_t stream) {
  const std::int64_t elements = stored.slots * stored.parts * stored.columns;
  const auto kernel = stored.dtype == DataType::fp8 ? compare_kernel<__nv_fp8_e4m3> : compare_kernel<bf16>;
  kernel<<<grid_for(elements), threads, 0, stream>>>(stored, sums, bound, worst);
  WEFT_CHECK(cudaGetLastError());
}

void spin(double time_us, int held_sms, cudaStream_t stream) {
  int device = 0, shared_memory_bytes = 0;
  if (held_sms > 0) {
    WEFT_CHECK(cudaGetDevice(&device));
    WEFT_CHECK(cudaDeviceGetAttribute(&shared_memory_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    WEFT_CHECK(cudaFuncSetAttribute(spin_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_memory_bytes));
  }
  spin_kernel<<<std::max(held_sms, 1), 1, static_cast<std::size_t>(shared_memory_bytes), stream>>>(
      static_cast<std::uint64_t>(time_us * 1e3));
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
