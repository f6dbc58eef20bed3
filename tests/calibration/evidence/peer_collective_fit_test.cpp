#include "calibration/evidence/peer_collective_fit.hpp"

#include <gtest/gtest.h>

#include "calibration/evidence/calibration_plan.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace {

Machine h200() { return read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json"); }

/// The collectives that a plan has for so many GPUs, as a machine would run them after a pause.
std::vector<PeerCollective> collectives_on(const Machine& machine, const std::vector<int>& gpus) {
  std::vector<PeerCollective> collectives;
  for (const PlanFile& file : calibration_plan(1, gpus))
    if (file.name.starts_with("peers"))
      for (scenarios::Case request : file.cases) {
        request.condition.condition = Condition::after_pause;
        collectives.push_back({request, scenarios::study::predict(request, machine, tests::simulator()).trace.time_us});
      }
  return collectives;
}

TEST(PeerCollectiveFit, FindsTheNumbersOfTheMachineThatRanThem) {
  Machine truth = h200();
  DirectCollective& kernel = *truth.direct_collectives->two_shot;
  for (double* number : {&kernel.cta_GBps, &kernel.cta_store_GBps, &kernel.cta_bulk_GBps, &kernel.cta_wide_GBps,
                         &kernel.port_GBps, &kernel.one_way_GBps, &kernel.latency_us, &kernel.copy_latency_us})
    *number *= 0.85;
  const std::vector<fitting::FittedNumber> found = fit_peer_collectives(h200(), collectives_on(truth, {2, 4}));
  EXPECT_GE(found.size(), 8u);
  for (const fitting::FittedNumber& one : found) {
    const double was = number_of(truth, one.section, one.key);
    EXPECT_NEAR(one.value, was, 0.03 * was + 0.1) << one.key;
  }
}

TEST(PeerCollectiveFit, OfTwoRanksTellsNothingOfFurtherOnes) {
  for (const fitting::FittedNumber& one : fit_peer_collectives(h200(), collectives_on(h200(), {2})))
    EXPECT_TRUE(one.key.find("peer_latency") == std::string::npos && one.key != "cta_wide_bandwidth") << one.key;
}

TEST(PeerCollectiveFit, NeedsMoreCollectivesThanNumbers) {
  std::vector<PeerCollective> few = collectives_on(h200(), {2});
  few.resize(4);
  EXPECT_TRUE(fit_peer_collectives(h200(), few).empty());
  EXPECT_TRUE(fit_peer_collectives(Machine{}, {}).empty());
}

}  // namespace
}  // namespace weft::calibration::evidence
