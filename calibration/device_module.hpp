// The border to the device part, a module that is loaded at run time: the command itself needs no CUDA libraries, and
// starts fast. Only processes that were forked for the purpose load it, so that the parent never touches CUDA.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "calibration/shared_state.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// What one rank is to do with a list of schedules for the same number of GPUs.
struct RankJob {
  int rank = 0, ranks = 1;
  const std::vector<Schedule>* schedules = nullptr;
  std::vector<Mix> mixes;  ///< positions in `schedules`; messages carry them
  bool in_turn = false;    ///< the schedules of a mix take turns; else every mix is one schedule
  RunOptions options;
  bool profiled = false;  ///< spans under CUPTI instead of times and check
  SharedState* state = nullptr;
};

using Send = std::function<void(const std::string& line)>;

/// The module's functions catch everything: `failed` is set to a message, and non-zero returned.
struct DeviceModule {
  int (*run_rank)(const RankJob& job, const Send& send, std::string& failed) = nullptr;
  int (*count_gpus)(int& gpus, std::string& failed) = nullptr;
  int (*ask_library)(const std::vector<MatrixSize>& sizes, DataType factors, const Send& send,
                     std::string& failed) = nullptr;
};
extern "C" using FillDeviceModule = void(*)(DeviceModule&);
inline constexpr const char* fill_device_module_name = "weft_fill_device_module";

/// What WEFT_DEVICE_PART names, else libweft_device.so beside the program.
std::filesystem::path device_module_path();

/// Throws ExecutionError naming the library that is missing. Call in a forked process only.
DeviceModule load_device_module();

}  // namespace weft::calibration
