// The answers to a scenario: every schedule of every pair at every size, ranked. What they lose time to is asked
// separately, of those that are shown (explanation.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/progress.hpp"
#include "models/cost/reordering_cost.hpp"
#include "models/machine/machine.hpp"
#include "models/machine/profile_grades.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/inefficiency.hpp"
#include "scenarios/study/losses.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {

struct Explored {
  Candidate candidate;
  ScheduleChoice as_run;  ///< searched values filled in
  double bound_us = 0;
  Limit limited_by = Limit::latency;
  std::optional<Grade> grade;                ///< where the grades of the profile are known
  double memory_GB = 0;                      ///< of its buffers, on each GPU
  bool runnable = false;                     ///< by weft run, today
  std::string not_runnable;                  ///< why it is not; else empty
  std::vector<std::string> other_software;   ///< that runs it today
  std::optional<Losses> losses;              ///< where explain() was asked for them
  std::optional<Inefficiency> inefficiency;  ///< of ficco with the library's number of CTAs, by explain()
  std::optional<NextKernelCost> reordering;  ///< of signaling; no part of the candidate's time
};

/// Whether software of today runs it: weft run, or another.
bool runs_today(const Explored& one);

/// One pair, or a whole layer, at one size.
struct Answer {
  std::string pair;
  std::optional<LayerForm> form;  ///< of the model's layer that it belongs to; empty for plain sizes
  std::int64_t size = 0;
  Ranking ranking;
  std::vector<Explored> fastest_first;
  std::size_t stuck = 0;  ///< hybrids that deadlock on this machine

  const Explored& fastest() const { return fastest_first.front(); }
  const Explored& advice() const { return fastest_first[ranking.advised]; }
  /// Else of a pair alone, or of a kernel.
  bool is_of_layer() const { return std::holds_alternative<LayerWorkload>(fastest().candidate.request.workload); }
  const Explored* fastest_runnable() const;  ///< null where weft run can run none
  const Explored* fastest_named() const;     ///< null where there are hybrids only
};

struct LayerAnswer {
  std::int64_t size = 0;
  LayerForm form = LayerForm::all_reduce;
  double serial_us = 0;          ///< the whole layer
  double saved_us = 0;           ///< by the advised schedules of its pairs inside of it; 0 where none is advised
  double saved_by_pairs_us = 0;  ///< by each of them alone, all together
};

struct Exploration {
  std::vector<Answer> answers;               ///< by size, then by pair, then the layer that they belong to
  std::vector<LayerAnswer> layers;           ///< by size, then by form; empty for plain sizes
  std::size_t simulated = 0;                 ///< schedules
  Rule rule = Rule::least_regret;            ///< by which they are advised
  std::optional<ProfileGrades> grades = {};  ///< by which assumed schedules were told

  /// Names of pairs, and "whole layer" where it has schedules, each once, in the order of the answers.
  std::vector<std::string> pairs() const;
  /// The answer whose fastest schedule gains most over serial. A layer only where no pair was asked about: of a model
  /// it is the pairs that people run.
  std::size_t most_gained() const;
};

/// Hybrids that are looked at however many named families there are.
inline constexpr std::size_t least_hybrids = 8;
/// How many schedules of a pair are looked at, unless its named families are more.
inline constexpr std::size_t usual_schedules = 60;
/// The same where both forms of a model are asked about, with six pairs a layer.
inline constexpr std::size_t usual_schedules_of_both_forms = 36;

struct ExploreOptions {
  /// The most likely hybrids (likely_hybrids.hpp) are added to a pair's schedules by name until there are so many that
  /// run, `least_hybrids` of them at least, or no more hybrids. 0: none are.
  std::size_t least_schedules = 0;
  /// A hybrid of this id is added as well, however unlikely it is; empty: none.
  std::string also = {};
  Rule rule = Rule::least_regret;  ///< by which schedules are advised
  /// Of the machine's profile: what rests on assumptions is advised only where everything does. None: all is advised.
  std::optional<ProfileGrades> grades = {};
  /// Not null: a pair's schedules are looked at one by one, in the order in which this exploration of the same patterns
  /// and sizes ranked them, until overlap pays. Answers say whether it does, but not by which schedule.
  const Exploration* until_it_pays_like = nullptr;
  Progress progress = {};  ///< of schedules
};

/// The scenario at one of its sizes. Throws InputError, field "size", where it has not got it.
Scenario only_size(const Scenario& scenario, std::int64_t size);

/// The scenario with every sensible hybrid, with and without SMs that are kept free of the GEMM for NCCL.
Scenario with_whole_space(const Scenario& scenario, const Machine& machine);

/// The schedules of the scenario are run on all cores; the answers are the same bits whatever their number.
/// Throws InputError where a schedule cannot be built, or where no pair has the hybrid that `also` names.
Exploration explore(const Scenario& scenario, const Machine& machine, Executor& executor,
                    const ExploreOptions& options = {});

/// One pair at one size; `simulated` counts the schedules up.
Answer explore_pair(const Question& question, std::int64_t size, const Scenario& scenario, const Machine& machine,
                    Executor& executor, std::size_t& simulated, const ExploreOptions& options = {});

}  // namespace weft::scenarios::study
