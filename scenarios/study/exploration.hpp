// The answers to a scenario: every schedule of every pair at every size, ranked, with what they lost.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/reordering_cost.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/inefficiency.hpp"
#include "scenarios/study/losses.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {

struct Explored {
  scenarios::Candidate candidate;
  double bound_us = 0;
  Limit limited_by = Limit::latency;
  bool runnable = false;  ///< by weft run, today
  std::optional<Losses> losses;
  std::optional<Inefficiency> inefficiency;  ///< of ficco with the library's number of CTAs
  std::optional<NextKernelCost> reordering;  ///< of signaling; no part of the candidate's time
};

/// One pair, or a whole layer, at one size.
struct Answer {
  std::string pair;
  std::int64_t size = 0;
  scenarios::Ranking ranking;
  std::vector<Explored> fastest_first;
  std::size_t stuck = 0;  ///< hybrids that deadlock on this machine

  const Explored& fastest() const { return fastest_first.front(); }
  const Explored* fastest_runnable() const;  ///< null where weft run can run none
  const Explored* fastest_named() const;     ///< null where there are hybrids only
};

struct LayerAnswer {
  std::int64_t size = 0;
  double serial_us = 0;  ///< the whole layer
  double saved_us = 0;   ///< by the advised schedules of its pairs
};

struct Exploration {
  std::vector<Answer> answers;      ///< by size, then by pair, then the layer that they belong to
  std::vector<LayerAnswer> layers;  ///< by size; empty for plain sizes
  std::size_t simulated = 0;        ///< schedules
};

/// How many schedules of a pair are looked at, unless its named families are more.
inline constexpr std::size_t usual_schedules = 60;
/// Of hybrids whose GEMM has a limit: as many SMs as a limit of 16 CTAs needs.
inline constexpr int sms_kept_free = 16;

struct ExploreOptions {
  /// Where a pair has fewer schedules by name, the most likely hybrids (likely_hybrids.hpp) are added until there are
  /// so many that run, or no more hybrids.
  std::size_t least_schedules = 0;
  /// Which schedules are asked for their losses, besides the winner and serial: a dozen simulations each.
  bool why_all = false;
  std::string why = {};  ///< the id of one, in words as in the ranking
  /// Called after each schedule of a pair, with how many are done and how many there are.
  std::function<void(std::size_t, std::size_t)> progress = {};
};

Exploration explore(const scenarios::Scenario& scenario, const Machine& machine, const ExploreOptions& options = {});

/// One pair at one size; `simulated` counts the schedules up.
Answer explore_pair(const scenarios::Question& question, std::int64_t size, const scenarios::Scenario& scenario,
                    const Machine& machine, std::size_t& simulated, const ExploreOptions& options = {});

}  // namespace weft::scenarios::study
