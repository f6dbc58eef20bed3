#include "models/execution/perfetto.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "models/base/text_file.hpp"

namespace weft {
namespace {

using nlohmann::ordered_json;

/// An arrow leaves from within its span: Perfetto takes what lies at its end for the span behind it.
constexpr double before_end_us = 1e-3;

/// Numbers of the processes and threads that Perfetto shows, and their names.
class Lanes {
 public:
  explicit Lanes(const std::vector<Timeline>& timelines) : timelines_(timelines.size()) {
    for (const Timeline& timeline : timelines)
      for (const Span& span : timeline.trace.spans)
        threads_.try_emplace(span.stream, static_cast<int>(threads_.size()) + 1);
  }
  /// Those of one GPU stand beside each other.
  int process(std::size_t timeline, int gpu) const {
    return gpu * static_cast<int>(timelines_) + static_cast<int>(timeline) + 1;
  }
  int thread(const std::string& stream) const { return threads_.at(stream); }

 private:
  std::size_t timelines_;
  std::map<std::string, int> threads_;  ///< of streams, numbered as they first appear
};

ordered_json name_event(const char* what, int process, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

ordered_json order_event(int process) {
  return {{"ph", "M"}, {"name", "process_sort_index"}, {"pid", process}, {"args", {{"sort_index", process}}}};
}

ordered_json span_event(const Span& span, int process, int thread) {
  ordered_json args = ordered_json::object();
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

class Events {
 public:
  explicit Events(const std::vector<Timeline>& timelines) : lanes_(timelines) {
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      add_spans(i, timelines[i].trace);
      for (const Track& track : timelines[i].tracks) add_track(i, track);
      for (const Edge& edge : timelines[i].edges) add_edge(i, timelines[i].trace, edge);
    }
  }
  const std::vector<ordered_json>& all() const { return events_; }

 private:
  void add_spans(std::size_t timeline, const Trace& trace) {
    for (const Span& span : trace.spans) {
      const int process = lanes_.process(timeline, span.gpu), thread = lanes_.thread(span.stream);
      if (named_processes_.insert(process).second) {
        events_.push_back(name_event("process_name", process, 0, trace.source + " GPU " + std::to_string(span.gpu)));
        events_.push_back(order_event(process));
      }
      if (named_threads_.insert({process, thread}).second)
        events_.push_back(name_event("thread_name", process, thread, span.stream));
      events_.push_back(span_event(span, process, thread));
    }
  }

  void add_track(std::size_t timeline, const Track& track) {
    for (const TrackPoint& point : track.points)
      events_.push_back({{"ph", "C"},
                         {"name", track.name},
                         {"pid", lanes_.process(timeline, track.gpu)},
                         {"ts", point.at_us},
                         {"args", {{track.unit, point.value}}}});
  }

  void add_edge(std::size_t timeline, const Trace& trace, const Edge& edge) {
    const Span &from = trace.spans[edge.from], &to = trace.spans[edge.to];
    const double leaves_us = std::max(from.start_us, std::min(edge.from_us, from.end_us - before_end_us));
    ++arrows_;
    add_arrow_end("s", timeline, from, leaves_us, edge.what);
    add_arrow_end("f", timeline, to, std::max(edge.to_us, leaves_us), edge.what);
    events_.back()["bp"] = "e";  // binds to the span around it
  }

  void add_arrow_end(const char* phase, std::size_t timeline, const Span& span, double at_us, const std::string& what) {
    events_.push_back({{"ph", phase},
                       {"id", arrows_},
                       {"name", what},
                       {"cat", "edge"},
                       {"pid", lanes_.process(timeline, span.gpu)},
                       {"tid", lanes_.thread(span.stream)},
                       {"ts", at_us}});
  }

  Lanes lanes_;
  std::set<int> named_processes_;
  std::set<std::pair<int, int>> named_threads_;
  std::vector<ordered_json> events_;
  int arrows_ = 0;
};

}  // namespace

void write_perfetto(const std::vector<Timeline>& timelines, std::ostream& out) {
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  const Events events(timelines);
  for (const ordered_json& event : events.all()) {
    out << separator << event.dump();
    separator = ",\n";
  }
  out << "\n]}\n";
}

void write_perfetto(const std::filesystem::path& path, const std::vector<Timeline>& timelines) {
  std::ostringstream text;
  write_perfetto(timelines, text);
  write_text_file(path, text.str());
}

}  // namespace weft
