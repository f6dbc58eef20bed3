#include "models/execution/trace_json.hpp"

#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"

namespace weft {
namespace {

constexpr const char* trace_format_name = "weft.trace/1";
constexpr double longest_us = 1e13;    // longer than any simulation
constexpr int most_gpus = 1 << 16;     // of one server, by far
constexpr double most_of_a_gpu = 1e6;  // MHz, W

nlohmann::ordered_json ordered_json_of(const Span& span) {
  nlohmann::ordered_json json{{"operation", span.operation}, {"kind", span.kind},
                              {"stream", span.stream},       {"gpu", span.gpu},
                              {"start_us", span.start_us},   {"end_us", span.end_us}};
  if (!span.detail.empty()) json["detail"] = span.detail;
  json["limit"] = name_of(span.limit);
  return json;
}

nlohmann::ordered_json ordered_json_of(const Trace& trace) {
  nlohmann::ordered_json json{{"format", trace_format_name},
                              {"source", trace.source},
                              {"machine", trace.machine},
                              {"time_us", trace.time_us},
                              {"limited_by", name_of(trace.limited_by)},
                              {"clock_MHz", trace.clock_MHz},
                              {"power_W", trace.power_W},
                              {"spans", nlohmann::ordered_json::array()}};
  for (const Span& span : trace.spans) json["spans"].push_back(ordered_json_of(span));
  return json;
}

Span span_from(JsonObject object) {
  Span span;
  span.operation = object.string("operation");
  span.kind = object.string("kind");
  span.stream = object.string("stream");
  span.gpu = static_cast<int>(object.integer("gpu", 0, most_gpus - 1));
  span.start_us = object.number("start_us", -longest_us, longest_us);
  span.end_us = object.number("end_us", span.start_us, longest_us);
  span.detail = object.string_or("detail", "");
  span.limit = object.word_or("limit", Limit::compute);
  object.finish();
  return span;
}

}  // namespace

nlohmann::json to_json(const Trace& trace) { return ordered_json_of(trace); }

Trace trace_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  const JsonValue format = object.at("format");
  if (format.string() != trace_format_name) format.fail("\"" + std::string(trace_format_name) + "\"");
  Trace trace;
  trace.source = object.string("source");
  trace.machine = object.string("machine");
  trace.time_us = object.number("time_us", 0, longest_us);
  trace.limited_by = object.word_or("limited_by", Limit::compute);
  trace.clock_MHz = object.number_or("clock_MHz", 0, 0, most_of_a_gpu);
  trace.power_W = object.number_or("power_W", 0, 0, most_of_a_gpu);
  for (const JsonValue& span : object.list("spans")) trace.spans.push_back(span_from(span.object()));
  object.finish();
  return trace;
}

Trace read_trace(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    return trace_from_json(json);
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

void write_trace(const std::filesystem::path& path, const Trace& trace) {
  write_json_file(path, ordered_json_of(trace));
}

}  // namespace weft
