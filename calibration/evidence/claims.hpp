// What a paper claims, as data: scenarios/published/PAPER.json, one file a paper. "cases" lists cases as `weft predict`
// reads them. Each claim names its source, the profile of the machine it was made on, its cases by their ids, what is
// taken from their times, and the published value:
//   {"id": "best", "claim": "At best 1.65 times as fast", "source": "abstract", "machine": "rtx4090x8-pcie",
//    "quantity": "speedup", "summary": "largest", "published": 1.65, "tolerance": 0.1,
//    "observations": [{"cases": ["a1"]}, {"cases": ["a2"]}]}
// "published" is a number or a range, [1.02, 1.65], of which one end may be null; one of the whole claim, or one of
// each observation.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// What one observation says.
enum class Quantity {
  speedup,         ///< of the one case over serial
  ideal_speedup,   ///< of the bound over serial: what the one case could gain at most
  share_of_bound,  ///< the bound over the one case's time
  time_us,         ///< of all cases together
  time_ratio,      ///< time_us over that of `over`, less that of `without`
  gemm_dil,        ///< FiCCO's losses of the one case, as ratios (inefficiency.hpp)
  transfer_dil,
  gemm_cil,
  transfer_cil,
  rule_share,    ///< time of the fastest case over that of the one that FiCCO's rule chooses (ficco_rule.hpp)
  stages,        ///< how many are chosen for the one case
  hidden_share,  ///< of a schedule's operation: the part of its time in which another one runs
};

/// What of a claim's observations is compared with the published value.
enum class Summary { each, largest, smallest, mean };

/// Both ends belong to it; an end that is left out is open.
struct Range {
  std::optional<double> low, high;
};

/// Of a schedule file: how much of `operation` runs beside another one.
struct HiddenOperation {
  std::filesystem::path schedule;
  std::string operation, beside;
};

struct Observation {
  std::string name;  ///< for people
  std::vector<scenarios::Case> cases, over, without;
  std::string operations;  ///< only the operations of `cases` with this in their names count; empty: whole iterations
  std::optional<HiddenOperation> hidden;  ///< instead of cases
  std::optional<Range> published;         ///< else the claim's
};

struct Claim {
  std::string id, claim, source, machine;
  Quantity quantity = Quantity::speedup;
  Summary summary = Summary::each;
  std::optional<Range> published;
  double tolerance = 0;  ///< by which the published range is widened, as a share of each end
  std::string note;      ///< what was assumed, and why it may not hold
  std::vector<Observation> observations;
};

/// What the paper says and no case can ask.
struct UnaskedClaim {
  std::string claim, source, why;
};

struct ClaimFile {
  std::string paper, title, reference;
  std::vector<Claim> claims;
  std::vector<UnaskedClaim> not_simulated;
};

/// Names of the files in `folder`, without their ending, sorted.
std::vector<std::string> papers_in(const std::filesystem::path& folder);

/// Throws InputError that names the field.
ClaimFile read_claims(const std::filesystem::path& path);

}  // namespace weft::calibration::evidence

namespace weft {

template <>
struct NamesOf<calibration::evidence::Quantity> {
  using enum calibration::evidence::Quantity;
  static constexpr std::array names{
      std::pair{speedup, std::string_view{"speedup"}},
      std::pair{ideal_speedup, std::string_view{"ideal_speedup"}},
      std::pair{share_of_bound, std::string_view{"share_of_bound"}},
      std::pair{time_us, std::string_view{"time_us"}},
      std::pair{time_ratio, std::string_view{"time_ratio"}},
      std::pair{gemm_dil, std::string_view{"gemm_dil"}},
      std::pair{transfer_dil, std::string_view{"transfer_dil"}},
      std::pair{gemm_cil, std::string_view{"gemm_cil"}},
      std::pair{transfer_cil, std::string_view{"transfer_cil"}},
      std::pair{rule_share, std::string_view{"rule_share"}},
      std::pair{stages, std::string_view{"stages"}},
      std::pair{hidden_share, std::string_view{"hidden_share"}},
  };
};
template <>
struct NamesOf<calibration::evidence::Summary> {
  using enum calibration::evidence::Summary;
  static constexpr std::array names{
      std::pair{each, std::string_view{"each"}}, std::pair{largest, std::string_view{"largest"}},
      std::pair{smallest, std::string_view{"smallest"}}, std::pair{mean, std::string_view{"mean"}}};
};

}  // namespace weft
