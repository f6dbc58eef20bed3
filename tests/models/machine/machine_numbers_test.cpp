#include "models/machine/machine_numbers.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "models/base/json_file.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace machine_numbers_test {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

std::filesystem::path folder() { return tests::source_folder() + "/tests/sim"; }

const json& profile() {
  static const json read = read_json_file(folder() / "test_machine.json");
  return read;
}

Machine machine_of(const json& profile) { return machine_from_json(profile, folder()); }

/// "fabric.host" is /fabric/host.
json::json_pointer pointer(const MachineNumber& number, const std::string& what = "") {
  std::string path = "/" + number.section + "/" + number.key + what;
  std::replace(path.begin(), path.end(), '.', '/');
  return json::json_pointer(path);
}

json without(const MachineNumber& number) {
  json copy = profile();
  json::json_pointer parent = pointer(number);
  parent.pop_back();
  copy[parent].erase(number.key);
  return copy;
}

TEST(MachineNumbers, StandInTheProfileWithTheirUnits) {
  for (const MachineNumber& number : machine_numbers(machine_of(profile()))) {
    EXPECT_EQ(profile().at(pointer(number, "/unit")), number.unit) << number.key;
    EXPECT_EQ(profile().at(pointer(number, "/value")), number.value) << number.key;
    EXPECT_FALSE(number.meaning.empty()) << number.key;
  }
}

TEST(MachineNumbers, AreAllThatAProfileHas) {
  std::set<std::string> described;
  for (const MachineNumber& number : machine_numbers(machine_of(profile())))
    EXPECT_TRUE(described.insert(number.section + "." + number.key).second) << number.key;
  for (const char* section : {"gpu", "power", "copy_engines", "latencies", "gemm", "other_kernels"})
    for (const auto& [key, entry] : profile().at(section).items())
      if (entry.contains("value") && entry["value"].is_number()) {
        EXPECT_TRUE(described.contains(std::string(section) + "." + key)) << key;
      }
}

TEST(MachineNumbers, ThatAProfileLeavesOutAreOff) {
  const std::vector<MachineNumber> off = machine_numbers(Machine{});
  for (const MachineNumber& number : machine_numbers(machine_of(profile()))) {
    if (!number.may_be_left_out) continue;
    const auto same = [&](const MachineNumber& other) {
      return other.section == number.section && other.key == number.key;
    };
    const std::vector<MachineNumber> read = machine_numbers(machine_of(without(number)));
    const auto in_nothing = std::find_if(off.begin(), off.end(), same);  // whole sections may be left out, too
    EXPECT_EQ(std::find_if(read.begin(), read.end(), same)->value, in_nothing == off.end() ? 0 : in_nothing->value)
        << number.key;
  }
}

TEST(MachineNumbers, ThatNothingReplacesMustBeThere) {
  for (const MachineNumber& number : machine_numbers(machine_of(profile())))
    if (!number.may_be_left_out) {
      EXPECT_THAT(error_of([&] { machine_of(without(number)); }), StartsWith(number.section + "." + number.key + ": "));
    }
}

TEST(MachineNumbers, OfAnotherUnitAreRefused) {
  for (const MachineNumber& number : machine_numbers(machine_of(profile()))) {
    json wrong = profile();
    wrong[pointer(number, "/unit")] = "furlongs";
    EXPECT_EQ(error_of([&] { machine_of(wrong); }),
              number.section + "." + number.key + ".unit: expected \"" + number.unit + "\", got \"furlongs\"");
  }
}

std::string error_with(const MachineNumber& number, double value) {
  json wrong = profile();
  wrong[pointer(number, "/value")] = value;
  return error_of([&] { machine_of(wrong); });
}

TEST(MachineNumbers, OutsideOfTheirRangeAreRefused) {
  for (const MachineNumber& number : machine_numbers(machine_of(profile()))) {
    const std::string field = number.section + "." + number.key + ".value: expected ";
    EXPECT_THAT(error_with(number, number.least - 1), StartsWith(field));
    EXPECT_THAT(error_with(number, number.most * 2), StartsWith(field));
    EXPECT_LT(number.most, 1e15) << field;
  }
  MachineNumber clock;
  clock.section = "gpu", clock.key = "max_clock";
  EXPECT_EQ(error_with(clock, 1.98e9),
            "gpu.max_clock.value: expected a number from 100.0 to 10000.0, got 1980000000.0");
}

TEST(MachineNumbers, AreFoundByName) {
  Machine machine = machine_of(profile());
  number_of(machine, "gemm", "kernel_overhead") = 12.5;
  EXPECT_EQ(machine.gemm.kernel_overhead_us, 12.5);
  EXPECT_EQ(error_of([&] { number_of(machine, "gemm", "colour"); }),
            "gemm.colour: expected a number of a machine profile");
  EXPECT_NE(error_of([&] { number_of(machine, "gpu", "hardware_queues"); }), "");
}

TEST(MachineProfile, SaysItsRuntime) {
  json copy = profile();
  copy["runtime"] = "rocm";
  EXPECT_EQ(machine_of(copy).runtime, Runtime::rocm);
  copy["runtime"] = "opencl";
  EXPECT_THAT(error_of([&] { machine_of(copy); }), HasSubstr("runtime: expected one of cuda, rocm"));
}

}  // namespace machine_numbers_test
}  // namespace weft
