#include "models/execution/perfetto.hpp"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace weft {
namespace perfetto_test {

using testing::ElementsAre;

Trace two_gpus(const std::string& source) {
  Trace trace{.source = source,
              .machine = "h200x8-nvswitch",
              .time_us = 20.5,
              .limited_by = Limit::link,
              .clock_MHz = 1830,
              .power_W = 612.5,
              .spans = {}};
  for (const int gpu : {0, 1}) {
    trace.spans.push_back({"gemm", "gemm", "s0", gpu, 1.25, 11.25, "132 CTAs", Limit::compute});
    trace.spans.push_back({"all_reduce", "collective", "s1", gpu, 5, 20.5, "", Limit::link});
  }
  return trace;
}

nlohmann::json perfetto(const std::vector<Timeline>& timelines) {
  std::ostringstream out;
  write_perfetto(timelines, out);
  return nlohmann::json::parse(out.str());
}

std::map<int, std::string> process_names(const nlohmann::json& picture) {
  std::map<int, std::string> names;
  for (const auto& event : picture["traceEvents"])
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
  return names;
}

TEST(Perfetto, processes_are_sources_and_gpus_with_the_sources_of_one_gpu_side_by_side) {
  EXPECT_EQ(process_names(perfetto({{two_gpus("predicted")}, {two_gpus("measured")}})),
            (std::map<int, std::string>{
                {1, "predicted GPU 0"}, {2, "measured GPU 0"}, {3, "predicted GPU 1"}, {4, "measured GPU 1"}}));
}

TEST(Perfetto, a_span_has_its_time_in_microseconds_and_says_what_limits_it) {
  const auto picture = perfetto({{two_gpus("predicted")}});
  for (const auto& event : picture["traceEvents"]) {
    if (event["ph"] != "X" || event["name"] != "gemm") continue;
    EXPECT_EQ(event["ts"], 1.25);
    EXPECT_EQ(event["dur"], 10.0);
    EXPECT_EQ(event["args"], (nlohmann::json{{"detail", "132 CTAs"}, {"limit", "compute"}}));
    return;
  }
  FAIL() << "no span of the GEMM";
}

TEST(Perfetto, a_thread_is_a_stream_named_once_for_each_process) {
  int names = 0;
  const auto picture = perfetto({{two_gpus("predicted")}});
  for (const auto& event : picture["traceEvents"]) names += event["name"] == "thread_name";
  EXPECT_EQ(names, 2 * 2);
}

TEST(Perfetto, no_traces_are_an_empty_picture) { EXPECT_TRUE(perfetto({})["traceEvents"].empty()); }

/// Events of one phase, in their order.
std::vector<nlohmann::json> events_of(const nlohmann::json& picture, const std::string& phase) {
  std::vector<nlohmann::json> events;
  for (const auto& event : picture["traceEvents"])
    if (event["ph"] == phase) events.push_back(event);
  return events;
}

TEST(Perfetto, a_track_is_a_counter_of_its_gpu_named_by_its_unit) {
  Timeline timeline{two_gpus("predicted")};
  timeline.tracks = {{.name = "HBM", .unit = "GB/s", .gpu = 1, .capacity = 4800, .points = {{0, 0}, {1.25, 3100.5}}}};
  const auto counters = events_of(perfetto({timeline}), "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[1],
            (nlohmann::json{{"ph", "C"}, {"name", "HBM"}, {"pid", 2}, {"ts", 1.25}, {"args", {{"GB/s", 3100.5}}}}));
}

TEST(Perfetto, an_edge_is_an_arrow_from_within_one_span_to_within_the_other) {
  Timeline timeline{two_gpus("predicted")};
  timeline.edges = {{.from = 0, .to = 1, .from_us = 11.25, .to_us = 11.25, .what = "end"}};
  const auto picture = perfetto({timeline});
  const auto leaves = events_of(picture, "s"), arrives = events_of(picture, "f");
  ASSERT_EQ(leaves.size(), 1u);
  ASSERT_EQ(arrives.size(), 1u);
  EXPECT_EQ(leaves[0]["id"], arrives[0]["id"]);
  EXPECT_EQ(arrives[0]["bp"], "e");
  EXPECT_NEAR(leaves[0]["ts"].get<double>(), 11.249, 1e-9);
  EXPECT_EQ(arrives[0]["ts"], 11.25);
  EXPECT_NE(leaves[0]["tid"], arrives[0]["tid"]);
}

Operation delay(const std::string& name, StreamId stream, std::vector<After> after = {}) {
  return {.name = name, .stream = stream, .after = std::move(after), .work = Delay{.time_us = 1, .held_sms = 0}};
}

Schedule two_streams(std::vector<Operation> operations, int gpus = 1) {
  Schedule schedule;
  schedule.gpus = gpus;
  schedule.streams = {{"s0"}, {"s1"}};
  schedule.operations = std::move(operations);
  return schedule;
}

Trace trace_of(const std::vector<Span>& spans) {
  Trace trace;
  trace.spans = spans;
  return trace;
}

Span span(const std::string& operation, int gpu, double start_us, double end_us) {
  return {operation, "delay", "s0", gpu, start_us, end_us, "", Limit::latency};
}

std::vector<std::pair<double, double>> times(const std::vector<Edge>& edges) {
  std::vector<std::pair<double, double>> times;
  for (const Edge& edge : edges) times.emplace_back(edge.from_us, edge.to_us);
  return times;
}

TEST(Edges, of_an_operation_leave_the_point_that_is_followed) {
  const Schedule schedule = two_streams({delay("first", 0), delay("behind", 1, {{0, Point::end, 0}}),
                                         delay("beside", 1, {{0, Point::first_cta_started, 0}})});
  const Trace trace = trace_of({span("first", 0, 1, 5), span("behind", 0, 6, 7), span("beside", 0, 8, 9)});
  const std::vector<Edge> edges = edges_of(schedule, trace);
  EXPECT_THAT(times(edges), ElementsAre(std::pair(5., 6.), std::pair(1., 8.)));
  EXPECT_EQ(edges[0].what, "end");
}

TEST(Edges, of_a_counter_go_from_the_gpu_that_signals_to_the_end_of_the_wait) {
  Schedule schedule =
      two_streams({{.name = "raise", .stream = 0, .after = {}, .work = Signal{.counter = 0, .place = 1}},
                   {.name = "hold", .stream = 1, .after = {}, .work = Wait{.counter = 0}}},
                  2);
  schedule.counters = {{"ready"}};
  const Trace trace =
      trace_of({span("raise", 0, 4, 4), span("hold", 0, 0, 9), span("raise", 1, 8, 8), span("hold", 1, 0, 5)});
  const std::vector<Edge> edges = edges_of(schedule, trace);
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_EQ(std::pair(edges[0].from, edges[0].to), std::pair(std::size_t{2}, std::size_t{1}));
  EXPECT_EQ(std::pair(edges[1].from, edges[1].to), std::pair(std::size_t{0}, std::size_t{3}));
  EXPECT_THAT(times(edges), ElementsAre(std::pair(8., 8.), std::pair(4., 4.)));
}

TEST(Edges, of_operations_that_a_trace_does_not_have_are_left_out) {
  const Schedule schedule = two_streams({delay("first", 0), delay("behind", 1, {{0, Point::end, 0}})});
  EXPECT_TRUE(edges_of(schedule, trace_of({span("behind", 0, 6, 7)})).empty());
}

}  // namespace perfetto_test
}  // namespace weft
