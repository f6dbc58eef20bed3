#include "models/machine/machine_relations.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace machine_relations_test {

using nlohmann::json;
using testing::HasSubstr;

std::filesystem::path machines() { return tests::source_folder() + "/calibration/machines"; }

/// What a shipped profile is refused for, once one of its numbers has another value.
std::string error_with(const std::string& name, const std::string& pointer, const json& value) {
  json profile = read_json_file(machines() / (name + ".json"));
  profile[json::json_pointer(pointer)] = value;
  return error_of([&] { machine_from_json(profile, machines()); });
}
std::string error_with(const std::string& pointer, const json& value) {
  return error_with("h200x8-nvswitch-nvls", pointer, value);
}

json band(const std::string& stratum, double from_us = 0, double low = -0.1, double high = 0.1) {
  return {{"stratum", stratum}, {"from_us", from_us}, {"low", low}, {"high", high}};
}

json errors(const std::string& condition, const std::vector<json>& bands) {
  return {{"condition", condition}, {"growth", 1}, {"source", "test"}, {"bands", bands}};
}

TEST(MachineRelations, HoldInAllShippedProfiles) {
  for (const auto& file : std::filesystem::directory_iterator(machines()))
    if (file.path().extension() == ".json") {
      EXPECT_EQ(error_of([&] { read_machine(file.path()); }), "") << file.path();
    }
}

TEST(MachineRelations, NoLinkCarriesMoreThanItsPeak) {
  EXPECT_THAT(error_with("/fabric/port_peak/value", 100),
              HasSubstr("fabric.port_bandwidth: expected at most fabric.port_peak = 100.0, got "));
  EXPECT_THAT(error_with("/copy_engines/peer_bandwidth/value", 1000),
              HasSubstr("copy_engines.peer_bandwidth: expected at most fabric.port_peak"));
  EXPECT_THAT(error_with("/copy_engines/push_bandwidth/value", 1000),
              HasSubstr("copy_engines.push_bandwidth: expected at most fabric.port_peak"));
  EXPECT_THAT(error_with("mi300x8-mesh", "/fabric/link_peak/value", 1), HasSubstr("fabric.link_bandwidth"));
  for (const char* link : {"pcie", "numa", "memory"})
    EXPECT_THAT(error_with("rtx4090x8-pcie", "/fabric/host/" + std::string(link) + "_peak/value", 1),
                HasSubstr("fabric.host." + std::string(link) + "_bandwidth: expected at most"));
}

TEST(MachineRelations, GpusFitTheFabric) {
  EXPECT_THAT(error_with("a800x8-nvlink-pairs", "/gpus", 7), HasSubstr("gpus: expected an even number"));
  EXPECT_THAT(error_with("rtx4090x8-pcie", "/fabric/host/gpus_per_node/value", 9),
              HasSubstr("fabric.host.gpus_per_node: expected at most gpus = 8.0, got 9.0"));
}

TEST(MachineRelations, AGpuHasSmsAndPowerToRunThem) {
  EXPECT_EQ(error_with("/gpu/sms_per_gpc/value", json::array()),
            "gpu.sms_per_gpc: expected at least one GPC, got none");
  EXPECT_EQ(error_with("/gpu/sms_per_gpc/value", json(std::vector<int>(5000, 1024))),
            "gpu.sms_per_gpc: expected at most 4096 SMs, got more");
  EXPECT_EQ(error_with("/power/idle/value", 700), "power.idle: expected less than power.limit = 700.0, got 700.0");
  EXPECT_EQ(error_with("/power/steady_limit/value", 650),
            "power.steady_limit: expected at least power.limit = 700.0, got 650.0");
}

TEST(MachineRelations, CtasFitAnSm) {
  EXPECT_THAT(error_with("/gemm/threads_per_cta/value", 4096), HasSubstr("at most gpu.threads_per_sm"));
  EXPECT_THAT(error_with("/gemm/registers_per_thread/value", 200), HasSubstr("at most gpu.registers_per_sm"));
  EXPECT_THAT(error_with("/collective_kernel/shared_memory_per_cta/value", 1 << 20),
              HasSubstr("at most gpu.shared_memory_per_sm"));
  EXPECT_THAT(error_with("/fused_norm_kernel/registers_per_thread/value", 4096),
              HasSubstr("fused_norm_kernel.threads"));
}

TEST(MachineRelations, CandidatesAreKernelsThatFit) {
  const auto error = [](const char* candidates) {
    return error_with("mi300x8-mesh", "/gemm/kernels/candidates", json::parse(candidates));
  };
  EXPECT_THAT(error("[[256, 256, 64, 1, 1, 5, 1]]"), HasSubstr("candidates[0]: shared memory: expected at most"));
  EXPECT_THAT(error("[[65536, 65536, 64, 1, 1, 1, 1]]"), HasSubstr("expected an integer from 1 to 4096, got 65536"));
  EXPECT_THAT(error("[[64, 64, 32, 64, 64, 1, 1]]"),
              HasSubstr("cluster_m x cluster_n: expected at most the SMs of a GPC"));
  EXPECT_THAT(error("[[64, 64, 32, 1, 1, 1, 1], [64, 64, 32, 1, 1, 1, 1]]"), HasSubstr("expected each kernel once"));
}

TEST(MachineRelations, CurvesAscendAndStandOnce) {
  const json profile = read_json_file(machines() / "h200x8-nvswitch-nvls.json");
  const json& curves = profile["collectives"];
  const json second_size = curves[0]["points"][1][0];
  EXPECT_EQ(error_with("/collectives/0/points/0/0", second_size),
            "collectives[0].points: expected points of ascending size");
  EXPECT_THAT(error_with("/collectives/0/gpus", 16), HasSubstr("collectives[0].gpus: expected at most gpus = 8.0"));
  EXPECT_THAT(error_with("/collectives/0/ctas", 1000), HasSubstr("collectives[0].ctas: expected at most the SMs"));
  EXPECT_THAT(error_with("/collectives/0/points/0/1", 0), HasSubstr("expected a number from 0.01"));
  EXPECT_THAT(error_with("/collectives/0/points/0/2", 1e308), HasSubstr("expected a number from 0.0 to"));
  EXPECT_THAT(error_with("/collectives/1", curves[0]), HasSubstr("collectives[1]: expected one curve"));
}

TEST(MachineRelations, CurvesOnSymmetricMemoryNameATransportThatDoesThem) {
  const json curves = read_json_file(machines() / "h200x8-nvswitch.json")["symmetric_collectives"];
  const auto error = [&](const std::string& pointer, const json& value) {
    return error_with("h200x8-nvswitch", "/symmetric_collectives" + pointer, value);
  };
  EXPECT_THAT(error("/0/transport", "nccl"), HasSubstr("expected nccl_symmetric or nccl_copy_engine"));
  EXPECT_THAT(error("/0/transport", "nccl_copy_engine"), HasSubstr("expected one that nccl_copy_engine does"));
  EXPECT_THAT(error("/0/ctas", 0), HasSubstr("ctas: expected"));
  EXPECT_THAT(error("/1", curves[0]), HasSubstr("symmetric_collectives[1]: expected one curve"));
}

TEST(MachineRelations, BandsAndRangesHaveTwoEndsInTheirOrder) {
  EXPECT_EQ(error_with("/errors", json::array({errors("sustained", {band("gemm", 0, 0.2, 0.1)})})),
            "errors[0].bands[0].low: expected at most high = 0.1, got 0.2");
  const auto range = [](const char* quantity, double low, double high) {
    return json{{"quantity", quantity}, {"low", low}, {"high", high}};
  };
  EXPECT_EQ(error_with("/calibrated", json::array({range("m", 8, 2)})),
            "calibrated[0].low: expected at most high = 2.0, got 8.0");
  EXPECT_THAT(error_with("/calibrated", json::array({range("M", 1, 2)})),
              HasSubstr("calibrated[0].quantity: expected one of m, n, k"));
}

TEST(MachineRelations, BandsAreOfStrataThatPredictionsHaveAndAscend) {
  const auto error = [](const std::vector<json>& all) { return error_with("/errors", json(all)); };
  EXPECT_THAT(error({errors("sustained", {band("gem")})}),
              HasSubstr("errors[0].bands[0].stratum: expected one of gemm,"));
  EXPECT_EQ(error({errors("sustained", {band("gemm", 30), band("serial"), band("gemm", 30)})}),
            "errors[0].bands[2].from_us: expected more than that of the band before = 30.0, got 30.0");
  EXPECT_EQ(error({errors("sustained", {band("gemm", 30)}), errors("sustained", {band("gemm", 30)})}),
            "errors[1].bands[0].from_us: expected more than that of the band before = 30.0, got 30.0");
  EXPECT_EQ(error({errors("sustained", {band("gemm"), band("gemm", 30)}), errors("short", {band("gemm")})}), "");
}

}  // namespace machine_relations_test
}  // namespace weft
