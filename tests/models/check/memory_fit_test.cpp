#include "models/check/memory_fit.hpp"

#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace memory_fit_test {

/// A copy from one matrix of `rows` x 1024 in bf16 to another: 4096 bytes a row.
Schedule copy_of(std::int64_t rows) {
  Schedule schedule;
  schedule.gpus = 2;
  for (const char* name : {"a", "b"})
    schedule.buffers.push_back({.name = name, .rows = rows, .columns = 1024, .memory = Memory::local, .layout = {}});
  schedule.streams = {{"s0", 0}};
  const auto whole = [&](BufferId buffer) { return Slice{buffer, 0, RowRange{0, rows}, 0, 1024}; };
  schedule.operations = {{"only", 0, {}, Copy{whole(0), whole(1)}}};
  return schedule;
}

Machine of_80_GB() { return read_machine(tests::source_folder() + "/calibration/machines/h100x8-nvswitch.json"); }

TEST(MemoryFit, CountsEachBufferInItsType) {
  Schedule schedule = copy_of(1'000'000);
  EXPECT_DOUBLE_EQ(memory_GB(schedule), 4.096);
  schedule.buffers[0].dtype = DataType::fp8;
  EXPECT_DOUBLE_EQ(memory_GB(schedule), 3.072);
  schedule.buffers[1].element_bits = 4;
  EXPECT_DOUBLE_EQ(memory_GB(schedule), 1.536);
}

TEST(MemoryFit, WhatIsTooLargeIsNotRunnableAndSaysSo) {
  const Schedule fits = copy_of(19'500'000), does_not = copy_of(19'600'000);
  Machine machine = of_80_GB();
  EXPECT_TRUE(fits_memory(fits, machine));
  EXPECT_TRUE(is_runnable(fits, machine));
  EXPECT_FALSE(fits_memory(does_not, machine));
  const auto error = why_not_runnable(does_not, machine);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "buffers: expected at most the 80 GB of a GPU of h100x8-nvswitch, got 80.3");
  machine.gpu.memory_GB = 0;
  EXPECT_TRUE(fits_memory(does_not, machine)) << "nobody knows";
}

}  // namespace memory_fit_test
}  // namespace weft
