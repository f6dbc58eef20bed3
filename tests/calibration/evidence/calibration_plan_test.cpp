#include "calibration/evidence/calibration_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "calibration/evidence/held_out_model.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/parts.hpp"
#include "tests/models/error_of.hpp"

namespace weft::calibration::evidence {
namespace calibration_plan_test {

using scenarios::Case;
using scenarios::Collectives;
using scenarios::CollectiveWorkload;
using scenarios::Decomposition;
using scenarios::GemmWorkload;

constexpr std::uint64_t seed = 1;
const std::vector<int> gpu_counts{1, 2, 4, 8};

const std::vector<PlanFile>& plan() {
  static const std::vector<PlanFile> files = calibration_plan(seed, gpu_counts);
  return files;
}

const std::vector<Case>& cases_of(const std::string& name) {
  return std::find_if(plan().begin(), plan().end(), [&](const PlanFile& file) { return file.name == name; })->cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const PlanFile& file : plan()) cases.insert(cases.end(), file.cases.begin(), file.cases.end());
  return cases;
}

template <class Kind>
bool is(const Case& one) {
  return std::holds_alternative<Kind>(one.workload);
}

TEST(CalibrationPlan, HasAFileForEachKindOnEachNumberOfGpus) {
  std::vector<std::string> names;
  for (const PlanFile& file : plan()) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"gemm",
                                             "own_gemm",
                                             "layer_kernels",  //
                                             "collectives_2gpu",
                                             "windows_2gpu",
                                             "peers_2gpu",
                                             "norms_2gpu",
                                             "signals_2gpu",  //
                                             "pairs_2gpu",
                                             "copies_2gpu",  //
                                             "collectives_4gpu",
                                             "windows_4gpu",
                                             "peers_4gpu",
                                             "norms_4gpu",
                                             "signals_4gpu",  //
                                             "pairs_4gpu",
                                             "copies_4gpu",  //
                                             "collectives_8gpu",
                                             "windows_8gpu",
                                             "peers_8gpu",
                                             "norms_8gpu",
                                             "signals_8gpu",  //
                                             "pairs_8gpu",
                                             "copies_8gpu"}));
}

TEST(CalibrationPlan, IsTheSameForTheSameSeed) {
  const std::vector<PlanFile> again = calibration_plan(seed, gpu_counts),
                              other = calibration_plan(seed + 1, gpu_counts);
  for (std::size_t i = 0; i < plan().size(); ++i) {
    EXPECT_EQ(again[i].cases, plan()[i].cases) << plan()[i].name;
    EXPECT_NE(other[i].cases, plan()[i].cases) << plan()[i].name;
  }
}

TEST(CalibrationPlan, OfOneNumberOfGpusDoesNotDependOnTheOthers) {
  const std::vector<PlanFile> alone = calibration_plan(seed, {4});
  for (const PlanFile& file : alone) EXPECT_EQ(file.cases, cases_of(file.name)) << file.name;
}

// Calibration on H200s took 66 to 93 s of measuring for 1000 such cases.
TEST(CalibrationPlan, IsMeasuredInUnderTenMinutes) {
  EXPECT_LE(all_cases().size(), 600 / 0.093);
  EXPECT_GE(all_cases().size(), 4000u);
}

TEST(CalibrationPlan, AsksEachCaseOnceUnderItsOwnId) {
  for (const PlanFile& file : plan()) {
    std::set<std::string> ids, texts;
    for (Case one : file.cases) {
      EXPECT_TRUE(ids.insert(one.id).second) << file.name << " " << one.id;
      one.id.clear();
      EXPECT_TRUE(texts.insert(describe(one.workload) + describe(one.schedule)).second) << file.name;
    }
  }
}

TEST(CalibrationPlan, HasNoShapeOfTheHeldOutModel) {
  for (const Case& one : all_cases()) {
    const auto parts = parts_of(one.workload);
    if (!parts && !is<GemmWorkload>(one)) continue;
    const GemmWorkload gemm = parts ? parts->gemm : std::get<GemmWorkload>(one.workload);
    EXPECT_FALSE(is_held_out({gemm.n, gemm.k})) << one.id;
  }
  for (const auto& [m, n, k] : library_questions(seed, plan())) EXPECT_FALSE(is_held_out({n, k})) << m;
}

TEST(CalibrationPlan, CoversTheRegionWithEvenAndOddGemms) {
  const std::vector<Case>& cases = cases_of("gemm");
  std::int64_t least_m = 1 << 20, most_m = 0, least_n = 1 << 20, most_n = 0;
  int odd_rows = 0, odd_widths = 0;
  for (const Case& one : cases) {
    const GemmWorkload& gemm = std::get<GemmWorkload>(one.workload);
    least_m = std::min(least_m, gemm.m), most_m = std::max(most_m, gemm.m);
    least_n = std::min(least_n, gemm.n), most_n = std::max(most_n, gemm.n);
    EXPECT_EQ(gemm.n % 8 + gemm.k % 8, 0) << one.id;
    odd_rows += gemm.m % 8 != 0 ? 1 : 0;
    odd_widths += gemm.n % 64 != 0 || gemm.k % 64 != 0 ? 1 : 0;
  }
  EXPECT_LE(least_m, 2);
  EXPECT_GE(most_m, 30000);
  EXPECT_LE(least_n, 576);
  EXPECT_GE(most_n, 30000);
  EXPECT_GE(odd_rows, 400);
  EXPECT_GE(odd_widths, 100);
  EXPECT_LE(odd_widths, 300);
}

class PlannedOn : public testing::TestWithParam<int> {
 protected:
  const std::vector<Case>& cases(const std::string& kind) const {
    return cases_of(kind + "_" + std::to_string(GetParam()) + "gpu");
  }
};
INSTANTIATE_TEST_SUITE_P(, PlannedOn, testing::Values(2, 4, 8));

TEST_P(PlannedOn, CollectivesCoverEveryOctaveWithEveryLimit) {
  std::map<std::tuple<CollectiveKind, int, int>, int> found;
  for (const Case& one : cases("collectives"))
    if (const auto* collective = std::get_if<CollectiveWorkload>(&one.workload)) {
      int octave = -1;
      for (Bytes low = 32 << 10; low <= collective->bytes; low *= 2) ++octave;
      ++found[{collective->kind, one.schedule.max_ctas, octave}];
    }
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    for (const int max_ctas : {0, 1, 2, 4, 8, 16, 32})
      for (int octave = 0; octave < 15; ++octave)
        EXPECT_GE((found[{kind, max_ctas, octave}]), 1) << name << " " << max_ctas << " " << octave;
}

TEST_P(PlannedOn, WhatIsDoneOnWindowsIsWhatNcclHasThere) {
  std::map<std::pair<Collectives, int>, std::set<CollectiveKind>> found;
  for (const Case& one : cases("windows"))
    if (const auto* collective = std::get_if<CollectiveWorkload>(&one.workload))
      found[{one.schedule.collectives, one.schedule.max_ctas}].insert(collective->kind);
  using enum CollectiveKind;
  for (const int max_ctas : {0, 4, 8, 16})
    EXPECT_EQ((found[{Collectives::nccl_symmetric, max_ctas}]),
              (std::set<CollectiveKind>{all_reduce, all_gather, reduce_scatter}));
  EXPECT_EQ((found[{Collectives::nccl_copy_engine, 0}]), (std::set<CollectiveKind>{all_gather, all_to_all}));
  EXPECT_EQ(found.size(), 5u);
}

TEST_P(PlannedOn, AGemmStandsBeforeEveryThreeCollectives) {
  for (const std::string kind : {"collectives", "windows"}) {
    int since_gemm = 3;
    for (const Case& one : cases(kind)) {
      since_gemm = is<GemmWorkload>(one) ? 0 : since_gemm + 1;
      EXPECT_LE(since_gemm, 3) << one.id;
    }
  }
}

TEST_P(PlannedOn, EveryPairHasItsPartsAloneBeforeIt) {
  for (const std::string kind : {"pairs", "copies"}) {
    std::set<std::string> alone;
    int pairs = 0;
    for (const Case& one : cases(kind)) {
      const auto parts = parts_of(one.workload);
      if (!parts) {
        alone.insert(describe(one.workload) + " " + std::to_string(one.schedule.max_ctas));
        continue;
      }
      ++pairs;
      EXPECT_EQ(alone.count(describe(parts->gemm) + " 0"), 1u) << one.id;
      EXPECT_EQ(alone.count(describe(parts->collective) + " " + std::to_string(one.schedule.max_ctas)), 1u) << one.id;
      const auto* decomposition = std::get_if<Decomposition>(&one.schedule.family);
      if (decomposition == nullptr) continue;
      GemmWorkload chunk = parts->gemm;
      chunk.m /= decomposition->chunks;
      EXPECT_EQ(alone.count(describe(chunk) + " 0"), 1u) << one.id;
    }
    EXPECT_GE(pairs, 80) << kind;
  }
}

TEST(CalibrationPlan, RefusesOtherNumbersOfGpus) {
  EXPECT_EQ(error_of([] { calibration_plan(seed, {2, 3}); }), "gpus: expected 1, 2, 4 or 8, got 3");
  EXPECT_EQ(error_of([] { calibration_plan(seed, {2, 2}); }), "gpus: expected each number once, got 2 twice");
}

TEST(LibraryQuestions, AreTheGemmsOfThePlanAndOthersAroundThem) {
  const std::vector<MatrixSize> questions = library_questions(seed, plan());
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> known;
  for (const auto& [m, n, k] : questions) known.insert({m, n, k});
  EXPECT_EQ(known.size(), questions.size());
  EXPECT_GE(known.size(), 150'000u);
  for (const std::int64_t k : {512, 4096, 16384}) EXPECT_EQ(known.count({1984, 384, k}), 1u);
  for (const Case& one : all_cases()) {
    const auto* gemm = std::get_if<GemmWorkload>(&one.workload);
    if (gemm == nullptr) continue;
    EXPECT_EQ(known.count({gemm->m, gemm->n, gemm->k}), 1u) << one.id;
  }
}

TEST(HeldOutModel, HasTheGemmsOfItsLayer) {
  EXPECT_EQ(held_out_gemms(1).qkv, (MatrixWidths{10240, 8192}));
  EXPECT_EQ(held_out_gemms(8).down, (MatrixWidths{8192, 3584}));
  EXPECT_TRUE(is_held_out({8192, 3584}));
  EXPECT_TRUE(is_held_out({14336, 8192}));
  EXPECT_FALSE(is_held_out({8192, 8192 + 64}));
}

TEST(HeldOutModel, IsKnownByItsMatricesOnAnyNumberOfGpus) {
  for (const int gpus : {1, 2, 4, 8}) {
    const LayerGemms gemms = held_out_gemms(gpus);
    for (const MatrixWidths& widths : {gemms.qkv, gemms.attention_out, gemms.gate_and_up, gemms.down})
      EXPECT_TRUE(is_held_out(widths)) << gpus;
  }
  EXPECT_FALSE(is_held_out({4096, 4096}));
}

}  // namespace calibration_plan_test
}  // namespace weft::calibration::evidence
