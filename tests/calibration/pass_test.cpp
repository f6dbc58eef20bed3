// The supervisor of rank processes, with a device part that gets into trouble.
#include "calibration/pass.hpp"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "calibration/gemm_choices.hpp"

namespace weft::calibration {
namespace pass_test {

using testing::HasSubstr;

Schedule schedule_named(const std::string& name, int gpus) {
  Schedule schedule;
  schedule.name = name;
  schedule.gpus = gpus;
  schedule.streams = {{.name = "main"}};
  schedule.operations.push_back({.name = "pause", .stream = 0, .after = {}, .work = Delay{.time_us = 1}});
  return schedule;
}

bool has_no_children() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

/// Four schedules on two ranks of a fake device part.
class FakeDevice : public testing::Test {
 protected:
  FakeDevice() {
    setenv("WEFT_DEVICE_PART", WEFT_FAKE_DEVICE_PART, 1);
    for (const char* name : {"first", "second", "third", "fourth"}) schedules_.push_back(schedule_named(name, 2));
    options_.time_limit_s = options_.start_up_limit_s = 60;
  }
  ~FakeDevice() override {
    unsetenv("WEFT_DEVICE_PART");
    unsetenv("WEFT_FAKE_DEVICE");
  }

  /// What ends a run in that trouble; "no error" where nothing does.
  std::string end_of(const std::string& trouble, bool may_leave_children = false) {
    setenv("WEFT_FAKE_DEVICE", trouble.c_str(), 1);
    results_.clear(), errors_.clear(), conditions_.clear();
    std::string end = "no error";
    try {
      measure(schedules_, options_,
              {.on_conditions = [this](const Conditions& conditions) { conditions_.push_back(conditions); },
               .on_result = [this](std::size_t index, const Measurement& one) { results_[index] = one; },
               .on_error = [this](std::size_t index, const std::string& error) { errors_[index] = error; }});
    } catch (const ExecutionError& error) {
      end = error.what();
    }
    EXPECT_TRUE(may_leave_children || has_no_children()) << trouble;
    return end;
  }

  std::vector<Schedule> schedules_;
  RunOptions options_;
  std::map<std::size_t, Measurement> results_;
  std::map<std::size_t, std::string> errors_;
  std::vector<Conditions> conditions_;
};

TEST_F(FakeDevice, AnswersEachScheduleWithItsOwnTime) {
  EXPECT_EQ(end_of(""), "no error");
  ASSERT_EQ(results_.size(), 4u);
  EXPECT_EQ(conditions_.size(), 1);
  const auto times = results_;
  std::swap(schedules_.front(), schedules_.back());
  EXPECT_EQ(end_of(""), "no error");
  EXPECT_NE(times.at(0).time_us, times.at(3).time_us);
  EXPECT_EQ(results_.at(0).time_us, times.at(3).time_us);
  EXPECT_EQ(results_.at(3).time_us, times.at(0).time_us);
}

// CUDA reads them when it starts, so that schedules with others run in other processes.
TEST_F(FakeDevice, HasTheConnectionsOfItsSchedules) {
  schedules_[1].max_connections = schedules_[2].max_connections = 2;
  EXPECT_EQ(end_of(""), "no error");
  EXPECT_EQ(results_.size(), 4);
  ASSERT_EQ(conditions_.size(), 2);
  EXPECT_EQ(conditions_[0].environment, std::vector<std::string>{});
  EXPECT_EQ(conditions_[1].environment, std::vector<std::string>{"2"});
}

/// What is refused of a schedule before anything starts.
std::string refusal_of(const Schedule& schedule, bool may_share_gpus) {
  RunOptions options;
  options.may_share_gpus = may_share_gpus;
  try {
    measure({schedule}, options, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(FakeDevice, HasAGpuForEachRankUnlessTheyMayShare) {
  schedules_ = {schedule_named("six", 6)};
  EXPECT_EQ(refusal_of(schedules_.front(), false),
            "gpus: expected 1 to 4 (the GPUs visible here), got 6 in schedule \"six\"");
  options_.may_share_gpus = true;
  EXPECT_EQ(end_of(""), "no error");
  EXPECT_EQ(results_.size(), 1);
}

TEST_F(FakeDevice, IsNotSharedByRanksOfNccl) {
  Schedule schedule = schedule_named("six", 6);
  schedule.buffers.push_back({.name = "c", .rows = 6, .columns = 8});
  schedule.operations.push_back(
      {.name = "sum", .stream = 0, .after = {}, .work = Collective{.kind = CollectiveKind::all_reduce}});
  EXPECT_EQ(
      refusal_of(schedule, true),
      "gpus: expected 1 to 4 (the GPUs visible here, which NCCL's ranks cannot share), got 6 in schedule \"six\"");
}

TEST_F(FakeDevice, RecordsTheKernelsOfEveryRank) {
  options_.spans = true;
  EXPECT_EQ(end_of(""), "no error");
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    ASSERT_EQ(results_.at(i).kernels.size(), 2u);
    EXPECT_EQ(results_.at(i).kernels[1].gpu, 1);
    EXPECT_EQ(results_.at(i).kernels[1].launch.kernel, "kernel of " + schedules_[i].name);
  }
}

TEST_F(FakeDevice, ThatHangsIsEndedAtTheTimeLimitAndTheOthersGoOn) {
  options_.time_limit_s = 10;  // long enough for the schedules before it on a busy machine
  EXPECT_EQ(end_of("hang 1 2"), "no error");
  EXPECT_EQ(errors_, (std::map<std::size_t, std::string>{
                         {2,
                          "exceeded the time limit of 10 s: rank 0 was waiting for the other ranks after timing, "
                          "rank 1 was timing"}}));
  EXPECT_EQ(results_.size(), 3u);
  EXPECT_TRUE(results_.contains(3));
  EXPECT_EQ(conditions_.size(), 2u);  // of each set of processes
}

TEST_F(FakeDevice, ThatHangsOverAndOverEndsTheRun) {
  options_.time_limit_s = 2;
  EXPECT_THAT(end_of("hang_always"), HasSubstr("schedule \"third\": exceeded the time limit of 2 s"));
  EXPECT_EQ(errors_.size(), 2u);
  EXPECT_TRUE(results_.empty());
}

TEST_F(FakeDevice, ThatHangsInOneOfAMixMeasuresTheOthersInTurn) {
  options_.time_limit_s = 10;
  setenv("WEFT_FAKE_DEVICE", "hang 0 1", 1);
  measure_in_turn(schedules_, {{0, 1}, {2, 3}}, options_,
                  {.on_conditions = {},
                   .on_result = [this](std::size_t index, const Measurement& one) { results_[index] = one; },
                   .on_error = [this](std::size_t index, const std::string& error) { errors_[index] = error; }});
  EXPECT_EQ(results_.size(), 3u);
  EXPECT_TRUE(errors_.contains(1));
}

// With a limit of which the parent knows a multiple it would answer in time.
TEST_F(FakeDevice, ThatTakesEightTimesTheLimitIsEndedBefore) {
  options_.time_limit_s = 2;
  EXPECT_EQ(end_of("dawdle 0 0"), "no error");
  EXPECT_THAT(errors_[0], HasSubstr("exceeded the time limit of 2 s"));
}

TEST_F(FakeDevice, ThatDoesNotEndAfterItsWorkIsEnded) {
  options_.time_limit_s = options_.start_up_limit_s = 10;
  EXPECT_THAT(end_of("linger"), HasSubstr("rank 0 was finished, rank 1 was finished"));
  EXPECT_EQ(results_.size(), 4u);
}

TEST_F(FakeDevice, ThatASignalEndsIsNamedWithItsSchedule) {
  EXPECT_EQ(end_of("crash 1 2"), "no error");
  EXPECT_EQ(errors_,
            (std::map<std::size_t, std::string>{{2, "rank 1 was ended by signal 9 (Killed): rank 1 was timing"}}));
  EXPECT_EQ(results_.size(), 3u);
}

TEST_F(FakeDevice, ThatLeavesWithStatusZeroIsNoticedAtOnce) {
  EXPECT_EQ(end_of("leave 1 1"), "no error");
  EXPECT_EQ(errors_,
            (std::map<std::size_t, std::string>{{1, "rank 1 ended before its work was done: rank 1 was timing"}}));
}

TEST_F(FakeDevice, ThatForgetsAScheduleIsNoticed) {
  EXPECT_EQ(end_of("forget 0 1"), "the ranks ended without an answer about schedule \"second\"");
  EXPECT_EQ(results_.size(), 3u);
}

/// Whose parents have ended become children of this process.
class FakeDeviceThatForks : public FakeDevice {
 protected:
  FakeDeviceThatForks() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~FakeDeviceThatForks() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

TEST_F(FakeDeviceThatForks, TakesWhatItStartedAlong) {
  EXPECT_EQ(end_of("fork 0 1", true), "no error");
  EXPECT_EQ(results_.size(), 4u);
  int status = 0;
  waitpid(-1, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(FakeDeviceThatForks, IsNotWaitedForWhereAnotherProcessHasItsPipeOpen) {
  EXPECT_EQ(end_of("daemon 0 1", true), "no error");
  EXPECT_EQ(results_.size(), 4u);
  pid_t other = 0;
  std::ifstream("/proc/self/task/" + std::to_string(getpid()) + "/children") >> other;
  ASSERT_NE(other, 0);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "it ended first";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

TEST_F(FakeDevice, MayGiveAReasonThatIsNoUtf8) {
  EXPECT_EQ(end_of("fail 1 0"), "no error");
  EXPECT_EQ(errors_[0], "rank 1, timing: no \xef\xbf\xbd memory\n");
}

TEST_F(FakeDevice, ThatAnswersBeyondTheListIsRefused) {
  EXPECT_THAT(end_of("mislabel 0 0"),
              HasSubstr("rank 0 sent a line that no device part of this weft writes: index: expected"));
}

TEST_F(FakeDevice, ThatAnswersTwiceIsRefused) {
  EXPECT_THAT(end_of("repeat 0 1"), HasSubstr("rank 0 answered about schedule \"first\", which nobody asked, or more"));
}

TEST_F(FakeDevice, ThatSendsWhatIsNoMessageIsRefused) {
  EXPECT_THAT(end_of("babble 0 0"), HasSubstr("rank 0 sent a line that no device part of this weft writes: expected"));
}

TEST_F(FakeDevice, ThatTellsOfAScheduleBeyondTheListIsNotFollowed) {
  options_.time_limit_s = 0.3;
  EXPECT_THAT(end_of("lose 0 0"), HasSubstr("exceeded the time limit of 0.3 s"));
}

TEST_F(FakeDevice, WhoseProfilerDropsRecordsSaysSoOfThatScheduleOnly) {
  options_.spans = true;
  EXPECT_EQ(end_of("drop 0 1"), "no error");
  EXPECT_EQ(errors_, (std::map<std::size_t, std::string>{{1, "CUPTI dropped 3 records"}}));
  EXPECT_TRUE(results_.at(1).kernels.empty());
  EXPECT_EQ(results_.at(2).kernels.size(), 2u);
}

TEST_F(FakeDevice, ThatHangsWhileItCountsGpusIsEnded) {
  setenv("WEFT_FAKE_DEVICE", "hang_counting", 1);
  try {
    visible_gpus(0.3);
    FAIL() << "expected an ExecutionError";
  } catch (const ExecutionError& error) {
    EXPECT_STREQ(error.what(), "the process that counts GPUs said nothing for 0.3 s");
  }
}

TEST_F(FakeDevice, ThatLeavesWhileItCountsGpusIsNotTakenForNone) {
  EXPECT_EQ(visible_gpus(), 4);
  EXPECT_EQ(end_of("leave_counting"), "the process that counts GPUs ended without an answer");
}

class FakeLibrary : public FakeDevice {
 protected:
  static std::string end_of_asking(const std::string& trouble, double limit_s) {
    setenv("WEFT_FAKE_DEVICE", trouble.c_str(), 1);
    try {
      return std::to_string(
          ask_library({{16, 512, 512}, {32, 512, 512}, {64, 512, 512}}, DataType::bf16, limit_s).size());
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }
};

TEST_F(FakeLibrary, AnswersAllQuestionsInTheirOrder) { EXPECT_EQ(end_of_asking("", 60), "3"); }

TEST_F(FakeLibrary, ThatHangsIsEnded) {
  EXPECT_EQ(end_of_asking("hang_asking 0 1", 0.3), "the process that asks cuBLASLt said nothing for 0.3 s");
}

TEST_F(FakeLibrary, ThatLeavesQuestionsOutIsNoticed) {
  EXPECT_EQ(end_of_asking("leave_asking 0 1", 60), "the process that asks cuBLASLt answered 1 of 3 questions");
}

TEST(RunOptions, LetRanksWaitLongerThanTheirParent) {
  for (const double time_limit_s : {1.0, 600.0, 3600.0}) {
    RunOptions options;
    options.time_limit_s = time_limit_s;
    EXPECT_GT(options.rank_limit_s(), options.longest_limit_s());
    EXPECT_GE(options.longest_limit_s(), time_limit_s);
    EXPECT_GE(options.longest_limit_s(), options.start_up_limit_s);
  }
}

}  // namespace pass_test
}  // namespace weft::calibration
