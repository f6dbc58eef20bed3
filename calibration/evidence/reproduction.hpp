// Published claims beside what the simulator says.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "calibration/evidence/claims.hpp"
#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct Simulated {
  double value = 0;  ///< of the observation, in the claim's quantity
  bool holds = false;
};

struct Verdict {
  std::vector<Simulated> observations;  ///< in the order of the claim's
  double low = 0, high = 0;             ///< what is compared: the summary, or the range of all observations
  bool holds = false;
  std::size_t holding() const;  ///< observations
};

/// Within the range, each end of which is moved outwards by `tolerance` x its size.
bool holds(double value, const Range& published, double tolerance);

/// The verdict on what the simulator says, one value an observation. `each`: every one holds against its own published
/// value, or the claim's; else the summary of all against the claim's.
Verdict verdict_on(const Claim& claim, const std::vector<double>& values);

/// Simulates all observations of all claims, on all cores. `machine` gives a profile by its name. Throws InputError
/// that names the claim and the observation that cannot be asked. `progress` counts predicted cases.
std::vector<Verdict> reproduce(const ClaimFile& file, const std::function<Machine(const std::string&)>& machine,
                               const Progress& progress = {});

/// Claims that do not hold, by their numbers from 1 on, and one reason that they share.
struct Shortfall {
  std::string reason;
  std::vector<std::size_t> claims;
};
std::vector<Shortfall> shortfalls(const ClaimFile& file, const std::vector<Verdict>& verdicts);

/// From the lowest to the highest of the published values, where each observation has its own.
Range published_range(const Claim& claim);

/// {"paper", "title", "reference", "claims": [{"id", "claim", "source", "machine", "quantity", "summary",
/// "published_U", "tolerance_ratio", "simulated_U", "holds", "note", "observations"}], "not_simulated"} with U the
/// quantity's unit.
nlohmann::ordered_json to_json(const ClaimFile& file, const std::vector<Verdict>& verdicts);

}  // namespace weft::calibration::evidence
