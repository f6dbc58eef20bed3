#include "models/cost/row_kernel_model.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace row_kernel_model_test {

constexpr Slice two_thousand_columns{.columns = 2000};

Machine machine_with_own_rows() {
  Machine machine;
  machine.gpu.hbm_GBps = 1000;
  machine.other_kernels.memory_share_per_sm = 0.01;
  machine.other_kernels.overhead_us = 4;
  machine.own_rows = OwnRowKernels{.activation_GBps = 40,
                                   .quantize_GBps = 60,
                                   .norm_GBps = 30,
                                   .gather_GBps = 13,
                                   .hbm_share = 0.9,
                                   .start_us = 1,
                                   .norm_start_us = 2,
                                   .norm_columns_us = 3};
  return machine;
}

RowKernelTiming timing_of(MemoryKernel kernel, Implementation implementation = Implementation::weft,
                          double clock_share = 1) {
  Schedule schedule;
  schedule.implementation = implementation;
  return time_row_kernel(machine_with_own_rows(), schedule, MemoryBound{kernel, {}, {two_thousand_columns}},
                         clock_share);
}

TEST(RowKernelModel, OursDrawAndTakeWhatTheProfileSaysOfThem) {
  EXPECT_EQ(timing_of(MemoryKernel::swiglu).sm_GBps, 40);
  EXPECT_EQ(timing_of(MemoryKernel::quantize).sm_GBps, 60);
  EXPECT_EQ(timing_of(MemoryKernel::rms_norm).sm_GBps, 30);
  EXPECT_EQ(timing_of(MemoryKernel::gather).sm_GBps, 13);
  EXPECT_EQ(timing_of(MemoryKernel::swiglu).hbm_share, 0.9);
  EXPECT_EQ(timing_of(MemoryKernel::swiglu).once_us, 1);
}

TEST(RowKernelModel, ANormTakesLongerForEachColumnOfARow) {
  EXPECT_DOUBLE_EQ(timing_of(MemoryKernel::add_rms_norm).once_us, 2 + 2 * 3);
}

TEST(RowKernelModel, ActivationsDrawLessAtALowerClockAndAllTakeLongerOnce) {
  const auto at_half = [](MemoryKernel kernel) { return timing_of(kernel, Implementation::weft, 0.5); };
  EXPECT_DOUBLE_EQ(at_half(MemoryKernel::swiglu).sm_GBps, 20);
  EXPECT_DOUBLE_EQ(at_half(MemoryKernel::swiglu).once_us, 2);
  EXPECT_EQ(at_half(MemoryKernel::swiglu).hbm_share, 0.9);
  EXPECT_EQ(at_half(MemoryKernel::gather).sm_GBps, 13);
  EXPECT_EQ(at_half(MemoryKernel::add_rms_norm).sm_GBps, 30);
  EXPECT_DOUBLE_EQ(at_half(MemoryKernel::add_rms_norm).once_us, 2 * (2 + 2 * 3));
  EXPECT_EQ(timing_of(MemoryKernel::swiglu, Implementation::pytorch, 0.5).once_us, 4) << "of others it is not known";
}

TEST(RowKernelModel, WhatIsNotOursIsAsOtherKernelsAre) {
  for (const RowKernelTiming& timing : {timing_of(MemoryKernel::add), timing_of(MemoryKernel::scatter)}) {
    EXPECT_DOUBLE_EQ(timing.sm_GBps, 10);
    EXPECT_EQ(timing.hbm_share, 1);
    EXPECT_EQ(timing.once_us, 4);
    EXPECT_FALSE(timing.is_known);
  }
  EXPECT_EQ(timing_of(MemoryKernel::swiglu, Implementation::pytorch).once_us, 4);
}

}  // namespace row_kernel_model_test
}  // namespace weft
