#include "calibration/evidence/peer_collective_fit.hpp"

#include <gtest/gtest.h>

#include "calibration/evidence/calibration_plan.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace peer_collective_fit_test {

Machine h200() { return read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json"); }

/// The cases of `op`, or of all, that a plan has for so many GPUs, as a machine would run them after a pause.
std::vector<TimedCase> cases_on(const Machine& machine, const std::vector<int>& gpus, std::string_view kind,
                                std::string_view op = "") {
  std::vector<TimedCase> cases;
  for (const PlanFile& file : calibration_plan(1, gpus))
    if (file.name.starts_with(kind))
      for (scenarios::Case request : file.cases) {
        if (!op.empty() && op_of(request.workload) != op) continue;
        request.condition.condition = Condition::after_pause;
        cases.push_back({request, scenarios::study::predict(request, machine, tests::simulator()).trace.time_us});
      }
  return cases;
}
std::vector<TimedCase> collectives_on(const Machine& machine, const std::vector<int>& gpus) {
  return cases_on(machine, gpus, "peers");
}
std::vector<TimedCase> norms_on(const Machine& machine, const std::vector<int>& gpus) {
  return cases_on(machine, gpus, "norms", "all_reduce_norm");
}

void expect_numbers_of(Machine truth, const std::vector<fitting::FittedNumber>& found) {
  for (const fitting::FittedNumber& one : found) {
    const double was = number_of(truth, one.section, one.key);
    EXPECT_NEAR(one.value, was, 0.03 * was + 0.1) << one.key;
  }
}

TEST(PeerCollectiveFit, FindsTheNumbersOfTheMachineThatRanThem) {
  Machine truth = h200();
  DirectCollective& kernel = *truth.direct_collectives->two_shot;
  for (double* number : {&kernel.cta_GBps, &kernel.cta_store_GBps, &kernel.cta_bulk_GBps, &kernel.cta_wide_GBps,
                         &kernel.port_GBps, &kernel.one_way_GBps, &kernel.latency_us, &kernel.copy_latency_us})
    *number *= 0.85;
  const std::vector<fitting::FittedNumber> found = fit_peer_collectives(h200(), collectives_on(truth, {2, 4}));
  EXPECT_GE(found.size(), 8u);
  expect_numbers_of(truth, found);
}

TEST(PeerCollectiveFit, FindsTheNumbersOfFusedNorms) {
  Machine truth = h200();
  FusedNormKernel& kernel = *truth.fused_norm_kernel;
  kernel.norm_GBps *= 0.8, kernel.peer->cta_GBps *= 1.2, kernel.peer->port_GBps *= 0.85, kernel.peer->latency_us *= 1.3;
  const std::vector<fitting::FittedNumber> found = fit_fused_norms(h200(), norms_on(truth, {2, 4}));
  EXPECT_GE(found.size(), 4u);
  expect_numbers_of(truth, found);
  for (const fitting::FittedNumber& one : fit_fused_norms(truth, norms_on(truth, {2})))
    EXPECT_NE(one.key, "peer_latency");
  EXPECT_TRUE(fit_fused_norms(Machine{}, {}).empty());
}

TEST(PeerCollectiveFit, OfTwoRanksTellsNothingOfFurtherOnes) {
  for (const fitting::FittedNumber& one : fit_peer_collectives(h200(), collectives_on(h200(), {2})))
    EXPECT_TRUE(one.key.find("peer_latency") == std::string::npos && one.key != "cta_wide_bandwidth") << one.key;
}

TEST(PeerCollectiveFit, NeedsMoreCollectivesThanNumbers) {
  std::vector<TimedCase> few = collectives_on(h200(), {2});
  few.resize(4);
  EXPECT_TRUE(fit_peer_collectives(h200(), few).empty());
  EXPECT_TRUE(fit_peer_collectives(Machine{}, {}).empty());
}

}  // namespace peer_collective_fit_test
}  // namespace weft::calibration::evidence
