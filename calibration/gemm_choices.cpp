#include "calibration/gemm_choices.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibration/hardware.hpp"
#include "calibration/process_group.hpp"
#include "calibration/rank_message.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"
#include "models/schedule/kernel_sizes.hpp"

namespace weft::calibration {

LibraryAnswer library_answer_from(const nlohmann::json& json) {
  constexpr std::int64_t largest_size = INT32_MAX;
  JsonObject object(json);
  LibraryAnswer answer;
  const auto size = [&](std::string_view key) { return object.integer(key, 1, largest_size); };
  answer.size = {size("m"), size("n"), size("k")};
  answer.raw = json.dump();
  if (object.has("dtype")) answer.factors = from_name<DataType>(object.string("dtype"), "dtype");
  if (object.has("error")) return answer;
  answer.waves = object.number("waves", 0);
  GemmKernel kernel;  // what the library does not say, a 0, stays as it is
  for (const KernelSize& of_kernel : kernel_sizes)
    if (const std::int64_t named = object.integer(of_kernel.key, 0, of_kernel.most); named > 0)
      kernel.*of_kernel.size = static_cast<int>(named);
  if (object.integer("tile_m") > 0 && object.integer("tile_n") > 0)
    answer.choice = GemmChoice{answer.size.m, answer.size.n, answer.size.k, kernel};
  return answer;
}

namespace {

const std::string asking_process = "the process that asks cuBLASLt";

int ask_all(const std::vector<MatrixSize>& sizes, DataType factors, const Send& send) {
  return run_device_part(send, [&](const DeviceModule& device, std::string& failed) {
    return device.ask_library(sizes, factors, send, failed);
  });
}

bool is_same(const MatrixSize& a, const MatrixSize& b) { return a.m == b.m && a.n == b.n && a.k == b.k; }

LibraryAnswer answer_in(const std::string& line) {
  const nlohmann::json json = parse_json(line);
  JsonObject object(json);
  if (object.has("failed")) throw ExecutionError(object.string("failed"));
  try {
    return library_answer_from(json);
  } catch (const InputError& error) {
    throw ExecutionError(asking_process + " sent an answer that is none: " + error.what());
  }
}

}  // namespace

std::vector<LibraryAnswer> ask_library(const std::vector<MatrixSize>& sizes, DataType factors, double limit_s) {
  require_device_part();
  ProcessGroup group(1, [&](int, const Send& send) { return ask_all(sizes, factors, send); });
  SilenceLimit limit(asking_process, limit_s);
  std::vector<LibraryAnswer> answers;
  const auto take = [&](int, const std::string& line) {
    limit.restart();
    answers.push_back(answer_in(line));
    if (answers.size() > sizes.size() || !is_same(answers.back().size, sizes[answers.size() - 1]))
      throw ExecutionError(asking_process + " answered what it was not asked");
  };
  group.supervise({.on_line = take,
                   .on_tick = [&] { limit.check(); },
                   .on_death = [](int, const std::string& how) { throw ExecutionError(asking_process + " " + how); }});
  if (answers.size() < sizes.size())
    throw ExecutionError(asking_process + " answered " + std::to_string(answers.size()) + " of " +
                         std::to_string(sizes.size()) + " questions");
  return answers;
}

}  // namespace weft::calibration
