// What weft explore advises rests on numbers that somebody measured or published: over all shipped profiles, of four
// patterns and a model's layers, on 2, 4 and 8 GPUs, small and large.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "scenarios/library/open_profile.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/verdict.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::scenarios::study {
namespace advised_grade_test {

using Questions = std::set<std::string>;

/// What is advised all the same on assumed numbers, since nobody has published better ones. An entry that is no longer
/// needed fails.
const std::map<std::string, Questions> exceptions{
    // No rate of send and receive or of copies over PCIe between pairs was posted.
    {"a800x8-nvlink-pairs", {"gemm+all_to_all 256 on 4", "gemm+all_to_all 8192 on 4"}},
    // Small GEMMs, gaps between kernels, and collectives of a few MiB other than the all-reduce of 8 GPUs.
    {"mi300x8-mesh",
     {"gemm+reduce_scatter 256 on 2", "gemm+all_to_all 256 on 2", "gemm+all_reduce 256 on 4",
      "gemm+reduce_scatter 256 on 4", "gemm+all_to_all 256 on 4", "gemm+all_reduce 256 on 8",
      "gemm+reduce_scatter 256 on 8", "all_gather+gemm 256 on 8", "gemm+all_to_all 256 on 8", "layer 512 on 8"}},
    // No all-reduce and no all-gather of 8 GPUs was posted.
    {"l40sx8-pcie", {"gemm+all_reduce 256 on 8", "all_gather+gemm 8192 on 8"}},
    // No collective of 2 GPUs was posted, no all-to-all, and of 8 the all-reduce alone; and nothing else reaches peers.
    {"rtx4090x8-pcie",
     {"all_gather+gemm 256 on 2", "all_gather+gemm 256 on 8", "all_gather+gemm 8192 on 2", "all_gather+gemm 8192 on 8",
      "gemm+all_reduce 256 on 2", "gemm+all_reduce 8192 on 2", "gemm+all_to_all 256 on 2", "gemm+all_to_all 256 on 4",
      "gemm+all_to_all 256 on 8", "gemm+all_to_all 8192 on 2", "gemm+all_to_all 8192 on 4", "gemm+all_to_all 8192 on 8",
      "gemm+reduce_scatter 256 on 2", "gemm+reduce_scatter 256 on 8", "gemm+reduce_scatter 8192 on 2",
      "gemm+reduce_scatter 8192 on 8", "layer 512 on 2", "layer 8192 on 2"}},
    // No collective below 64 MiB was posted, no all-to-all, and no gap between kernels.
    {"mi355x8-mesh",
     {"gemm+all_reduce 256 on 2", "gemm+reduce_scatter 256 on 2", "gemm+all_to_all 256 on 2", "layer 512 on 2",
      "gemm+all_reduce 256 on 4", "gemm+reduce_scatter 256 on 4", "all_gather+gemm 256 on 4",
      "gemm+all_to_all 256 on 4", "layer 512 on 4", "gemm+all_reduce 256 on 8", "gemm+reduce_scatter 256 on 8",
      "all_gather+gemm 256 on 8", "gemm+all_to_all 256 on 8", "layer 512 on 8", "layer 8192 on 8"}},
    // No table of the library's collectives was found, nor what its norms reach.
    {"ascend910b8-mesh", {"gemm+all_reduce 256 on 4", "layer 512 on 4", "gemm+all_reduce 256 on 8", "layer 512 on 8"}},
};

Evidence evidence(const std::string& profile, const std::string& question, const QuestionOptions& asked) {
  const library::OpenProfile opened(profile);
  const Scenario scenario = as_machine_computes(read_question(question, asked), opened.machine);
  const Exploration exploration = explore(scenario, opened.machine, tests::simulator(),
                                          {.least_schedules = worth_looking_at(scenario), .grades = opened.grades});
  return evidence_of_advice(exploration, scenario, opened.machine, opened.grades);
}

class AdvisedGrade : public testing::TestWithParam<std::string> {};

TEST_P(AdvisedGrade, IsBetterThanAssumedButForWhatNobodyPublished) {
  const std::string layer =
      std::filesystem::path(tests::source_folder()) / "scenarios/models/llama-3.3-70b.config.json";
  const std::map<std::string, std::string> pairs{{"gemm+all_reduce", " n=8192 k=3584"},
                                                 {"gemm+reduce_scatter", " n=8192 k=3584"},
                                                 {"all_gather+gemm", " n=3584 k=8192"},
                                                 {"gemm+all_to_all", " n=8192 k=3584"}};
  Questions assumed;
  const auto look = [&](const std::string& name, const std::string& question, const QuestionOptions& asked) {
    const Evidence found = evidence(GetParam(), question, asked);
    EXPECT_EQ(found.grade == Grade::assumed, !found.assumed.empty()) << name;
    if (found.grade == Grade::assumed) assumed.insert(name + " on " + std::to_string(*asked.gpus));
  };
  for (const int gpus : {2, 4, 8}) {
    for (const auto& [op, size] : pairs)
      for (const std::string m : {"256", "8192"})
        look(op + " " + m, "op=" + op + " m=" + m + size, {.gpus = gpus, .sizes = {}});
    for (const std::int64_t tokens : {512, 8192})
      look("layer " + std::to_string(tokens), layer, {.gpus = gpus, .sizes = {tokens}});
  }
  const auto excepted = exceptions.find(GetParam());
  EXPECT_EQ(assumed, excepted == exceptions.end() ? Questions{} : excepted->second);
}

INSTANTIATE_TEST_SUITE_P(Shipped, AdvisedGrade, tests::shipped_profiles, tests::name_of_profile);

}  // namespace advised_grade_test
}  // namespace weft::scenarios::study
