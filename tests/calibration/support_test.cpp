#include "calibration/support.hpp"

#include <gtest/gtest.h>

namespace weft::calibration {
namespace {

Buffer matrix(std::int64_t rows, std::int64_t columns) {
  Buffer buffer;
  buffer.name = "x";
  buffer.rows = rows, buffer.columns = columns;
  return buffer;
}
Slice whole(BufferId buffer) { return {buffer, 0, RowRange{0, 64}, 0, 64}; }

/// One operation on three matrices of 64 x 64.
Schedule schedule_of(Work work) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.buffers = {matrix(64, 64), matrix(64, 64), matrix(64, 64)};
  schedule.streams = {{"s0", 0}};
  schedule.operations = {{"only", 0, {}, std::move(work)}};
  return schedule;
}
Gemm gemm() {
  Gemm work;
  work.a = whole(0), work.b = whole(1), work.c = whole(2);
  return work;
}
Collective all_to_all(BufferId input, BufferId output) {
  Collective work;
  work.kind = CollectiveKind::all_to_all;
  work.input = whole(input), work.output = whole(output);
  return work;
}
std::string refusal(const Schedule& schedule) {
  const auto error = why_not_runnable(schedule);
  return error ? error->what() : "";
}

TEST(Support, RunsLibraryGemmsAndNcclCollectives) {
  EXPECT_EQ(refusal(schedule_of(gemm())), "");
  EXPECT_EQ(refusal(schedule_of(all_to_all(0, 1))), "");
}

TEST(Support, NamesTheOperationAndTheReason) {
  Gemm own_kernel = gemm();
  own_kernel.kernel = GemmKernel{};
  EXPECT_EQ(
      refusal(schedule_of(own_kernel)),
      "operations[0] \"only\": expected what the hardware executor supports, got a GEMM with a kernel of its own");
}

TEST(Support, RefusesToFollowAnythingButTheEndOfAnOperation) {
  Schedule schedule = schedule_of(gemm());
  schedule.operations.push_back({"second", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_NE(refusal(schedule).find("following all_ctas_started"), std::string::npos);
}

TEST(Support, RefusesSlicesOnOtherRanks) {
  Copy pull{whole(0), whole(1), CopyPath::copy_engine};
  pull.source.place = 1;
  EXPECT_NE(refusal(schedule_of(pull)).find("another rank"), std::string::npos);
}

TEST(Support, RefusesAllToAllInPlace) {
  EXPECT_NE(refusal(schedule_of(all_to_all(0, 0))).find("in place"), std::string::npos);
}

TEST(Support, RefusesOtherTransports) {
  Collective pulls = all_to_all(0, 1);
  pulls.transport = Transport::pull;
  EXPECT_NE(refusal(schedule_of(pulls)).find("transport pull"), std::string::npos);
}

TEST(Support, RefusesWhatNeedsSymmetricMemory) {
  EXPECT_FALSE(is_runnable(schedule_of(Barrier{})));
  EXPECT_FALSE(is_runnable(schedule_of(Signal{})));
  EXPECT_FALSE(is_runnable(schedule_of(Wait{})));
}

TEST(Support, RefusesAGemmThatIsNotBf16) {
  Schedule schedule = schedule_of(gemm());
  schedule.buffers[0].dtype = DataType::fp8;
  EXPECT_NE(refusal(schedule).find("dtype fp8"), std::string::npos);
}

TEST(Support, RefusesAnEmptySchedule) {
  Schedule schedule = schedule_of(gemm());
  schedule.operations.clear();
  EXPECT_FALSE(is_runnable(schedule));
}

}  // namespace
}  // namespace weft::calibration
