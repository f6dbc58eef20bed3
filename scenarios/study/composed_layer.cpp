#include "scenarios/study/composed_layer.hpp"

#include <algorithm>
#include <array>

#include "scenarios/pair_schedule.hpp"

namespace weft::scenarios::study {
namespace {

/// A schedule of a pair, and what it is expected to save; serial where there is none.
struct Choice {
  std::optional<PairSchedule> schedule;
  double saved_us = 0;
  int row_chunks = 1;
};

std::vector<Choice> choices_of(const Answer& pair, bool ranks_own_rows,
                               const std::function<bool(const Explored&)>& is_allowed) {
  std::vector<Choice> choices{{}};
  const double serial_us = pair.ranking.reference().estimate.time_us;
  for (const Explored& one : pair.fastest_first) {
    const auto schedule = inside_layer(one.as_run);
    if (!schedule || !is_allowed(one) || !one.candidate.may_be_advised() || one.candidate.odds.gain <= 0) continue;
    if (ranks_own_rows && std::holds_alternative<Signaling>(schedule->family)) continue;
    choices.push_back({schedule, one.candidate.odds.gain * serial_us, row_chunks(*schedule)});
  }
  return choices;
}

/// Null where none has so many chunks; 0: any number.
const Choice* best_of(const std::vector<Choice>& choices, int row_chunks) {
  const Choice* best = nullptr;
  for (const Choice& one : choices)
    if ((row_chunks == 0 || one.row_chunks == row_chunks) && (best == nullptr || one.saved_us > best->saved_us))
      best = &one;
  return best;
}

/// The best two that order rows alike; both serial at worst.
std::array<const Choice*, 2> best_block(const std::vector<Choice>& gathering, const std::vector<Choice>& scattering) {
  std::array<const Choice*, 2> best{best_of(gathering, 1), best_of(scattering, 1)};
  for (const Choice& one : gathering) {
    const Choice* other = best_of(scattering, one.row_chunks);
    if (other != nullptr && one.saved_us + other->saved_us > best[0]->saved_us + best[1]->saved_us)
      best = {&one, other};
  }
  return best;
}

/// The keys of a layer's pairs, in its order: `count` of them, with an all-gather before the first of each block or
/// not.
std::vector<std::optional<PairSchedule> Pairs::*> keys_of(bool ranks_own_rows, std::size_t count) {
  std::vector<std::optional<PairSchedule> Pairs::*> keys{&Pairs::o, &Pairs::down};
  if (ranks_own_rows) keys = {&Pairs::qkv, &Pairs::o, &Pairs::gate_up, &Pairs::down};
  keys.resize(std::min(count, keys.size()));
  return keys;
}

}  // namespace

std::optional<Pairs> composed_layer(const std::vector<const Answer*>& pairs, const LayerWorkload& layer,
                                    const std::function<bool(const Explored&)>& is_allowed) {
  const bool ranks_own_rows = layer.sequence_parallel;
  std::vector<std::vector<Choice>> choices;
  for (const Answer* pair : pairs) choices.push_back(choices_of(*pair, ranks_own_rows, is_allowed));
  const auto keys = keys_of(ranks_own_rows, choices.size());
  Pairs composed;
  if (ranks_own_rows)
    for (std::size_t i = 0; i + 1 < keys.size(); i += 2) {
      const auto [gathering, scattering] = best_block(choices[i], choices[i + 1]);
      composed.*keys[i] = gathering->schedule, composed.*keys[i + 1] = scattering->schedule;
    }
  else
    for (std::size_t i = 0; i < keys.size(); ++i) composed.*keys[i] = best_of(choices[i], 0)->schedule;
  if (composed == Pairs{}) return std::nullopt;
  return composed;
}

std::vector<std::pair<std::string, const Explored*>> parts_of(const Pairs& layer,
                                                              const std::vector<const Answer*>& pairs) {
  std::vector<std::pair<std::string, const Explored*>> parts;
  const bool ranks_own_rows = !pairs.empty() && pairs.front()->form == LayerForm::sequence_parallel;
  const auto keys = keys_of(ranks_own_rows, pairs.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const Explored& one : pairs[i]->fastest_first)
      if (const auto& schedule = layer.*keys[i]; schedule && inside_layer(one.as_run) == schedule) {
        parts.emplace_back(pairs[i]->pair, &one);
        break;
      }
  return parts;
}

}  // namespace weft::scenarios::study
