// For tests of every shipped profile: INSTANTIATE_TEST_SUITE_P(Shipped, Suite, shipped_profiles, name_of_profile).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft::tests {

inline const auto shipped_profiles = testing::Values(
    "h200x8-nvswitch", "h200x8-nvswitch-nvls", "h100x8-nvswitch", "h100x8-nvswitch-nvls", "h100x8-hbm2e",
    "b200x8-nvswitch-nvls", "h20x8-nvswitch-nvls", "a800x8-nvswitch", "a800x8-nvlink-pairs", "rtx4090x8-pcie",
    "l40sx8-pcie", "rtxpro6000x8-pcie", "mi300x8-mesh", "mi355x8-mesh", "ascend910b8-mesh");

/// As a test's name may be written.
inline std::string name_of_profile(const testing::TestParamInfo<std::string>& row) {
  std::string name = row.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace weft::tests
