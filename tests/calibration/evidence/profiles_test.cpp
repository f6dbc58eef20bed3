// What every shipped profile can do.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "calibration/evidence/published_curves.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::evidence {
namespace profiles_test {

using tests::simulator;

using namespace scenarios;

class Profile : public testing::TestWithParam<std::string> {
 protected:
  /// Read once for all tests.
  const Machine& machine() {
    static std::map<std::string, Machine> machines;
    auto found = machines.find(GetParam());
    if (found == machines.end()) found = machines.emplace(GetParam(), read_machine(machine_path(GetParam()))).first;
    return found->second;
  }
};

/// One workload for each op.
std::vector<Workload> workloads() {
  std::vector<Workload> all{
      GemmWorkload{4096, 4096, 2048}, ConcurrentPair{4096, 4096, 2048, 16 << 20},
      LayerWorkload{
          .tokens = 2048, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .intermediate = 14336}};
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) all.push_back(CollectiveWorkload{kind, 16 << 20});
  for (const auto& [pattern, name] : NamesOf<CopyPattern>::names) all.push_back(CopyWorkload{16 << 20, pattern});
  for (const auto& [op, name] : NamesOf<PairOp>::names) all.push_back(PairWorkload{op, 4096, 2048, 2048});
  return all;
}

TEST_P(Profile, AnswersEveryFamilyOfEveryWorkloadAboveItsBound) {
  SearchSpace space{.chunks = {2}, .max_ctas = {4}};
  if (machine().fused_norm_kernel) space.fused_norm_ctas = {8};
  for (const Workload& workload : workloads())
    for (const int gpus : {2, 4, 8})
      for (const Case& request : candidates(workload, gpus, space)) {
        const std::string what = describe(workload) + " on " + std::to_string(gpus) + " GPUs, " + request.id;
        try {
          const scenarios::study::Prediction prediction =
              scenarios::study::predict(request, machine(), simulator(), {.serial = false});
          EXPECT_GT(prediction.time_us, prediction.bound_us) << what;
          EXPECT_LT(prediction.time_us, 1e6) << what;
        } catch (const std::exception& error) {
          ADD_FAILURE() << what << ": " << error.what();
        }
      }
}

// By default, and above the smallest messages, where single runs scatter.
TEST_P(Profile, MeetsItsPublishedCurves) {
  for (const PublishedCurve& curve : published_curves(machine(), "")) {
    if (curve.max_ctas != 0) continue;
    double sum = 0;
    int points = 0;
    for (const PublishedPoint& point : curve.points) {
      if (point.bytes < 65536) continue;
      sum += std::abs(predict(machine(), curve, point.bytes).time_us / point.time_us - 1);
      ++points;
    }
    EXPECT_LT(sum / points, 0.15) << name_of(curve.kind) << " on " << curve.gpus << " GPUs";
  }
}

// What the smallest size of a curve takes may be its bytes' and not a latency's.
TEST_P(Profile, HasCollectivesOfOnePercentMoreTakeHardlyLonger) {
  const Machine profile = machine();
  for (const CollectiveCurve& curve : profile.collectives) {
    const auto time_us = [&](Bytes bytes) {
      Case request;
      request.gpus = curve.gpus;
      request.workload = CollectiveWorkload{curve.kind, bytes};
      request.schedule.max_ctas = curve.max_ctas;
      return scenarios::study::predict(request, profile, simulator()).time_us;
    };
    const Bytes smallest = curve.points.front().bytes;
    const double at_us = time_us(smallest), above_us = time_us(smallest + smallest / 100);
    EXPECT_LT(above_us, 1.1 * at_us + 2) << name_of(curve.kind) << " of " << smallest << " bytes on " << curve.gpus
                                         << " GPUs, " << curve.max_ctas << " CTAs";
  }
}

/// The name in a source that says whose number this is, as it is; empty: none, or another one was made of it.
std::string owner_of(const std::string& source) {
  static const std::regex pattern("assumption: (?:carried over from|as) ([a-z0-9-]+)(?:: .*)?");
  std::smatch found;
  const bool is_scaled = source.find("; of the rate at") != std::string::npos;
  return !is_scaled && std::regex_match(source, found, pattern) ? found[1].str() : "";
}

// Those of H100s and H200s are written by weft calibrate, and as they were when it ran.
TEST_P(Profile, CarriesOverWhatItsOwnerHasToday) {
  if (GetParam().starts_with("h100") || GetParam().starts_with("h200")) return;
  const nlohmann::json profile = read_json_file(machine_path(GetParam())).flatten();
  for (const auto& [path, source] : profile.items()) {
    if (!path.ends_with("/source")) continue;
    const std::string number = path.substr(0, path.size() - std::string("source").size()) + "value";
    const std::string owner = owner_of(source.get<std::string>());
    if (owner.empty() || !profile.contains(number) || number.starts_with("/collective_protocols")) continue;
    EXPECT_EQ(profile.at(number), read_json_file(machine_path(owner)).flatten().value(number, nlohmann::json()))
        << number << ", as " << owner;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Profile, tests::shipped_profiles, tests::name_of_profile);

// What changes a table on purpose also runs tools/checksums.
TEST_P(Profile, SaysTheChecksumOfItsTable) {
  const nlohmann::json kernels = read_json_file(machine_path(GetParam())).at("gemm").at("kernels");
  EXPECT_EQ(kernels.contains("file"), kernels.contains("checksum"));
}

Machine profile(const std::string& name) { return read_machine(machine_path(name)); }

double pull_us(const std::string& machine, CopyPattern pattern) {
  Case request;
  request.gpus = 8;
  request.workload = CopyWorkload{64 << 20, pattern};
  return scenarios::study::predict(request, profile(machine), simulator()).time_us;
}

TEST(Profiles, OfOnePullTakeWhatTheirLinksGive) {
  EXPECT_NEAR(pull_us("mi300x8-mesh", CopyPattern::one_peer), (64 << 20) / 46.55e3, 50);
  EXPECT_GT(pull_us("rtx4090x8-pcie", CopyPattern::one_peer), 2 * (64 << 20) / 21e3);
}

TEST(Profiles, WithoutFp8RefuseIt) {
  Case request;
  request.gpus = 2;
  request.workload = GemmWorkload{1024, 1024, 1024, DataType::fp8};
  try {
    scenarios::study::predict(request, profile("a800x8-nvlink-pairs"), simulator());
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "workload.dtype: expected bf16 (a800x8-nvlink-pairs has no fp8), got fp8");
  }
}

}  // namespace profiles_test
}  // namespace weft::calibration::evidence
