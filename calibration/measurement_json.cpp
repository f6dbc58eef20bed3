#include "calibration/measurement_json.hpp"

#include <climits>
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "models/base/statistics.hpp"

namespace weft::calibration {
namespace {

constexpr double shortest_us = 1e-3, longest_us = 1e9;  // an iteration takes at least a nanosecond

/// T or const T, since a Writer sees constants.
template <class T, class Plain>
concept Like = std::same_as<std::remove_const_t<T>, Plain>;

// The fields of every struct, each listed once: a Reader or a Writer walks over them. A `required` field is always
// there; a `usual` one is always written, but what another program measured may lack it; an `optional` one is written
// where it is not empty; a `derived` one follows from others and is written for people and scripts.

void describe(auto& io, Like<Conditions> auto& conditions) {
  io.usual("date", conditions.date);
  io.usual("gpu", conditions.gpu);
  io.usual("gpus", conditions.gpus);
  io.usual("sms", conditions.sms);
  io.usual("driver", conditions.driver);
  io.usual("cuda", conditions.cuda);
  io.usual("nccl", conditions.nccl);
  io.usual("cublaslt", conditions.cublaslt);
  io.usual("max_sm_clock_MHz", conditions.max_sm_clock_MHz);
  io.usual("power_limit_W", conditions.power_limit_W);
  io.optional("torch", conditions.torch);
  io.optional("uuid", conditions.uuid);
  io.optional("weft_commit", conditions.commit);
  io.optional("environment", conditions.environment);
  io.optional("ecc", conditions.ecc);
  io.optional("mig", conditions.mig);
  io.optional("mps", conditions.mps);
  io.optional("application_clock_MHz", conditions.application_clock_MHz);
  io.optional("other_processes", conditions.other_processes);
}

void describe(auto& io, Like<KernelLaunch> auto& launch) {
  io.required("kernel", launch.kernel);
  io.required("grid", launch.grid);
  io.required("block", launch.block);
  io.required("cluster", launch.cluster);
  io.required("registers_per_thread", launch.registers);
  io.required("static_shared_memory_bytes", launch.static_shared_memory);
  io.required("dynamic_shared_memory_bytes", launch.dynamic_shared_memory);
}

void describe(auto& io, Like<KernelRecord> auto& kernel) {
  io.required("operation", kernel.operation);
  describe(io, kernel.launch);
  io.required("gpu", kernel.gpu);
  io.required("stream", kernel.stream);
  io.required("bytes", kernel.bytes);
  io.required("start_us", kernel.start_us);
  io.required("end_us", kernel.end_us);
}

void describe(auto& io, Like<Span> auto& span) {
  io.required("operation", span.operation);
  io.required("kind", span.kind);
  io.required("stream", span.stream);
  io.required("gpu", span.gpu);
  io.required("start_us", span.start_us);
  io.required("end_us", span.end_us);
  io.required("detail", span.detail);
}

void describe(auto& io, Like<Measurement> auto& measurement) {
  io.optional("condition", measurement.condition);
  io.optional("in_turn_with", measurement.in_turn_with);
  io.optional("beside_guests", measurement.beside_guests);
  io.required("time_us", measurement.time_us, shortest_us);
  io.usual("repeats_us", measurement.repeats_us, shortest_us);
  io.derived("noise", [&] { return measurement.repeats_us.empty() ? 0.0 : relative_spread(measurement.repeats_us); });
  io.optional("repeat_clocks_MHz", measurement.repeat_clocks_MHz);
  io.usual("iterations", measurement.iterations);
  io.usual("sm_clock_MHz", measurement.sm_clock_MHz);
  io.usual("power_W", measurement.power_W);
  io.optional("sm_clock_MHz_of_gpus", measurement.gpus.sm_clock_MHz);
  io.optional("power_W_of_gpus", measurement.gpus.power_W);
  io.optional("held_back_by", measurement.gpus.held_back_by);
  io.optional("windows_us", measurement.windows_us, shortest_us);
  io.optional("window_clocks_MHz", measurement.window_clocks_MHz);
  io.usual("checked", measurement.checked);
  if (!measurement.checked) return;
  io.required("max_error", measurement.max_error, 0);
  io.required("error_bound", measurement.error_bound, 0);
}

class Writer {
 public:
  template <class T>
  void required(const char* key, const T& value, double = 0) {
    json_[key] = value;
  }
  void usual(const char* key, const auto& value, double = 0) { json_[key] = value; }
  template <class T>
  void optional(const char* key, const T& value, double = 0) {
    if (value != T{}) json_[key] = value;
  }
  void optional(const char* key, Condition value) {
    if (value != Measurement{}.condition) json_[key] = name_of(value);
  }
  void derived(const char* key, const auto& value_of) { json_[key] = value_of(); }
  nlohmann::json json() && { return std::move(json_); }

 private:
  nlohmann::json json_ = nlohmann::json::object();
};

class Reader {
 public:
  explicit Reader(JsonObject& object) : object_(object) {}

  void required(const char* key, auto& value) { read(object_.at(key), value); }
  void required(const char* key, double& value, double least) { value = object_.number(key, least, longest_us); }
  void usual(const char* key, auto& value) {
    if (const auto found = object_.find(key)) read(*found, value);
  }
  /// Of a GPU or a run: none is below 0.
  void usual(const char* key, double& value) { value = object_.number_or(key, value, 0, longest_us); }
  void usual(const char* key, std::vector<double>& values, double least = 0) {
    values.clear();
    for (const JsonValue& one : object_.list_or_empty(key)) values.push_back(one.number(least, longest_us));
  }
  void optional(const char* key, auto& value, auto... least) { usual(key, value, least...); }
  void optional(const char* key, Condition& value) {
    if (const auto found = object_.find(key)) value = from_name<Condition>(found->string(), key);
  }
  void derived(const char* key, const auto&) { object_.find(key); }

 private:
  static void read(const JsonValue& json, std::string& value) { value = json.string(); }
  static void read(const JsonValue& json, bool& value) { value = json.boolean(); }
  static void read(const JsonValue& json, double& value) { value = json.number(); }
  static void read(const JsonValue& json, int& value) { value = static_cast<int>(json.integer(0, INT_MAX)); }
  static void read(const JsonValue& json, Bytes& value) { value = json.integer(0); }
  static void read(const JsonValue& json, std::array<int, 3>& values) {
    const std::vector<JsonValue> list = json.list();
    if (list.size() != values.size()) json.fail("three integers");
    for (std::size_t i = 0; i < values.size(); ++i) read(list[i], values[i]);
  }
  static void read(const JsonValue& json, std::vector<std::string>& values) {
    values.clear();
    for (const JsonValue& one : json.list()) values.push_back(one.string());
  }

  JsonObject& object_;
};

template <class T>
nlohmann::json written(const T& value) {
  Writer writer;
  describe(writer, value);
  return std::move(writer).json();
}

template <class T>
T read_from(JsonObject& object) {
  T value;
  Reader reader(object);
  describe(reader, value);
  return value;
}

template <class T>
T whole_of(JsonObject& object) {
  T value = read_from<T>(object);
  object.finish();
  return value;
}

}  // namespace

nlohmann::json to_json(const Conditions& conditions) { return written(conditions); }
nlohmann::json to_json(const KernelLaunch& launch) { return written(launch); }
nlohmann::json to_json(const KernelRecord& kernel) { return written(kernel); }
nlohmann::json to_json(const Span& span) { return written(span); }
nlohmann::json to_json(const Measurement& measurement) { return written(measurement); }

Conditions conditions_from(JsonObject object) { return whole_of<Conditions>(object); }
KernelLaunch launch_from(JsonObject object) { return whole_of<KernelLaunch>(object); }
KernelRecord kernel_from(JsonObject object) { return whole_of<KernelRecord>(object); }
Span span_from(JsonObject object) { return whole_of<Span>(object); }
Measurement measurement_from(JsonObject& object) { return read_from<Measurement>(object); }

}  // namespace weft::calibration
