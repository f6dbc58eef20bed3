// What a process that touches GPUs tells its parent: one JSON object a line.
//   {"failed": "why this rank gives up"}
//   {"conditions": {…}}
//   {"index": 3, "error": "why this schedule cannot be run"}
//   {"index": 3, "measurement": {…}}                 of rank 0
//   {"index": 3, "spans": […], "kernels": […]}       of every rank, under CUPTI
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/device_module.hpp"
#include "calibration/hardware.hpp"

namespace weft::calibration {

/// Of a message whose texts may hold any bytes: a driver's or a library's own.
std::string line_of(const nlohmann::json& message);

/// Loads the device part and lets it work; where it fails, `send` gets a line that says why. The status of the process:
/// what `work` returns, or 1. Call in a forked process only.
int run_device_part(const Send& send, const std::function<int(const DeviceModule&, std::string& failed)>& work);

struct RankMessage {
  std::optional<std::string> failed;
  std::optional<Conditions> conditions;
  std::size_t index = 0;  ///< of the schedule that the rest is about
  std::optional<std::string> error;
  std::optional<Measurement> measurement;
  std::vector<Span> spans;
  std::vector<KernelRecord> kernels;
};

/// Throws InputError for a line that is no message; `schedules`: how many there are.
RankMessage message_of(const std::string& line, std::size_t schedules);

}  // namespace weft::calibration
