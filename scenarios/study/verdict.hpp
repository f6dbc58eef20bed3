// The answer to a whole question: which way of running the layers is best at each size, from which size on overlap
// pays, what a prefill gains, with which odds, and what runs today.
//
// A plan is a way of running one layer: serial in a form, its pairs overlapped, or two token splits, each simulated as
// a whole layer. Where no layer is simulated (plain sizes, latent attention) a plan is about the pairs of one form
// alone.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

struct Plan {
  std::string name;  ///< "sequence parallel, pairs overlapped"
  double time_us = 0;
  Odds odds;  ///< over the baseline; of that all 0
  /// What differs from serial, by pair; "" for a whole layer.
  std::vector<std::pair<std::string, const Explored*>> schedules;
  const Explored* layer = nullptr;  ///< the whole layer that it is; null: of pairs alone
};

struct SizePlans {
  std::int64_t size = 0;
  Plan baseline;                 ///< the first form that was asked about, serial
  Plan best;                     ///< that promises most by the exploration's rule; the baseline where none gains
  std::optional<Plan> runnable;  ///< the best that software of today runs, where that of all is not
  /// The best that other software than weft runs, where neither of these is; the baseline where none of it gains.
  std::optional<Plan> of_others;

  bool pays() const { return !best.schedules.empty(); }
  /// It pays by more than faster collectives of serial schedules.
  bool overlaps() const;
};

/// Of one GPU; only what the layers need, no embeddings.
struct MemoryNeed {
  double weights_GB = 0;      ///< of all layers
  double keys_values_GB = 0;  ///< of the largest size, all layers
  double activations_GB = 0;  ///< of one layer at the largest size
  double total_GB() const { return weights_GB + keys_values_GB + activations_GB; }
};

/// An expected gain that is hardly worth a change.
inline constexpr double little_gain = 0.01;

struct Verdict {
  std::vector<SizePlans> sizes;  ///< ascending
  /// From which size on overlap pays at every size, by more than little where it does at the largest; empty: not at the
  /// largest.
  std::optional<std::int64_t> pays_from;
  bool overlaps = true;              ///< false: what pays are faster collectives alone, `pays_from` is theirs
  std::int64_t layers = 1;           ///< of a prefill; 1 for plain sizes
  std::optional<MemoryNeed> memory;  ///< of models
  bool is_of_layers = false;         ///< else of pairs alone
  std::vector<std::int64_t> uncut;   ///< sizes at which no schedule that overlaps fits the rows of some pattern

  const SizePlans& largest() const { return sizes.back(); }
};

/// Schedules are those of the exploration, which must outlive the verdict.
Verdict verdict_of(const Exploration& exploration, const Scenario& scenario);

/// How many schedules of each pair are looked at: fewer where both forms of a model are asked about.
std::size_t worth_looking_at(const Scenario& scenario);

/// Null: overlap pays at none.
const SizePlans* largest_that_pays(const Verdict& verdict);

struct Winner {
  const Answer* answer = nullptr;
  const Explored* schedule = nullptr;
};

/// At the largest size where overlap pays the layer that is advised, or, of pairs alone, the schedule that the plan
/// owes most to; where it pays at no size, the fastest of the answer that gains most.
Winner winner_of(const Verdict& verdict, const Exploration& exploration);

/// The answer that the plan of the largest size where overlap pays owes most to; else that which gains most.
std::size_t leading_answer(const Verdict& verdict, const Exploration& exploration);

/// With keys and values of `cached` tokens besides.
MemoryNeed memory_need(const ModelConfig& model, std::int64_t tokens, int gpus, std::int64_t cached = 0);

}  // namespace weft::scenarios::study
