#include "calibration/rank_message.hpp"

#include <nlohmann/json.hpp>

#include "calibration/measurement_json.hpp"
#include "models/base/json_object.hpp"

namespace weft::calibration {

namespace {

void read_recording(JsonObject& object, RankMessage& message) {
  for (const JsonValue& span : object.list("spans")) message.spans.push_back(span_from(span.object()));
  for (const JsonValue& kernel : object.list("kernels")) message.kernels.push_back(kernel_from(kernel.object()));
}

void read_answer(JsonObject& object, std::size_t schedules, RankMessage& message) {
  message.index = static_cast<std::size_t>(object.integer("index", 0, static_cast<std::int64_t>(schedules) - 1));
  if (const auto error = object.find("error")) {
    message.error = error->string();
  } else if (const auto measurement = object.find("measurement")) {
    JsonObject measured = measurement->object();
    message.measurement = measurement_from(measured);
  } else {
    read_recording(object, message);
  }
}

}  // namespace

std::string line_of(const nlohmann::json& message) {
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int run_device_part(const Send& send, const std::function<int(const DeviceModule&, std::string& failed)>& work) {
  std::string failed;
  int status = 1;
  try {
    status = work(load_device_module(), failed);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  if (status != 0) send(line_of({{"failed", failed}}));
  return status;
}

RankMessage message_of(const std::string& line, std::size_t schedules) {
  const nlohmann::json json = parse_json(line);
  JsonObject object(json);
  RankMessage message;
  if (const auto failed = object.find("failed"))
    message.failed = failed->string();
  else if (const auto conditions = object.find("conditions"))
    message.conditions = conditions_from(conditions->object());
  else
    read_answer(object, schedules, message);
  object.finish();
  return message;
}

}  // namespace weft::calibration
