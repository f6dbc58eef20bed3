#include "models/execution/trace_json.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "models/base/json_object.hpp"
#include "models/base/text_file.hpp"

namespace weft {
namespace {

constexpr const char* format_name = "weft.trace/1";
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
  nlohmann::ordered_json json{{"format", format_name},
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

/// Numbers of the processes and threads that Perfetto shows, and their names.
class Lanes {
 public:
  explicit Lanes(const std::vector<Trace>& traces) : traces_(traces) {
    for (const Trace& trace : traces)
      for (const Span& span : trace.spans) threads_.try_emplace(span.stream, static_cast<int>(threads_.size()) + 1);
  }
  /// The traces of one GPU stand beside each other.
  int process(std::size_t trace, int gpu) const {
    return gpu * static_cast<int>(traces_.size()) + static_cast<int>(trace) + 1;
  }
  int thread(const std::string& stream) const { return threads_.at(stream); }

 private:
  const std::vector<Trace>& traces_;
  std::map<std::string, int> threads_;  ///< of streams, numbered as they first appear
};

nlohmann::ordered_json name_event(const char* what, int process, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

nlohmann::ordered_json order_event(int process) {
  return {{"ph", "M"}, {"name", "process_sort_index"}, {"pid", process}, {"args", {{"sort_index", process}}}};
}

nlohmann::ordered_json span_event(const Span& span, int process, int thread) {
  nlohmann::ordered_json args = nlohmann::ordered_json::object();
  if (!span.detail.empty()) args["detail"] = span.detail;
  args["limit"] = name_of(span.limit);
  return {{"ph", "X"},
          {"name", span.operation},
          {"cat", span.kind},
          {"pid", process},
          {"tid", thread},
          {"ts", span.start_us},
          {"dur", span.end_us - span.start_us},
          {"args", args}};
}

std::vector<nlohmann::ordered_json> events_of(const std::vector<Trace>& traces) {
  const Lanes lanes(traces);
  std::set<int> named_processes;
  std::set<std::pair<int, int>> named_threads;
  std::vector<nlohmann::ordered_json> events;
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (const Span& span : traces[i].spans) {
      const int process = lanes.process(i, span.gpu), thread = lanes.thread(span.stream);
      if (named_processes.insert(process).second) {
        events.push_back(name_event("process_name", process, 0, traces[i].source + " GPU " + std::to_string(span.gpu)));
        events.push_back(order_event(process));
      }
      if (named_threads.insert({process, thread}).second)
        events.push_back(name_event("thread_name", process, thread, span.stream));
      events.push_back(span_event(span, process, thread));
    }
  return events;
}

}  // namespace

void write_perfetto(const std::vector<Trace>& traces, std::ostream& out) {
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  for (const auto& event : events_of(traces)) {
    out << separator << event.dump();
    separator = ",\n";
  }
  out << "\n]}\n";
}

nlohmann::json to_json(const Trace& trace) { return ordered_json_of(trace); }

Trace trace_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  const JsonValue format = object.at("format");
  if (format.string() != format_name) format.fail("\"" + std::string(format_name) + "\"");
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

void write_perfetto(const std::filesystem::path& path, const std::vector<Trace>& traces) {
  std::ostringstream text;
  write_perfetto(traces, text);
  write_text_file(path, text.str());
}

void write_trace(const std::filesystem::path& path, const Trace& trace) {
  write_json_file(path, ordered_json_of(trace));
}

}  // namespace weft
