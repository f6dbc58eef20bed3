// The answers to a scenario: every schedule of every pair at every size, ranked, with what each one lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/machine.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search.hpp"
#include "tools/prediction.hpp"

namespace weft::tools {

/// Where the time of an overlapped schedule went that a perfect one would have hidden, in us.
struct Losses {
  double more_waves_us = 0;       ///< the GEMMs of the chunks, alone, over the whole GEMM
  double lost_sms_us = 0;         ///< the same GEMMs beside the collectives, over alone
  double small_transfers_us = 0;  ///< the collectives of the chunks, alone, over the whole collective
  double exposed_us = 0;          ///< time in which a collective runs and no computation does
};

struct Explored {
  scenarios::Candidate candidate;
  double bound_us = 0;
  Limit limited_by = Limit::latency;
  Losses losses;
};

/// One pair at one size.
struct Answer {
  std::string pair;
  std::int64_t size = 0;
  scenarios::Ranking ranking;
  std::vector<Explored> fastest_first;
};

struct LayerAnswer {
  std::int64_t size = 0;
  double serial_us = 0;  ///< the whole layer
  double saved_us = 0;   ///< by the advised schedules of its pairs
};

struct Exploration {
  std::vector<Answer> answers;      ///< by size, then by pair
  std::vector<LayerAnswer> layers;  ///< by size; empty for plain sizes
  std::size_t simulated = 0;        ///< schedules
};

Exploration explore(const scenarios::Scenario& scenario, const Machine& machine);

/// One pair at one size; `simulated` counts up.
Answer explore_pair(const scenarios::Question& question, std::int64_t size, const scenarios::Scenario& scenario,
                    const Machine& machine, std::size_t& simulated);

/// The largest loss in words: "exposed tail 118 us"; "-" where nothing above 1 % of the time was lost.
std::string why(const Explored& explored);

}  // namespace weft::tools
