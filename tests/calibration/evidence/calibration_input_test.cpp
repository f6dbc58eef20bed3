#include "calibration/evidence/calibration_input.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace {

std::string kernel(int gpu, double start_us, double end_us) {
  return R"({"operation": "all_to_all", "kernel": "ncclDevKernel_SendRecv", "gpu": )" + std::to_string(gpu) +
         R"(, "stream": "s0", "grid": [32, 1, 1], "block": [544, 1, 1], "cluster": [4, 1, 1], "registers_per_thread": 96,)" +
         R"( "static_shared_memory_bytes": 0, "dynamic_shared_memory_bytes": 82240, "bytes": 0, "start_us": )" +
         std::to_string(start_us) + R"(, "end_us": )" + std::to_string(end_us) + "}";
}

// The first GPU's kernel waits 5 us for the second's, which it has to outlast.
TEST(CalibrationInput, ACollectiveLastsFromItsLastStartToItsLastEnd) {
  const tests::TemporaryFolder folder;
  folder.write("measured.jsonl",
               R"({"conditions": {"date": "2026-11-21T09:26:42Z", "gpu": "NVIDIA H200", "gpus": 2, "driver": "580",)"
               R"( "cuda": "13.0", "nccl": "2.28.9", "cublaslt": "130100", "sms": 132, "max_sm_clock_MHz": 1980,)"
               R"( "power_limit_W": 700}})"
               "\n"
               R"({"case": {"id": "a", "gpus": 2, "workload": {"op": "all_to_all", "bytes": 4194304}},)"
               R"( "time_us": 40, "repeats_us": [40], "noise": 0, "iterations": 10, "checked": false,)"
               R"( "sm_clock_MHz": 1980, "power_W": 100, "kernels": [)" +
                   kernel(0, 0, 35) + ", " + kernel(1, 5, 30) + "]}\n");
  const CalibrationInput input = read_calibration_input({folder.path() / "measured.jsonl"});
  ASSERT_EQ(input.collectives.size(), 1u);
  EXPECT_EQ(input.collectives[0].kernel_us, 30);
  EXPECT_EQ(input.collectives[0].time_us, 40);
}

}  // namespace
}  // namespace weft::calibration::evidence
