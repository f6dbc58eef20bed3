// What validation says of hand-written schedules that were changed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "models/check/validation.hpp"
#include "tests/models/error_of.hpp"
#include "tests/models/small_schedules.hpp"

namespace weft {

/// The complaint after `change`; the schedule is valid before.
template <class Change>
std::string complaint(Schedule schedule, Change change) {
  EXPECT_EQ(error_of([&] { validate(schedule); }), "");
  change(schedule);
  return error_of([&] { validate(schedule); });
}

template <class T>
T& work(Schedule& schedule, const std::string& name) {
  return std::get<T>(operation(schedule, name).work);
}

inline Schedule async_tp() { return hand_written("async_tp_all_gather_gemm"); }
inline Schedule flash_overlap() { return hand_written("flashoverlap_gemm_reduce_scatter"); }

}  // namespace weft
