// What an RMSNorm of ours makes of a row's squares.
#pragma once

namespace weft::calibration::device {

inline constexpr float norm_epsilon = 1e-6F;

/// The threads of a CTA in teams, each of which shares a row: the sum over the calling thread's team, for all of it. No
/// thread returns before every thread of its team has called.
template <int threads_of_cta, int team>
__device__ float sum_of_team(float value) {
  __shared__ float of_warp[threads_of_cta / 32];
  const int warp = static_cast<int>(threadIdx.x) / 32, first_warp = warp / (team / 32) * (team / 32);
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffU, value, lanes);
  const auto meet = [&] { asm volatile("bar.sync %0, %1;" ::"r"(1 + warp / (team / 32)), "n"(team) : "memory"); };
  meet();  // the sums of the row before have been read
  if (threadIdx.x % 32 == 0) of_warp[warp] = value;
  meet();
  float sum = 0;
  for (int i = 0; i < team / 32; ++i) sum += of_warp[first_warp + i];
  return sum;
}

/// What a row is multiplied by, of whose squares each thread of the team has added up some.
template <int threads_of_cta, int team>
__device__ float factor_of_norm(float squares, std::int64_t columns) {
  return rsqrtf(sum_of_team<threads_of_cta, team>(squares) / static_cast<float>(columns) + norm_epsilon);
}

}  // namespace weft::calibration::device
