#include "calibration/measurement_json.hpp"

#include <nlohmann/json.hpp>

#include "models/base/statistics.hpp"

namespace weft::calibration {

nlohmann::json to_json(const Conditions& c) {
  return {{"date", c.date},
          {"gpu", c.gpu},
          {"gpus", c.gpus},
          {"sms", c.sms},
          {"driver", c.driver},
          {"cuda", c.cuda},
          {"nccl", c.nccl},
          {"cublaslt", c.cublaslt},
          {"max_sm_clock_MHz", c.max_sm_clock_MHz},
          {"power_limit_W", c.power_limit_W}};
}

Conditions conditions_from(const nlohmann::json& json) {
  Conditions c;
  c.date = json.at("date");
  c.gpu = json.at("gpu");
  c.gpus = json.at("gpus");
  c.sms = json.at("sms");
  c.driver = json.at("driver");
  c.cuda = json.at("cuda");
  c.nccl = json.at("nccl");
  c.cublaslt = json.at("cublaslt");
  c.max_sm_clock_MHz = json.at("max_sm_clock_MHz");
  c.power_limit_W = json.at("power_limit_W");
  return c;
}

nlohmann::json to_json(const KernelRecord& k) {
  return {{"operation", k.operation},
          {"kernel", k.kernel_name},
          {"gpu", k.gpu},
          {"stream", k.stream},
          {"grid", k.grid},
          {"block", k.block},
          {"cluster", k.cluster},
          {"registers_per_thread", k.registers},
          {"static_shared_memory_bytes", k.static_shared_memory},
          {"dynamic_shared_memory_bytes", k.dynamic_shared_memory},
          {"bytes", k.bytes},
          {"start_us", k.start_us},
          {"end_us", k.end_us}};
}

KernelRecord kernel_from(const nlohmann::json& json) {
  KernelRecord k;
  k.operation = json.at("operation");
  k.kernel_name = json.at("kernel");
  k.gpu = json.at("gpu");
  k.stream = json.at("stream");
  k.grid = json.at("grid");
  k.block = json.at("block");
  k.cluster = json.at("cluster");
  k.registers = json.at("registers_per_thread");
  k.static_shared_memory = json.at("static_shared_memory_bytes");
  k.dynamic_shared_memory = json.at("dynamic_shared_memory_bytes");
  k.bytes = json.at("bytes");
  k.start_us = json.at("start_us");
  k.end_us = json.at("end_us");
  return k;
}

nlohmann::json to_json(const Span& s) {
  return {{"operation", s.operation}, {"kind", s.kind},     {"stream", s.stream}, {"gpu", s.gpu},
          {"start_us", s.start_us},   {"end_us", s.end_us}, {"detail", s.detail}};
}

Span span_from(const nlohmann::json& json) {
  Span s;
  s.operation = json.at("operation");
  s.kind = json.at("kind");
  s.stream = json.at("stream");
  s.gpu = json.at("gpu");
  s.start_us = json.at("start_us");
  s.end_us = json.at("end_us");
  s.detail = json.at("detail");
  return s;
}

nlohmann::json to_json(const Measurement& m) {
  nlohmann::json json{{"time_us", m.time_us},
                      {"repeats_us", m.repeats_us},
                      {"noise", m.repeats_us.empty() ? 0.0 : relative_spread(m.repeats_us)},
                      {"iterations", m.iterations},
                      {"checked", m.checked},
                      {"sm_clock_MHz", m.sm_clock_MHz},
                      {"power_W", m.power_W}};
  if (m.checked) {
    json["max_error"] = m.max_error;
    json["error_bound"] = m.error_bound;
  }
  if (!m.kernels.empty()) {
    json["kernels"] = nlohmann::json::array();
    for (const KernelRecord& kernel : m.kernels) json["kernels"].push_back(to_json(kernel));
  }
  return json;
}

Measurement measurement_from(const nlohmann::json& json) {
  Measurement m;
  m.time_us = json.at("time_us");
  m.repeats_us = json.at("repeats_us").get<std::vector<double>>();
  m.iterations = json.at("iterations");
  m.checked = json.at("checked");
  m.sm_clock_MHz = json.at("sm_clock_MHz");
  m.power_W = json.at("power_W");
  if (m.checked) {
    m.max_error = json.at("max_error");
    m.error_bound = json.at("error_bound");
  }
  if (json.contains("kernels"))
    for (const auto& kernel : json.at("kernels")) m.kernels.push_back(kernel_from(kernel));
  return m;
}

}  // namespace weft::calibration
