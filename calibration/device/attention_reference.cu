#include <cuda_bf16.h>

#include "calibration/device/attention_reference.hpp"
#include "calibration/device/check.hpp"
#include "models/base/division.hpp"
#include "models/schedule/sequence_order.hpp"

namespace weft::calibration::device {
namespace {

constexpr int warp = 32, warps = 8, threads = warp * warps;
constexpr int most_head_dim = 256, most_of_lane = most_head_dim / warp;

__device__ float sum_of_warp(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffU, value, lanes);
  return value;
}

__device__ std::int64_t token_of(const ReferenceShard& shard, std::int64_t row) {
  return token_of_row(shard.shape.mask, shard.tokens, shard.gpus, shard.rank, row);
}

/// What one lane has added up of its columns lane, lane + 32, …
struct LaneSums {
  float values[most_of_lane] = {}, squares[most_of_lane] = {}, weight = 0;
};

/// Over every `warps`-th key that the query sees.
__device__ LaneSums sums_of_lane(const float* query, std::int64_t token, const ReferenceShard& source,
                                 const __nv_bfloat16* keys_values, int kv_head) {
  const AttentionShape& shape = source.shape;
  const int lane = threadIdx.x % warp, columns = shape.head_dim / warp;
  const std::int64_t row_columns = std::int64_t{2} * shape.kv_heads * shape.head_dim;
  const float scale = rsqrtf(static_cast<float>(shape.head_dim));
  LaneSums sums;
  for (std::int64_t row = threadIdx.x / warp; row < source.tokens / source.gpus; row += warps) {
    if (shape.mask == AttentionMask::causal && token_of(source, row) > token) continue;
    const __nv_bfloat16* key = keys_values + row * row_columns + kv_head * shape.head_dim;
    const __nv_bfloat16* value = key + shape.kv_heads * shape.head_dim;
    float product = 0;
    for (int i = 0; i < columns; ++i) product += query[lane + i * warp] * __bfloat162float(key[lane + i * warp]);
    const float weight = expf(sum_of_warp(product) * scale);
    sums.weight += weight;
#pragma unroll
    for (int i = 0; i < most_of_lane; ++i)
      if (i < columns) {
        const float weighed = weight * __bfloat162float(value[lane + i * warp]);
        sums.values[i] += weighed;
        sums.squares[i] += weighed * weighed;
      }
  }
  return sums;
}

/// A CTA for each sampled query and head.
__global__ void __launch_bounds__(threads)
    add_attended_kernel(AttentionSums sums, const __nv_bfloat16* queries, const std::int64_t* rows, ReferenceShard own,
                        const __nv_bfloat16* keys_values, ReferenceShard source) {
  const AttentionShape& shape = own.shape;
  const std::int64_t slot = blockIdx.x, head = blockIdx.y, item = slot * shape.heads + head;
  __shared__ float query[most_head_dim], values[most_head_dim], squares[most_head_dim], weight;
  for (int i = threadIdx.x; i < shape.head_dim; i += threads) {
    query[i] = __bfloat162float(queries[item * shape.head_dim + i]);
    values[i] = squares[i] = 0;
  }
  if (threadIdx.x == 0) weight = 0;
  __syncthreads();
  const int kv_head = static_cast<int>(head) / (shape.heads / shape.kv_heads), lane = threadIdx.x % warp;
  const LaneSums own_sums = sums_of_lane(query, token_of(own, rows[slot]), source, keys_values, kv_head);
#pragma unroll
  for (int i = 0; i < most_of_lane; ++i)
    if (lane + i * warp < shape.head_dim) {
      atomicAdd(&values[lane + i * warp], own_sums.values[i]);
      atomicAdd(&squares[lane + i * warp], own_sums.squares[i]);
    }
  if (lane == 0) atomicAdd(&weight, own_sums.weight);
  __syncthreads();
  for (int i = threadIdx.x; i < shape.head_dim; i += threads) {
    sums.values[item * shape.head_dim + i] += values[i];
    sums.squares[item * shape.head_dim + i] += squares[i];
  }
  if (threadIdx.x == 0) sums.weights[item] += weight;
}

__global__ void divide_kernel(AttentionSums sums, ReferenceSums results, std::int64_t count, int head_dim) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < count; i += stride) {
    const float weight = sums.weights[i / head_dim];
    results.sum[i] = sums.values[i] / weight;
    results.magnitude[i] = sqrtf(sums.squares[i]) / weight;
  }
}

}  // namespace

void add_attended(const AttentionSums& sums, const void* queries, const std::int64_t* rows, std::int64_t slots,
                  const ReferenceShard& own, const void* keys_values, const ReferenceShard& source,
                  cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(slots), static_cast<unsigned>(own.shape.heads));
  add_attended_kernel<<<grid, threads, 0, stream>>>(sums, static_cast<const __nv_bfloat16*>(queries), rows, own,
                                                    static_cast<const __nv_bfloat16*>(keys_values), source);
  WEFT_CHECK(cudaGetLastError());
}

void divide_by_weights(const AttentionSums& sums, const ReferenceSums& results, std::int64_t slots,
                       const AttentionShape& shape, cudaStream_t stream) {
  const std::int64_t count = slots * shape.heads * shape.head_dim;
  divide_kernel<<<static_cast<unsigned>(divided_up(count, threads)), threads, 0, stream>>>(sums, results, count,
                                                                                           shape.head_dim);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
