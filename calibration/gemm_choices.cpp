#include "calibration/gemm_choices.hpp"

#include <nlohmann/json.hpp>

#include "calibration/device_module.hpp"
#include "calibration/hardware.hpp"
#include "calibration/process_group.hpp"
#include "models/base/input_error.hpp"

namespace weft::calibration {

LibraryAnswer library_answer_from(const nlohmann::json& json) {
  LibraryAnswer answer;
  answer.size = {json.at("m"), json.at("n"), json.at("k")};
  answer.raw = json.dump();
  if (json.contains("error")) return answer;
  answer.waves = json.at("waves");
  GemmKernel kernel;
  kernel.tile_m = json.at("tile_m");
  kernel.tile_n = json.at("tile_n");
  if (json.at("tile_k") > 0) kernel.tile_k = json.at("tile_k");
  if (json.at("stages") > 0) kernel.stages = json.at("stages");
  if (json.at("cluster_m") > 0) kernel.cluster_m = json.at("cluster_m");
  if (json.at("cluster_n") > 0) kernel.cluster_n = json.at("cluster_n");
  if (json.at("split_k") > 0) kernel.split_k = json.at("split_k");
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
