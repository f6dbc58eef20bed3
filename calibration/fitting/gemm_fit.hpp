// The numbers of a machine profile that times of lone GEMMs determine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fitting/number_fit.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

inline constexpr double long_us = 20;  ///< in which gaps between graphs, at another clock, hardly count
inline constexpr std::size_t enough_to_tell = 10;

/// Does the governor hold the clock back, so far below the one that tensor cores have without a limit?
inline bool is_held(double clock_share, const Power& power) { return clock_share < 0.95 * power.tensor_clock; }
/// Does it leave the clock alone, so far below the limit?
inline bool is_unlimited(double power_W, const Power& power) { return power_W < 0.8 * power.limit_W; }

/// Means while a GEMM ran: its time at its clock says what it takes in cycles, whatever the governor did.
struct ClockReading {
  double clock_share = 0;  ///< of the maximum clock
  double power_W = 0;      ///< under load; 0: nobody knows, as in a mix or in a short run
};

/// A CUDA graph that holds one GEMM, launched again and again. A recorded iteration tells the kernels from the gap
/// between graphs, and, since it runs alone after a pause, large kernels from what the power limit makes of them.
struct GemmObservation {
  MatrixSize size;
  DataType dtype = DataType::bf16;
  double time_us = 0;                  ///< from one launch to the next
  std::optional<double> kernels_us{};  ///< first start to last end, of one iteration below the power limit
  bool after_gemm = false;             ///< measured just after another GEMM, so that the governor may have acted before
  bool settled = false;                ///< measured after so many runs that the governor has done all it will
  std::optional<ClockReading> reading{};
  Condition condition = Condition::after_pause;  ///< whether or not its clock was read
  std::string run{};                             ///< those of one run are of one GPU
  std::optional<GemmKernel> own_kernel{};        ///< one of models/schedule/own_kernels.hpp; none: the library's
};

struct GemmFit {
  Machine machine;                         ///< the one that was given, with the fitted numbers
  std::vector<FittedNumber> numbers;       ///< those that the observations determine; the others keep their values
  double median_error = 0, p90_error = 0;  ///< of |predicted / measured - 1|, of times under load where there are some
};

/// By the formulas alone, whatever the machine's networks make of them. Where GEMMs were read under load, those say
/// what a GEMM draws, and all whose clock was read, under load or not, what it takes; times after a pause say how the
/// governor begins, and without a load they have to tell both. Throws InputError with fewer observations than numbers
/// to fit.
GemmFit fit_gemms(const Machine& machine, const std::vector<GemmObservation>& observations);

}  // namespace weft::calibration::fitting
