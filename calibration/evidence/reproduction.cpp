#include "calibration/evidence/reproduction.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <numeric>

#include "models/base/input_error.hpp"
#include "models/check/schedule_file.hpp"
#include "scenarios/ficco_rule.hpp"
#include "scenarios/study/inefficiency.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

/// Where several fail, the first of them in order is told: the same in every run.
template <class Work>
void on_all_cores(std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

using scenarios::Case;

bool is_loss(Quantity quantity) {
  return quantity == Quantity::gemm_dil || quantity == Quantity::transfer_dil || quantity == Quantity::gemm_cil ||
         quantity == Quantity::transfer_cil;
}

/// Predictions of the cases of one machine, each simulated once however many claims ask for it.
class Predictions {
 public:
  void add(const Claim& claim, const Observation& observation) {
    for (const auto* cases : {&observation.cases, &observation.over, &observation.without})
      for (const Case& one : *cases) {
        Entry& entry = entries_[one.id];
        entry.request = &one;
        entry.spans |= !observation.operations.empty();
        entry.losses |= is_loss(claim.quantity);
      }
  }

  /// On all cores.
  void simulate(const Machine& machine, ProgressCounter& progress) {
    std::vector<Entry*> all;
    for (auto& [id, entry] : entries_) all.push_back(&entry);
    on_all_cores(all.size(), [&](std::size_t i) {
      try {
        sim::SimulatedExecutor executor({.spans = all[i]->spans, .mechanisms = {}, .given_us = {}});
        all[i]->prediction = scenarios::study::predict(*all[i]->request, machine, executor);
        if (all[i]->losses)
          all[i]->inefficiency = scenarios::study::InefficiencyAccount(machine, sim::simulate).of(*all[i]->request);
      } catch (const InputError& error) {
        throw error.in_file("case " + all[i]->request->id);
      }
      progress.add();
    });
  }

  std::size_t count() const { return entries_.size(); }
  const scenarios::study::Prediction& of(const Case& request) const { return entries_.at(request.id).prediction; }
  const scenarios::study::Inefficiency& losses_of(const Case& request) const {
    return entries_.at(request.id).inefficiency;
  }

 private:
  struct Entry {
    const Case* request = nullptr;
    bool spans = false, losses = false;  ///< asked for
    scenarios::study::Prediction prediction;
    scenarios::study::Inefficiency inefficiency;
  };
  std::map<std::string, Entry> entries_;
};

/// Of the operations on GPU 0 with `part` in their names, in one of the schedule's equal parts.
double operations_us(const scenarios::study::Prediction& prediction, const std::string& part) {
  double sum = 0;
  bool found = false;
  for (const Span& span : prediction.trace.spans)
    if (span.gpu == 0 && span.operation.find(part) != std::string::npos) {
      sum += span.end_us - span.start_us;
      found = true;
    }
  if (!found) throw InputError("operations", "expected a part of an operation's name, got \"" + part + "\"");
  return sum / prediction.schedule.repeats_per_iteration;
}

/// Of whole iterations where `operations` is empty.
double times_us(const std::vector<Case>& cases, const Predictions& predictions, const std::string& operations = "") {
  double sum = 0;
  for (const Case& one : cases)
    sum += operations.empty() ? predictions.of(one).time_us : operations_us(predictions.of(one), operations);
  return sum;
}

double rule_share(const std::vector<Case>& cases, const Predictions& predictions, const Machine& machine) {
  double fastest_us = 0, rule_us = 0;
  for (const Case& one : cases) {
    const double time_us = predictions.of(one).time_us;
    if (fastest_us == 0 || time_us < fastest_us) fastest_us = time_us;
    const auto* pair = std::get_if<scenarios::PairWorkload>(&one.workload);
    const auto* family = std::get_if<scenarios::Ficco>(&one.schedule.family);
    if (pair == nullptr || family == nullptr) throw InputError(one.id, "expected a pair under a schedule of ficco");
    if (*family == scenarios::ficco_rule(*pair, machine)) rule_us = time_us;
  }
  if (rule_us == 0) throw InputError("cases", "expected the schedule that the rule chooses among them");
  return fastest_us / rule_us;
}

Span span_of(const Trace& trace, const std::string& operation) {
  for (const Span& span : trace.spans)
    if (span.gpu == 0 && span.operation == operation) return span;
  throw InputError("operation", "expected an operation of the schedule, got \"" + operation + "\"");
}

double hidden_share(const HiddenOperation& hidden, const Machine& machine) {
  const Trace trace = sim::simulate(read_schedule(hidden.schedule), machine);
  const Span span = span_of(trace, hidden.operation), beside = span_of(trace, hidden.beside);
  const double both_us = std::min(span.end_us, beside.end_us) - std::max(span.start_us, beside.start_us);
  return std::max(both_us, 0.0) / (span.end_us - span.start_us);
}

int stages_of(const scenarios::study::Prediction& prediction) {
  const auto* staged = std::get_if<scenarios::Staged>(&prediction.choice.family);
  if (staged == nullptr) throw InputError("cases", "expected a schedule of the family staged");
  return *staged->stages;
}

double value_of(Quantity quantity, const Observation& observation, const Predictions& predictions,
                const Machine& machine) {
  const auto predicted = [&]() -> const scenarios::study::Prediction& {
    return predictions.of(observation.cases.front());
  };
  const auto losses = [&]() -> const scenarios::study::Inefficiency& {
    return predictions.losses_of(observation.cases.front());
  };
  const auto cases_us = [&] { return times_us(observation.cases, predictions, observation.operations); };
  switch (quantity) {
    case Quantity::speedup:
      return predicted().serial_us / predicted().time_us;
    case Quantity::ideal_speedup:
      return predicted().serial_us / predicted().bound_us;
    case Quantity::share_of_bound:
      return predicted().bound_us / predicted().time_us;
    case Quantity::time_us:
      return cases_us();
    case Quantity::time_ratio:
      return cases_us() / (times_us(observation.over, predictions) - times_us(observation.without, predictions));
    case Quantity::gemm_dil:
      return losses().gemm_dil;
    case Quantity::transfer_dil:
      return losses().transfer_dil;
    case Quantity::gemm_cil:
      return losses().gemm_cil;
    case Quantity::transfer_cil:
      return losses().transfer_cil;
    case Quantity::rule_share:
      return rule_share(observation.cases, predictions, machine);
    case Quantity::stages:
      return stages_of(predicted());
    case Quantity::hidden_share:
      return hidden_share(*observation.hidden, machine);
  }
  return 0;
}

double summary_of(Summary summary, const std::vector<double>& values) {
  if (summary == Summary::largest) return *std::max_element(values.begin(), values.end());
  if (summary == Summary::smallest) return *std::min_element(values.begin(), values.end());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Profile {
  Machine machine;
  Predictions predictions;
};

struct AskedObservation {
  const Claim* claim;
  const Observation* observation;
  const Profile* profile;
  double value = 0;
};

double ask(const AskedObservation& one) {
  try {
    return value_of(one.claim->quantity, *one.observation, one.profile->predictions, one.profile->machine);
  } catch (const InputError& error) {
    throw error.in_file("claim " + one.claim->id + ": " + one.observation->name);
  }
}

}  // namespace

std::size_t Verdict::holding() const {
  return static_cast<std::size_t>(std::count_if(observations.begin(), observations.end(),
                                                [](const Simulated& observation) { return observation.holds; }));
}

bool holds(double value, const Range& published, double tolerance) {
  return (!published.low || value >= *published.low - tolerance * std::abs(*published.low)) &&
         (!published.high || value <= *published.high + tolerance * std::abs(*published.high));
}

Verdict verdict_on(const Claim& claim, const std::vector<double>& values) {
  Verdict verdict;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& own = claim.observations[i].published;
    verdict.observations.push_back({values[i], holds(values[i], own ? *own : *claim.published, claim.tolerance)});
  }
  if (claim.summary == Summary::each) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    verdict.low = *low, verdict.high = *high;
    verdict.holds = verdict.holding() == values.size();
  } else {
    verdict.low = verdict.high = summary_of(claim.summary, values);
    verdict.holds = holds(verdict.low, *claim.published, claim.tolerance);
  }
  return verdict;
}

std::vector<Verdict> reproduce(const ClaimFile& file, const std::function<Machine(const std::string&)>& machine,
                               const Progress& progress) {
  std::map<std::string, Profile> profiles;
  std::vector<AskedObservation> asked;
  for (const Claim& claim : file.claims) {
    if (!profiles.contains(claim.machine)) profiles.emplace(claim.machine, Profile{machine(claim.machine), {}});
    Profile& profile = profiles.at(claim.machine);
    for (const Observation& observation : claim.observations) {
      asked.push_back({&claim, &observation, &profile});
      profile.predictions.add(claim, observation);
    }
  }
  std::size_t cases = 0;
  for (const auto& [name, profile] : profiles) cases += profile.predictions.count();
  ProgressCounter counter(progress, cases);
  for (auto& [name, profile] : profiles) profile.predictions.simulate(profile.machine, counter);
  on_all_cores(asked.size(), [&](std::size_t i) { asked[i].value = ask(asked[i]); });
  std::vector<Verdict> verdicts;
  auto next = asked.begin();
  for (const Claim& claim : file.claims) {
    std::vector<double> values;
    for (std::size_t i = 0; i < claim.observations.size(); ++i) values.push_back((next++)->value);
    verdicts.push_back(verdict_on(claim, values));
  }
  return verdicts;
}

std::vector<Shortfall> shortfalls(const ClaimFile& file, const std::vector<Verdict>& verdicts) {
  std::vector<Shortfall> found;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].holds) continue;
    const std::string& note = file.claims[i].note;
    const std::string reason = note.empty() ? "The reason is not known." : note;
    auto known = std::ranges::find(found, reason, &Shortfall::reason);
    if (known == found.end()) known = found.insert(known, {reason, {}});
    known->claims.push_back(i + 1);
  }
  return found;
}

}  // namespace weft::calibration::evidence
