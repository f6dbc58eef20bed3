#include "models/execution/trace_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/models/error_of.hpp"

namespace weft {
namespace {

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

nlohmann::json perfetto(const std::vector<Trace>& traces) {
  std::ostringstream out;
  write_perfetto(traces, out);
  return nlohmann::json::parse(out.str());
}

std::map<int, std::string> process_names(const nlohmann::json& picture) {
  std::map<int, std::string> names;
  for (const auto& event : picture["traceEvents"])
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
  return names;
}

TEST(Perfetto, processes_are_sources_and_gpus_with_the_sources_of_one_gpu_side_by_side) {
  EXPECT_EQ(process_names(perfetto({two_gpus("predicted"), two_gpus("measured")})),
            (std::map<int, std::string>{
                {1, "predicted GPU 0"}, {2, "measured GPU 0"}, {3, "predicted GPU 1"}, {4, "measured GPU 1"}}));
}

TEST(Perfetto, a_span_has_its_time_in_microseconds_and_says_what_limits_it) {
  const auto picture = perfetto({two_gpus("predicted")});
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
  const auto picture = perfetto({two_gpus("predicted")});
  for (const auto& event : picture["traceEvents"]) names += event["name"] == "thread_name";
  EXPECT_EQ(names, 2 * 2);
}

TEST(Perfetto, no_traces_are_an_empty_picture) { EXPECT_TRUE(perfetto({})["traceEvents"].empty()); }

TEST(TraceJson, a_trace_survives_a_file) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "weft_trace.json";
  write_trace(path, two_gpus("measured"));
  EXPECT_EQ(to_json(read_trace(path)), to_json(two_gpus("measured")));
  EXPECT_EQ(read_trace(path).spans.size(), 4u);
  std::filesystem::remove(path);
}

TEST(TraceJson, a_span_that_ends_before_it_starts_is_refused) {
  auto json = to_json(two_gpus("measured"));
  json["spans"][2]["end_us"] = 1;
  EXPECT_EQ(error_of([&] { trace_from_json(json); }),
            "spans[2].end_us: expected a number from 1.25 to 10000000000000.0, got 1");
}

TEST(TraceJson, numbers_that_no_server_has_are_refused) {
  const auto error_with = [](const char* key, const nlohmann::json& value) {
    auto json = to_json(two_gpus("measured"));
    json["spans"][2][key] = value;
    return error_of([&] { trace_from_json(json); });
  };
  EXPECT_EQ(error_with("gpu", 2147483647), "spans[2].gpu: expected an integer from 0 to 65535, got 2147483647");
  EXPECT_NE(error_with("end_us", 1e308), "");
  EXPECT_NE(error_with("start_us", -1e308), "");
}

TEST(TraceJson, a_schedule_is_no_trace) {
  EXPECT_EQ(error_of([] {
              trace_from_json({{"format", "weft.schedule/1"}});
            }),
            "format: expected \"weft.trace/1\", got \"weft.schedule/1\"");
}

}  // namespace
}  // namespace weft
