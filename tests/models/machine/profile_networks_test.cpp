#include "models/machine/profile_networks.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/models/error_of.hpp"
#include "tests/temporary_folder.hpp"

namespace weft {
namespace profile_networks_test {

using nlohmann::json;

class ProfileNetworks : public testing::Test {
 protected:
  json taken(const std::string& kernels) const {
    json profile = json::parse(R"({"gemm": {"kernels": )" + kernels + "}}");
    take_shared_networks(profile, folder.path());
    return profile["gemm"]["kernels"];
  }
  void write(const std::string& name, const std::string& kernels) const {
    folder.write(name + ".json", R"({"gemm": {"kernels": )" + kernels + "}}");
  }

  const tests::TemporaryFolder folder;
};

TEST_F(ProfileNetworks, AreThoseOfTheNamedProfileAndSaySo) {
  write("owner", R"({"file": "a.txt", "fp8_weights": {"value": [1, 2], "unit": "ratio", "source": "measured"}})");
  EXPECT_EQ(taken(R"({"file": "b.txt", "networks": "owner"})"), json::parse(R"({"file": "b.txt",
              "fp8_weights": {"value": [1, 2], "unit": "ratio", "source": "owner: measured"}})"));
}

TEST_F(ProfileNetworks, StayWhereAProfileHasItsOwn) {
  const std::string own = R"({"weights": {"value": [1]}})";
  EXPECT_EQ(taken(own), json::parse(own));
}

TEST_F(ProfileNetworks, AreRefusedWhereTheyCannotBeFound) {
  write("bare", R"({"file": "a.txt"})");
  write("borrower", R"({"networks": "bare"})");
  write("owner", R"({"weights": {"value": [1]}})");
  const auto error = [&](const std::string& kernels) { return error_of([&] { taken(kernels); }); };
  EXPECT_EQ(error(R"({"networks": "nobody"})"),
            "gemm.kernels.networks: expected the name of a profile in the same folder, got nobody");
  EXPECT_EQ(error(R"({"networks": "../owner"})"),
            "gemm.kernels.networks: expected the name of a profile in the same folder, got ../owner");
  EXPECT_EQ(error(R"({"networks": 7})"), "gemm.kernels.networks: expected a string");
  for (const char* const without : {"bare", "borrower"})
    EXPECT_EQ(error(std::string(R"({"networks": ")") + without + "\"}"),
              std::string("gemm.kernels.networks: expected a profile with weights of its own, got ") + without);
  EXPECT_EQ(error(R"({"networks": "owner", "time_weights": {"value": [1]}})"),
            "gemm.kernels.time_weights: expected no weights beside networks of another profile");
}

TEST_F(ProfileNetworks, OfAShippedProfileAreRead) {
  const Machine owner = read_machine(machine_path("h200x8-nvswitch")),
                borrower = read_machine(machine_path("h200x8-nvswitch-nvls"));
  EXPECT_FALSE(borrower.kernel_weights.empty());
  EXPECT_EQ(borrower.kernel_weights, owner.kernel_weights);
  EXPECT_EQ(borrower.gemm_networks.time, owner.gemm_networks.time);
  EXPECT_EQ(borrower.gemm_networks.fp8, owner.gemm_networks.fp8);
}

}  // namespace profile_networks_test
}  // namespace weft
