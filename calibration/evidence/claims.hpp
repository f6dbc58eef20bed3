// What a paper claims, as data: scenarios/published/PAPER.json, one file a paper. "cases" lists cases as `weft predict`
// reads them. Each claim names its source, the profile of the machine it was made on, its cases by their ids, what is
// taken from their times, and the published value:
//   {"id": "best", "claim": "At best 1.65 times as fast", "source": "abstract", "machine": "rtx4090x8-pcie",
//    "quantity": "speedup", "summary": "largest", "published": 1.65, "tolerance": 0.1,
//    "observations": [{"cases": ["a1"]}, {"cases": ["a2"]}]}
// "published" is a number or a range, [1.02, 1.65], of which one end may be null; one of the whole claim, or one of
// each observation. A ratio whose source has times as well names them in each observation, "published_us": 277.2, the
// time of its cases together; then both have to be met. "timing": {"added_us": 30, "l2": "flushed", "source": "…"} is
// how the source timed, the timing of all of a claim's cases. "numbers": {"gpu.tensor_rate": {"value": 1024, "source":
// "…"}} are those of the profile that were others in the source, such as another library's kernels.
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
  ideal_overlap,   ///< serial over parts of the one case's GEMM and collective that lose nothing
  share_of_bound,  ///< the bound over the one case's time
  time_us,         ///< of all cases together
  time_ratio,      ///< time_us, less that of `less`, over that of `over`, less that of `without`
  share_of_waves,  ///< FlashOverlap's bound over the one case's time (perfect_overlap.hpp)
  gemm_dil,        ///< FiCCO's losses of the one case, as ratios (inefficiency.hpp)
  transfer_dil,
  gemm_cil,  ///< of the one case without waits, at the clocks that the power limit leaves
  transfer_cil,
  rule_share,    ///< time of the fastest case over that of the one that FiCCO's rule chooses (ficco_rule.hpp)
  stages,        ///< how many are chosen for the one case
  hidden_share,  ///< of a schedule's operation: the part of its time in which another one runs
  start_share,   ///< of a schedule's operation: the part of another one that is over when it starts
  slowdown,      ///< of a schedule's operation: its time over that without another one, at the same clock
};

/// What of a claim's observations is compared with the published value; mean_error: each observation has a published
/// value of its own, and the mean of their errors is to be within the tolerance.
enum class Summary { each, largest, smallest, mean, mean_error };

/// Both ends belong to it; an end that is left out is open.
struct Range {
  std::optional<double> low, high;
};

/// Of a schedule file: an operation beside another one.
struct OperationBeside {
  std::filesystem::path schedule;
  std::string operation, beside;
};

struct Observation {
  std::string name;  ///< for people
  std::vector<scenarios::Case> cases, less, over, without;
  std::vector<std::string> operations;  ///< only those of `cases` with one of these in their names count; empty: all
  std::vector<std::string> over_operations;  ///< the same of `over`
  std::optional<OperationBeside> beside;     ///< instead of cases
  std::optional<Range> published;            ///< else the claim's
  std::optional<double> published_us;        ///< of the cases together, besides a published ratio
};

/// How the source timed, as the claim's cases say too.
struct ClaimTiming {
  Timing timing;
  std::string source;
};

/// Of a machine profile, and what the source had in its place.
struct OtherNumber {
  std::string section, key;
  double value = 0;
  std::string source;
};

struct Claim {
  std::string id, claim, source, machine;
  Quantity quantity = Quantity::speedup;
  Summary summary = Summary::each;
  std::optional<Range> published;
  double tolerance = 0;  ///< by which the published range is widened, as a share of each end
  std::string note;      ///< what was assumed, and why it may not hold
  ClaimTiming timing;
  std::vector<OtherNumber> numbers;
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
      std::pair{ideal_overlap, std::string_view{"ideal_overlap"}},
      std::pair{share_of_bound, std::string_view{"share_of_bound"}},
      std::pair{time_us, std::string_view{"time_us"}},
      std::pair{time_ratio, std::string_view{"time_ratio"}},
      std::pair{share_of_waves, std::string_view{"share_of_waves"}},
      std::pair{gemm_dil, std::string_view{"gemm_dil"}},
      std::pair{transfer_dil, std::string_view{"transfer_dil"}},
      std::pair{gemm_cil, std::string_view{"gemm_cil"}},
      std::pair{transfer_cil, std::string_view{"transfer_cil"}},
      std::pair{rule_share, std::string_view{"rule_share"}},
      std::pair{stages, std::string_view{"stages"}},
      std::pair{hidden_share, std::string_view{"hidden_share"}},
      std::pair{start_share, std::string_view{"start_share"}},
      std::pair{slowdown, std::string_view{"slowdown"}},
  };
};
template <>
struct NamesOf<calibration::evidence::Summary> {
  using enum calibration::evidence::Summary;
  static constexpr std::array names{
      std::pair{each, std::string_view{"each"}}, std::pair{largest, std::string_view{"largest"}},
      std::pair{smallest, std::string_view{"smallest"}}, std::pair{mean, std::string_view{"mean"}},
      std::pair{mean_error, std::string_view{"mean_error"}}};
};

}  // namespace weft
