#include "scenarios/study/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/schedule_words.hpp"
#include "scenarios/study/composed_layer.hpp"

namespace weft::scenarios::study {
namespace {

/// Which schedules are looked at: all, those that something of today runs, or those that other software than weft does.
enum class RunBy { anyone, software_of_today, other_software };

bool is_run_by(RunBy who, const Explored& one) {
  switch (who) {
    case RunBy::anyone:
      return true;
    case RunBy::software_of_today:
      return runs_today(one);
    case RunBy::other_software:
      return !one.other_software.empty();
  }
  return false;
}

bool is_run_by(RunBy who, const Plan& plan) {
  return std::ranges::all_of(plan.schedules, [who](const auto& one) { return is_run_by(who, *one.second); });
}

/// What is advised of an answer among the schedules that are looked at; null: serial.
const Explored* advised(const Answer& answer, RunBy who, Rule rule) {
  if (who == RunBy::anyone) return answer.ranking.overlap_pays() ? &answer.advice() : nullptr;
  const Explored* best = nullptr;
  double most = 0;
  for (const Explored& one : answer.fastest_first)
    if (const double gain = promised_gain(one.candidate.odds, rule);
        is_run_by(who, one) && one.candidate.may_be_advised() && gain > most)
      best = &one, most = gain;
  return best;
}

double normal_share_below(double deviations) { return std::erfc(-deviations / std::sqrt(2)) / 2; }

/// The odds over a baseline of whose time that which they are over is `share`: as much is known of either, and the
/// probability is that of errors spread normally with the same mean and worst of twenty.
Odds over_baseline(const Odds& odds, double share) {
  if (share == 1) return odds;
  constexpr double worst_of_twenty = 1.645;  // standard deviations below the mean
  const double spread = share * (odds.gain - odds.worst_gain) / worst_of_twenty, gain = 1 - share * (1 - odds.gain);
  const double faster = spread > 0 ? normal_share_below(gain / spread) : gain > 0 ? 1 : 0;
  return {.faster = faster, .gain = gain, .worst_gain = 1 - share * (1 - odds.worst_gain)};
}

/// The answers at one size, and what they are compared with.
class SizeStudy {
 public:
  SizeStudy(const Exploration& exploration, const Scenario& scenario, std::int64_t size)
      : exploration_(exploration), scenario_(scenario), size_(size) {}

  SizePlans plans() const {
    SizePlans plans{.size = size_, .baseline = serial(forms().front()), .best = {}, .runnable = {}, .of_others = {}};
    plans.best = best(plans.baseline, RunBy::anyone);
    if (!plans.pays()) return plans;
    if (!is_run_by(RunBy::software_of_today, plans.best))
      plans.runnable = best(plans.baseline, RunBy::software_of_today);
    if (!is_run_by(RunBy::other_software, plans.runnable.value_or(plans.best)))
      plans.of_others = best(plans.baseline, RunBy::other_software);
    return plans;
  }

 private:
  using Form = std::optional<LayerForm>;

  /// With pairs alone, of both forms, there is no telling which form is better: only the first is looked at.
  std::vector<Form> forms() const {
    if (scenario_.forms.empty()) return {std::nullopt};
    if (exploration_.layers.empty()) return {scenario_.forms.front()};
    return {scenario_.forms.begin(), scenario_.forms.end()};
  }

  std::vector<const Answer*> answers(Form form, bool of_layer) const {
    std::vector<const Answer*> found;
    for (const Answer& answer : exploration_.answers)
      if (answer.size == size_ && answer.form == form && (scenario_.model && answer.is_of_layer()) == of_layer)
        found.push_back(&answer);
    return found;
  }

  std::string name(Form form, const std::string& what) const {
    return (form ? std::string(words_of(*form)) + ", " : "") + what;
  }

  Plan serial(Form form) const {
    Plan plan{.name = name(form, "serial"), .time_us = 0, .odds = {}, .schedules = {}};
    for (const LayerAnswer& layer : exploration_.layers)
      if (layer.size == size_ && layer.form == form) plan.time_us = layer.serial_us;
    if (plan.time_us == 0)
      for (const Answer* pair : answers(form, false)) plan.time_us += pair->ranking.reference().estimate.time_us;
    return plan;
  }

  /// Where no whole layer is simulated. Gains are shares of the baseline's time, those of a case go together; the
  /// probability is that of the pair which saves most.
  Plan overlapped_pairs(Form form, const Plan& baseline, RunBy who) const {
    Plan plan = serial(form);
    plan.name = name(form, "pairs overlapped");
    plan.odds.gain = plan.odds.worst_gain = 1 - plan.time_us / baseline.time_us;
    double most = 0;
    for (const Answer* pair : answers(form, false)) {
      const Explored* schedule = advised(*pair, who, exploration_.rule);
      if (schedule == nullptr) continue;
      const Candidate& choice = schedule->candidate;
      const double serial_us = pair->ranking.reference().estimate.time_us;
      plan.time_us += choice.estimate.time_us - serial_us;
      plan.schedules.emplace_back(pair->pair, schedule);
      plan.odds.gain += choice.odds.gain * serial_us / baseline.time_us;
      plan.odds.worst_gain += choice.odds.worst_gain * serial_us / baseline.time_us;
      if (const double saved = choice.odds.gain * serial_us; saved > most)
        most = saved, plan.odds.faster = choice.odds.faster;
    }
    return plan;
  }

  std::vector<Plan> whole_layers(Form form, const Plan& baseline, RunBy who) const {
    std::vector<Plan> plans;
    for (const Answer* layer : answers(form, true))
      if (const Explored* schedule = advised(*layer, who, exploration_.rule); schedule != nullptr) {
        const Candidate& choice = schedule->candidate;
        const double share = layer->ranking.reference().estimate.time_us / baseline.time_us;
        plans.push_back({.name = name(form, kind_of(choice.request.schedule)),
                         .time_us = choice.estimate.time_us,
                         .odds = over_baseline(choice.odds, share),
                         .schedules = schedules_of(schedule, form),
                         .layer = schedule});
      }
    return plans;
  }

  /// Of a layer that is made of its pairs' schedules, those.
  std::vector<std::pair<std::string, const Explored*>> schedules_of(const Explored* layer, Form form) const {
    if (const auto* pairs = std::get_if<Pairs>(&layer->candidate.request.schedule.family))
      return parts_of(*pairs, answers(form, false));
    return {{"", layer}};
  }

  Plan best(const Plan& baseline, RunBy who) const {
    Plan best = baseline;
    const auto promised = [&](const Plan& plan) { return promised_gain(plan.odds, exploration_.rule); };
    const auto consider = [&](Plan plan) {
      if (!plan.schedules.empty() && promised(plan) > promised(best)) best = std::move(plan);
    };
    for (const Form form : forms()) {
      if (exploration_.layers.empty()) consider(overlapped_pairs(form, baseline, who));
      for (Plan& plan : whole_layers(form, baseline, who)) consider(std::move(plan));
    }
    return best;
  }

  const Exploration& exploration_;
  const Scenario& scenario_;
  std::int64_t size_;
};

double attention_weights(const ModelConfig& model) {
  const auto hidden = static_cast<double>(model.hidden), heads = static_cast<double>(model.heads),
             head_dim = static_cast<double>(model.head_dim), kv_heads = static_cast<double>(model.kv_heads);
  if (!model.latent) return hidden * head_dim * (2 * heads + 2 * kv_heads);
  const LatentAttention& latent = *model.latent;
  const auto queries = static_cast<double>(latent.query_rank), keys = static_cast<double>(latent.key_value_rank);
  const auto rope = static_cast<double>(latent.rope_dim), nope = static_cast<double>(latent.nope_dim);
  const double query_weights =
      queries > 0 ? queries * (hidden + heads * (nope + rope)) : hidden * heads * (nope + rope);
  return query_weights + hidden * (keys + rope) + keys * heads * (nope + head_dim) + heads * head_dim * hidden;
}

double weight_bytes_of_layer(const ModelConfig& model) {
  const auto hidden = static_cast<double>(model.hidden), experts = static_cast<double>(model.experts);
  const auto mlp = [&](std::int64_t width) { return 3 * hidden * static_cast<double>(width); };
  const double of_all = attention_weights(model) + mlp(model.shared_intermediate);
  if (model.experts == 0) return (of_all + mlp(model.intermediate)) * model.weight_bytes;
  return of_all * model.weight_bytes + experts * mlp(model.intermediate) * model.expert_bytes;
}

Winner leading_schedule(const Verdict& verdict, const Exploration& exploration) {
  const Answer& most_gained = exploration.answers[exploration.most_gained()];
  Winner leading{&most_gained, &most_gained.advice()};
  const SizePlans* plans = largest_that_pays(verdict);
  if (plans == nullptr) return leading;
  double most_us = 0;
  for (const Answer& answer : exploration.answers)
    for (const auto& [pair, schedule] : plans->best.schedules)
      for (const Explored& one : answer.fastest_first) {
        const double gain_us = one.candidate.speedup * one.candidate.estimate.time_us * one.candidate.odds.gain;
        if (&one == schedule && gain_us > most_us) most_us = gain_us, leading = {&answer, &one};
      }
  return leading;
}

}  // namespace

std::size_t worth_looking_at(const Scenario& scenario) {
  return scenario.forms.size() > 1 ? usual_schedules_of_both_forms : usual_schedules;
}

const SizePlans* largest_that_pays(const Verdict& verdict) {
  const auto found =
      std::find_if(verdict.sizes.rbegin(), verdict.sizes.rend(), [](const SizePlans& one) { return one.pays(); });
  return found == verdict.sizes.rend() ? nullptr : &*found;
}

std::size_t leading_answer(const Verdict& verdict, const Exploration& exploration) {
  const Winner winner = leading_schedule(verdict, exploration);
  return static_cast<std::size_t>(winner.answer - exploration.answers.data());
}

Winner winner_of(const Verdict& verdict, const Exploration& exploration) {
  const SizePlans* plans = largest_that_pays(verdict);
  if (plans != nullptr && plans->best.layer != nullptr)
    for (const Answer& answer : exploration.answers)
      for (const Explored& one : answer.fastest_first)
        if (&one == plans->best.layer) return {&answer, &one};
  return leading_schedule(verdict, exploration);
}

MemoryNeed memory_need(const ModelConfig& model, std::int64_t tokens, int gpus, std::int64_t cached) {
  constexpr double bytes_of_GB = 1e9, bf16_bytes = 2;
  const auto rows = static_cast<double>(tokens), layers = static_cast<double>(model.layers);
  const std::int64_t own_kv_heads = std::max<std::int64_t>(model.kv_heads / gpus, 1);
  const double kept = model.latent ? static_cast<double>(model.latent->key_value_rank + model.latent->rope_dim)
                                   : static_cast<double>(2 * own_kv_heads * model.head_dim);
  const double mlp_rows = rows * static_cast<double>(std::max<std::int64_t>(model.experts_per_token, 1));
  const double activations = rows * static_cast<double>(3 * model.hidden + 2 * model.heads * model.head_dim / gpus) +
                             mlp_rows * 3 * static_cast<double>(model.intermediate) / gpus;
  return {.weights_GB = layers * weight_bytes_of_layer(model) / gpus / bytes_of_GB,
          .keys_values_GB = layers * static_cast<double>(tokens + cached) * kept * bf16_bytes / bytes_of_GB,
          .activations_GB = activations * bf16_bytes / bytes_of_GB};
}

bool SizePlans::overlaps() const {
  return std::ranges::any_of(best.schedules, [](const auto& one) {
    return !std::holds_alternative<Serial>(one.second->candidate.request.schedule.family);
  });
}

namespace {

std::vector<std::int64_t> uncut_sizes(const Exploration& exploration, const Scenario& scenario) {
  std::vector<std::int64_t> uncut;
  for (const std::int64_t size : scenario.sizes)
    if (std::ranges::any_of(exploration.answers, [size](const Answer& answer) {
          return answer.size == size && !answer.ranking.may_overlap();
        }))
      uncut.push_back(size);
  return uncut;
}

}  // namespace

Verdict verdict_of(const Exploration& exploration, const Scenario& scenario) {
  Verdict verdict;
  verdict.uncut = uncut_sizes(exploration, scenario);
  for (const std::int64_t size : scenario.sizes)
    verdict.sizes.push_back(SizeStudy(exploration, scenario, size).plans());
  const bool any_pays = std::ranges::any_of(verdict.sizes, &SizePlans::pays);
  verdict.overlaps = !any_pays || std::ranges::any_of(verdict.sizes, &SizePlans::overlaps);
  const double least_gain = verdict.largest().best.odds.gain >= little_gain ? little_gain : 0;
  std::vector<SizeVerdict> sizes;
  for (const SizePlans& plans : verdict.sizes)
    if (scenario.model || std::ranges::find(verdict.uncut, plans.size) == verdict.uncut.end())
      sizes.push_back(
          {plans.size, plans.best.odds.gain >= least_gain && (verdict.overlaps ? plans.overlaps() : plans.pays())});
  verdict.pays_from = crossover(sizes);
  verdict.is_of_layers = !exploration.layers.empty();
  if (!scenario.model) return verdict;
  verdict.layers = scenario.model->layers;
  verdict.memory = memory_need(*scenario.model, scenario.sizes.back(), scenario.gpus,
                               scenario.sequences * scenario.prefix + scenario.decoding * scenario.decoding_prefix);
  return verdict;
}

}  // namespace weft::scenarios::study
