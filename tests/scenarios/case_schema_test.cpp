// docs/schema/case.schema.json is what the descriptions of cases and families say. After a change of those, read the
// new one and keep it:
//
//   WEFT_REWRITE_GOLDEN=1 build/release/bin/weft_scenarios_tests --gtest_filter='CaseSchema*'
#include "scenarios/case_schema.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/source_folder.hpp"

namespace weft::scenarios {
namespace case_schema_test {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(CaseSchema, IsThatOfThePages) {
  const std::string path = tests::source_folder() + "/docs/schema/case.schema.json";
  const std::string schema = case_schema().dump(2) + '\n';
  if (std::getenv("WEFT_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << schema;
  EXPECT_EQ(text_of(path), schema);
}

}  // namespace case_schema_test
}  // namespace weft::scenarios
