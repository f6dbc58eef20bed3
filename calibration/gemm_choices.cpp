#include "calibration/gemm_choices.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibration/device_module.hpp"
#include "calibration/hardware.hpp"
#include "calibration/process_group.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"

namespace weft::calibration {

LibraryAnswer library_answer_from(const nlohmann::json& json) {
  constexpr std::int64_t largest_size = INT32_MAX, largest_part = 4096;
  JsonObject object(json);
  LibraryAnswer answer;
  const auto size = [&](std::string_view key) { return object.integer(key, 1, largest_size); };
  answer.size = {size("m"), size("n"), size("k")};
  answer.raw = json.dump();
  if (object.has("error")) return answer;
  answer.waves = object.number("waves", 0);
  const auto part = [&](std::string_view key) { return static_cast<int>(object.integer(key, 0, largest_part)); };
  const auto known = [&](std::string_view key, int& value) {
    if (const int named = part(key); named > 0) value = named;
  };
  GemmKernel kernel;
  kernel.tile_m = part("tile_m");
  kernel.tile_n = part("tile_n");
  known("tile_k", kernel.tile_k);
  known("stages", kernel.stages);
  known("cluster_m", kernel.cluster_m);
  known("cluster_n", kernel.cluster_n);
  known("split_k", kernel.split_k);
  if (kernel.tile_m > 0 && kernel.tile_n > 0)
    answer.choice = GemmChoice{answer.size.m, answer.size.n, answer.size.k, kernel};
  return answer;
}

std::vector<LibraryAnswer> ask_library(const std::vector<MatrixSize>& sizes) {
  if (!has_device_part()) throw InputError("device", "this weft was built without a CUDA toolkit");
  ProcessGroup group(1, [&](int, const Send& send) {
    std::string failed;
    int status = 1;
    try {
      status = load_device_module().ask_library(sizes, send, failed);
    } catch (const std::exception& error) {
      failed = error.what();
    }
    if (status != 0) send(nlohmann::json{{"failed", failed}}.dump());
    return status;
  });
  std::vector<LibraryAnswer> answers;
  group.supervise(
      {.on_line =
           [&](int, const std::string& line) {
             const auto json = nlohmann::json::parse(line);
             if (json.contains("failed")) throw ExecutionError(json["failed"].get<std::string>());
             answers.push_back(library_answer_from(json));
           },
       .on_tick = {},
       .on_death = [](int, const std::string& how) { throw ExecutionError("the process that asks cuBLASLt " + how); }});
  return answers;
}

}  // namespace weft::calibration
