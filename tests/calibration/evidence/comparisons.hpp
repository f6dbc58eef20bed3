// Comparisons written down in a test.
#pragma once

#include <string>

#include "calibration/evidence/accuracy.hpp"

namespace weft::calibration::evidence {

inline const scenarios::PairWorkload pair_workload{scenarios::PairOp::gemm_all_reduce, 4096, 4096, 4096};
inline const scenarios::GemmWorkload gemm_part{4096, 4096, 4096};
inline const scenarios::CollectiveWorkload collective_part{CollectiveKind::all_reduce, 4096 * 4096 * 2};

inline MeasuredCase measured_case(const scenarios::Workload& workload, const scenarios::ScheduleChoice& schedule,
                                  double time_us, const std::string& run = "run 1") {
  MeasuredCase one;
  one.request = {"", 2, workload, schedule, {}};
  one.time_us = time_us;
  one.run = run;
  return one;
}

/// With an interval of 10 % around the prediction.
inline Comparison comparison(const scenarios::Workload& workload, const scenarios::ScheduleChoice& schedule,
                             double measured_us, double predicted_us, const std::string& run = "run 1") {
  return {measured_case(workload, schedule, measured_us, run), predicted_us, 0.9 * predicted_us, 1.1 * predicted_us};
}

inline const scenarios::ScheduleChoice serial{};
inline const scenarios::ScheduleChoice two_chunks{scenarios::Decomposition{2}};
inline const scenarios::ScheduleChoice four_chunks{scenarios::Decomposition{4}};

}  // namespace weft::calibration::evidence
