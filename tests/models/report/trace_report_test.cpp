#include "models/report/trace_report.hpp"

#include <gmock/gmock.h>

#include "models/report/writers.hpp"

namespace weft::report {
namespace trace_report_test {

Trace trace(const std::string& source, double end_us) {
  Trace made;
  made.source = source;
  made.time_us = end_us;
  made.spans = {{.operation = "gemm", .kind = "gemm", .stream = "s", .gpu = 0, .end_us = end_us, .detail = "64 tiles"},
                {.operation = "gemm", .kind = "gemm", .stream = "s", .gpu = 1, .end_us = end_us, .detail = ""}};
  return made;
}

TEST(TraceReport, HasTheSpansOfGpu0AndOfPredictionsWhatLimitsThem) {
  EXPECT_EQ(written(trace_report(trace("predicted", 10)), "csv"),
            "operation,stream,start us,end us,us,limit,detail\ngemm,s,0.0,10.0,10.0,compute,64 tiles\n");
  EXPECT_EQ(written(trace_report(trace("measured", 10)), "csv"),
            "operation,stream,start us,end us,us,detail\ngemm,s,0.0,10.0,10.0,64 tiles\n");
}

TEST(TraceReport, ComparesOperationsAndTheWholeIteration) {
  const Report report = comparison_report(compare(trace("predicted", 11), trace("measured", 10)));
  const std::string text = written(report, "csv");
  EXPECT_THAT(text, testing::HasSubstr("\ngemm,gemm,2,11.0,10.0,+10.0,"));
  EXPECT_THAT(text, testing::HasSubstr("\niteration,,,11.0,10.0,+10.0,"));
  EXPECT_TRUE(report.sections.at(0).notes.empty());
}

TEST(TraceReport, CallsTheTwoRunsAsItIsTold) {
  const TraceComparison comparison = compare(trace("predicted", 11), trace("predicted", 10));
  EXPECT_THAT(written(comparison_report(comparison, {"first", "second", "difference"}), "csv"),
              testing::StartsWith("operation,kind,GPUs,first us,second us,difference,"));
  EXPECT_THAT(written(comparison_report(comparison), "csv"),
              testing::StartsWith("operation,kind,GPUs,predicted us,measured us,error,"));
}

}  // namespace trace_report_test
}  // namespace weft::report
