#include <algorithm>
#include <array>
#include <vector>

#include "calibration/device/global_timer.cuh"
#include "calibration/device/sm_clocks.hpp"
#include "calibration/device/sms_of_gpu.hpp"

namespace weft::calibration::device {
namespace {

constexpr int most_sms = 256;

struct Reading {
  std::uint64_t cycles = 0, time_ns = 0;
};
using ReadingOfEverySm = std::array<Reading, most_sms>;

/// A CTA of one warp for each SM: an empty GPU spreads them evenly. SMs that none comes to keep their zeros.
__global__ void read_clocks(Reading* of_sm) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0 && sm < most_sms) of_sm[sm] = {static_cast<std::uint64_t>(clock64()), now_ns()};
}

}  // namespace

SmClocks::SmClocks() : memory_(make_device_memory(most_readings * static_cast<Bytes>(sizeof(ReadingOfEverySm)))) {}

int SmClocks::read(cudaStream_t stream) {
  if (taken_ == most_readings) throw ExecutionError("too many readings of the clock");
  ReadingOfEverySm* reading = static_cast<ReadingOfEverySm*>(memory_.get()) + taken_;
  WEFT_CHECK(cudaMemsetAsync(reading, 0, sizeof *reading, stream));
  read_clocks<<<sms_of_gpu(), 32, 0, stream>>>(reinterpret_cast<Reading*>(reading));
  WEFT_CHECK(cudaGetLastError());
  return taken_++;
}

double SmClocks::mean_MHz(const std::vector<Stretch>& stretches) const {
  if (stretches.empty()) return 0;
  const int first = stretches.front().first;
  std::vector<ReadingOfEverySm> readings(static_cast<std::size_t>(stretches.back().last - first + 1));
  WEFT_CHECK(cudaMemcpy(readings.data(), static_cast<const ReadingOfEverySm*>(memory_.get()) + first,
                        readings.size() * sizeof(ReadingOfEverySm), cudaMemcpyDeviceToHost));
  std::vector<double> clocks;
  for (int sm = 0; sm < most_sms; ++sm) {
    std::uint64_t cycles = 0, time_ns = 0;
    for (const Stretch& stretch : stretches) {
      const Reading &from = readings[stretch.first - first][sm], &to = readings[stretch.last - first][sm];
      if (from.time_ns == 0 || to.time_ns <= from.time_ns) {
        time_ns = 0;
        break;
      }
      cycles += to.cycles - from.cycles;
      time_ns += to.time_ns - from.time_ns;
    }
    if (time_ns > 0) clocks.push_back(static_cast<double>(cycles) * 1e3 / static_cast<double>(time_ns));
  }
  if (clocks.empty()) return 0;
  std::nth_element(clocks.begin(), clocks.begin() + clocks.size() / 2, clocks.end());
  return clocks[clocks.size() / 2];
}

}  // namespace weft::calibration::device
