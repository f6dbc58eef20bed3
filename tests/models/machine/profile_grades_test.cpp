#include "models/machine/profile_grades.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"

namespace weft {
namespace profile_grades_test {

using nlohmann::json;

TEST(ProfileGrades, ASourceSaysHowANumberIsKnown) {
  EXPECT_EQ(grade_of_source("measured 2026-11-21: copies"), Grade::measured);
  EXPECT_EQ(grade_of_source("h200x8-nvswitch: measured 2026-11-21: copies"), Grade::measured_alike);
  EXPECT_EQ(grade_of_source("assumption: as h200x8-nvswitch: measured 2026-11-21"), Grade::measured_alike);
  EXPECT_EQ(grade_of_source("assumption: as h200x8-nvswitch, the same GH100"), Grade::measured_alike);
  EXPECT_EQ(grade_of_source("assumption: as h100x8-nvswitch-nvls: repository: a table"), Grade::published);
  EXPECT_EQ(grade_of_source("assumption: as h100x8-nvswitch-nvls: twice of what a repository says"), Grade::assumed);
  EXPECT_EQ(grade_of_source("assumption: as h100x8-nvswitch-nvls"), Grade::assumed);
  EXPECT_EQ(grade_of_source("assumption: carried over from h200x8-nvswitch: measured"), Grade::assumed);
  EXPECT_EQ(grade_of_source("h200x8-nvswitch: derived, not measured: public curves"), Grade::assumed);
  EXPECT_EQ(grade_of_source("assumption"), Grade::assumed);
  EXPECT_EQ(grade_of_source("by a rule: A100's times 12 / 8; meets the published all-reduce within 8 %"),
            Grade::published);
  EXPECT_EQ(grade_of_source("by a rule: A100's times 12 / 8"), Grade::assumed);
  EXPECT_EQ(grade_of_source("datasheet: NVIDIA H200"), Grade::published);
  EXPECT_EQ(grade_of_source("repository: NVIDIA/nccl@5067397"), Grade::published);
}

json number(const char* source) { return {{"value", 1}, {"unit", "us"}, {"source", source}}; }

TEST(ProfileGrades, TheWeakestOfTheNumbersThatDecideCounts) {
  const json profile{
      {"gemm", {{"cooperative_efficiency", number("measured")}, {"pingpong_efficiency", number("paper")}}},
      {"copy_engines", {{"peer_bandwidth", number("measured")}, {"setup", number("assumption")}}}};
  const ProfileGrades grades = profile_grades(profile);
  EXPECT_EQ(grades.gemm, Grade::measured);
  EXPECT_EQ(grades.small_gemm, Grade::published);
  EXPECT_EQ(grades.copies, Grade::measured);
  EXPECT_EQ(grades.attention, Grade::assumed);  // nothing is known
}

TEST(ProfileGrades, CollectivesAreThoseOfTheirCurves) {
  const json profile{
      {"collectives", {{{"collective", "all_reduce"}, {"gpus", 2}, {"source", "measured"}, {"points", json::array()}}}},
      {"fabric", {{"link_bandwidth", number("datasheet")}, {"host", {{"numa_bandwidth", number("assumption")}}}}},
      {"collective_protocols",
       {{{"name", "ring"}, {"base", number("repository: x")}, {"efficiency", number("repository: x")}},
        {{"name", "ring"},
         {"hop", number("assumption")},
         {"efficiency", number("repository: x; meets y within 5 %")}}}}};
  const ProfileGrades grades = profile_grades(profile);
  EXPECT_EQ(grades.of(CollectiveKind::all_reduce, 2), Grade::measured);
  EXPECT_EQ(grades.of(CollectiveKind::all_reduce, 4), std::nullopt);
  ASSERT_EQ(grades.protocols.size(), 2u);
  EXPECT_EQ(grades.protocols[0].latency, Grade::published);
  EXPECT_EQ(grades.protocols[0].links, Grade::assumed);  // a law that was seen to meet nothing else
  EXPECT_EQ(grades.protocols[1].latency, Grade::assumed);
  EXPECT_EQ(grades.protocols[1].links, Grade::published);
  EXPECT_EQ(grades.of(LinkKind::peer), Grade::published);
  EXPECT_EQ(grades.of(LinkKind::numa), Grade::assumed);
}

TEST(ProfileGrades, TheFusedNormIsNoBetterThanItsAllReduceAndTheMemory) {
  json profile{{"fused_norm_kernel", {{"threads_per_cta", number("assumption")}, {"peer", number("assumption")}}},
               {"gpu", {{"hbm_bandwidth", number("measured")}}},
               {"other_kernels", {{"norm_share", number("measured")}}}};
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::assumed);
  profile["direct_collectives"] = {{"two_shot", {{"latency", number("measured")}}}};
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::assumed);
  profile["fused_norm_kernel"].erase("peer");
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::measured_alike);  // it was measured nowhere itself
  profile["direct_collectives"]["multimem"] = {{"latency", number("repository: x")}};
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::published);
  EXPECT_EQ(profile_grades(profile).multimem, Grade::published);
}

TEST(ProfileGrades, TheFusedNormIsMeasuredWhereItsNormAndItsAllReduceAre) {
  json profile{{"fused_norm_kernel", {{"norm_bandwidth", number("measured")}, {"peer", number("measured")}}},
               {"direct_collectives", {{"two_shot", {{"latency", number("assumption")}}}}}};
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::measured);
  profile["fused_norm_kernel"]["norm_bandwidth"] = number("assumption");
  EXPECT_EQ(profile_grades(profile).fused_norm, Grade::assumed);
}

TEST(ProfileGrades, OfShippedProfilesAreAsTheirOriginsSay) {
  const auto grades = [](const std::string& name) { return profile_grades(read_json_file(machine_path(name))); };
  EXPECT_EQ(grades("h200x8-nvswitch").gemm, Grade::measured);
  EXPECT_EQ(grades("h200x8-nvswitch").of(CollectiveKind::all_gather, 4), Grade::measured);
  EXPECT_EQ(grades("h100x8-nvswitch").of(CollectiveKind::all_gather, 4), Grade::measured_alike);
  EXPECT_EQ(grades("h200x8-nvswitch-nvls").of(CollectiveKind::all_reduce, 8), Grade::published);
  EXPECT_EQ(grades("a800x8-nvswitch").of(CollectiveKind::all_reduce, 8), Grade::published);
  EXPECT_EQ(grades("mi300x8-mesh").gemm, Grade::published);
  EXPECT_EQ(grades("mi300x8-mesh").small_gemm, Grade::assumed);
}

}  // namespace profile_grades_test
}  // namespace weft
