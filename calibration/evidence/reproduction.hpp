// Published claims beside what the simulator says.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/evidence/claims.hpp"
#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

/// What the simulator says of one observation.
struct Answer {
  double value = 0;                  ///< in the claim's quantity
  std::optional<double> time_us;     ///< of its cases together, where the source has that as well
  std::vector<double> other_values;  ///< of a rule: with each of the cases as the one that is picked
};

struct Simulated {
  double value = 0;
  double error =
      0;  ///< by which it lies outside of the published range, or misses a published time by more, as a share
  bool holds = false;
};

/// Of claims about a rule: does an answer that knows nothing hold as well?
struct BlindAnswers {
  bool constant_holds = false;  ///< the same position among the cases in every observation
  bool random_holds = false;    ///< the mean over all cases
};

struct Verdict {
  std::vector<Simulated> observations;  ///< in the order of the claim's
  double low = 0, high = 0;             ///< what is compared: the summary, or the range of all observations
  double mean_error = 0;                ///< mean of the observations' errors, or that of the summary
  std::optional<BlindAnswers> blind;    ///< where one of them holds, the claim does not
  bool holds = false;
  std::size_t holding() const;  ///< observations
};

/// Within the range, each end of which is moved outwards by `tolerance` x its size.
bool holds(double value, const Range& published, double tolerance);

/// How far outside of the range, as a share of the end that is nearer: 0 within it, above 0 where too large.
double distance_from(double value, const Range& published);

/// The verdict on what the simulator says, one answer an observation. `each`: every one holds against its own published
/// value, or the claim's; `mean_error`: their errors do on average; else the summary of all against the claim's.
Verdict verdict_on(const Claim& claim, const std::vector<Answer>& answers);

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
/// "published_U", "tolerance_ratio", "simulated_U", "holds", "holding_ratio", "mean_error_ratio", "note",
/// "observations"}], "not_simulated"} with U the quantity's unit; claims about a rule have "constant_holds" and
/// "random_holds" as well.
nlohmann::ordered_json to_json(const ClaimFile& file, const std::vector<Verdict>& verdicts);

}  // namespace weft::calibration::evidence
