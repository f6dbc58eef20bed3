// The faults that tools/plant plants: each has to find its place, or nothing is planted and nothing is learned.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/source_folder.hpp"

namespace weft::tests {
namespace planted_fault_test {

std::string text_of(const std::string& path) {
  std::ifstream file(source_folder() + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PlantedFaults, FindTheirPlacesInTheSources) {
  for (const auto& fault : nlohmann::json::parse(text_of("tests/planted_faults.json"))) {
    const std::string text = text_of(fault.at("file")), old = fault.at("old");
    const std::size_t place = text.find(old);
    EXPECT_NE(place, std::string::npos) << fault.at("fault");
    if (place != std::string::npos) {
      EXPECT_EQ(text.find(old, place + 1), std::string::npos) << fault.at("fault");
    }
  }
}

}  // namespace planted_fault_test
}  // namespace weft::tests
