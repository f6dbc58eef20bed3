#include "models/execution/trace_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"

namespace weft {
namespace trace_json_test {

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

}  // namespace trace_json_test
}  // namespace weft
