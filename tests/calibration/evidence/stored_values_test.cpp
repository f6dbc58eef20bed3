// Stored values are held to their signs, to their number, and to the reason that they were stored for.
#include "tests/calibration/evidence/stored_values.hpp"

#include <gmock/gmock.h>

namespace weft::tests {
namespace stored_values_test {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string reason = "copies of four GPUs start one after the other now";

StoredValues one_change() {
  StoredValues values;
  values.change({{"a.jsonl", "0123"}}, {{"error", {{"copy", -5.0}}}}, reason);
  return values;
}

TEST(StoredValues, ThatStayWhereTheyWereDoNotDiffer) {
  EXPECT_THAT(differences({{"copy", -5}, {"gemm", 2}}, {{"copy", -5.4}, {"gemm", 2.4}}, 0.5), IsEmpty());
}

TEST(StoredValues, ThatTurnTheirSignDiffer) {
  EXPECT_THAT(differences({{"copy", -5}}, {{"copy", 5}}, 3), ElementsAre("copy: 5.0 %, was -5.0 %"));
}

TEST(StoredValues, ThatGetBetterUnseenDifferToo) {
  EXPECT_THAT(differences({{"copy", -15}}, {{"copy", -5}}, 3), ElementsAre("copy: -5.0 %, was -15.0 %"));
}

TEST(StoredValues, ThatAreNoNumberDiffer) {
  EXPECT_EQ(differences({{"copy", -15}}, {{"copy", std::nan("")}}, 3).size(), 1u);
}

TEST(StoredValues, ThatAreGoneAreNamed) {
  EXPECT_THAT(differences({{"copy", -5}, {"gemm", 2}}, {{"copy", -5}}, 3), ElementsAre("gemm: is gone, was 2.0 %"));
}

TEST(StoredValues, ThatAreNewAreNamed) {
  EXPECT_THAT(differences({{"copy", -5}}, {{"copy", -5}, {"gemm", 2}}, 3), ElementsAre("gemm: is new, 2.0 %"));
}

TEST(StoredValues, AreGoodAsTheyWereStored) {
  EXPECT_EQ(one_change().complaint(), "");
  StoredValues again = one_change();
  again.change({{"a.jsonl", "0123"}}, {{"error", {{"copy", -4.0}}}}, "and end one after the other, too");
  EXPECT_EQ(again.complaint(), "");
  EXPECT_EQ(again.json()["changes"].size(), 2u);
  EXPECT_THAT(again.percentages("error"), ElementsAre(std::pair<const std::string, double>("copy", -4.0)));
}

TEST(StoredValues, ThatWereChangedByHandAreTold) {
  ordered_json changed = one_change().json();
  changed["percent"]["error"]["copy"] = 5.0;
  EXPECT_THAT(StoredValues(changed).complaint(), HasSubstr("changed without a reason"));
}

TEST(StoredValues, ThatALineWasTakenOutOfAreTold) {
  ordered_json changed = one_change().json();
  changed["percent"]["error"].erase("copy");
  EXPECT_THAT(StoredValues(changed).complaint(), HasSubstr("changed without a reason"));
}

TEST(StoredValues, WithAnotherReasonThanTheirsAreTold) {
  ordered_json changed = one_change().json();
  changed["changes"].back()["reason"] = "a reason that somebody wrote afterwards";
  EXPECT_THAT(StoredValues(changed).complaint(), HasSubstr("changed without a reason"));
}

TEST(StoredValues, WithoutAReasonAreTold) {
  EXPECT_EQ(StoredValues().complaint(), "no reason is stored");
  StoredValues values;
  values.change({}, {}, "1");
  EXPECT_THAT(values.complaint(), HasSubstr("a few letters"));
}

}  // namespace stored_values_test
}  // namespace weft::tests
