#include "models/machine/profile_checksum.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace weft {
namespace profile_checksum_test {

class ProfileChecksum : public testing::Test {
 protected:
  std::string of(const std::string& text, const std::string& table) const {
    folder.write("a.txt", table);
    folder.write("a.json", text);
    return profile_checksum(folder.path() / "a.json");
  }

  const std::string profile = R"({"gpus": 8, "gemm": {"kernels": {"file": "a.txt"}}})";
  const tests::TemporaryFolder folder;
};

TEST_F(ProfileChecksum, TellsOneNumberFromAnother) {
  EXPECT_NE(of(profile, "one"), of(R"({"gpus": 4, "gemm": {"kernels": {"file": "a.txt"}}})", "one"));
}

TEST_F(ProfileChecksum, TellsOneTableFromAnother) { EXPECT_NE(of(profile, "one"), of(profile, "two")); }

TEST_F(ProfileChecksum, TellsSharedNetworksApart) {
  const auto sharing = [&](const std::string& weight) {
    folder.write("owner.json", R"({"gemm": {"kernels": {"weights": {"value": [)" + weight + "]}}}}");
    return of(R"({"gemm": {"kernels": {"file": "a.txt", "networks": "owner"}}})", "one");
  };
  EXPECT_NE(sharing("1"), sharing("2"));
}

TEST_F(ProfileChecksum, IsTheSameOfTheSameNumbersHoweverTheyAreWritten) {
  EXPECT_EQ(of(profile, "one"), of(R"({ "gemm": {"kernels": {"file": "a.txt"}},
    "gpus": 8})",
                                   "one"));
}

}  // namespace profile_checksum_test
}  // namespace weft
