#include "scenarios/family_rules.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/case_json.hpp"
#include "scenarios/search.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace family_rules_test {

TEST(FamilyRules, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (const FamilyRules* rules : all_families()) EXPECT_TRUE(names.insert(rules->name).second) << rules->name;
}

TEST(FamilyRules, AreThoseOfTheStruct) {
  EXPECT_EQ(&rules_of(Serial{}), &Serial::rules);
  EXPECT_EQ(&rules_of(Hybrid{}), &Hybrid::rules);
  EXPECT_EQ(rules_of(TokenSplit{}).name, "token_split");
}

/// One workload of each kind that has schedules which overlap.
std::vector<Workload> workloads() {
  std::vector<Workload> all{
      ConcurrentPair{512, 512, 512, 1 << 20}, AttentionWorkload{4096, 8, 8, 64},
      LayerWorkload{.tokens = 512, .hidden = 512, .heads = 8, .kv_heads = 8, .head_dim = 64, .intermediate = 1024}};
  for (const auto& [op, name] : NamesOf<PairOp>::names) all.emplace_back(PairWorkload{op, 512, 512, 512});
  return all;
}

TEST(FamilyRules, CandidatesAreReadAsTheyAreWritten) {
  for (const Workload& workload : workloads())
    for (const Case& request : candidates(workload, 4, {.hybrids = true})) {
      const Case read = case_from_json(to_json(request));
      EXPECT_EQ(read, request) << request.id;
      EXPECT_EQ(describe(read.schedule), request.id);
    }
}

TEST(FamilyRules, OpenChoicesHaveValues) {
  for (const Workload& workload : workloads())
    for (const Case& request : candidates(workload, 4)) {
      const FamilyRules& rules = rules_of(request.schedule.family);
      if (!rules.is_open(request.schedule.family)) continue;
      const std::vector<Family> found = rules.searched(request, round_machine());
      ASSERT_FALSE(found.empty()) << request.id;
      for (const Family& family : found) EXPECT_FALSE(rules_of(family).is_open(family)) << request.id;
    }
}

}  // namespace family_rules_test
}  // namespace weft::scenarios
