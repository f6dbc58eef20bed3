#include "calibration/evidence/reproduction.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "calibration/evidence/perfect_overlap.hpp"
#include "models/base/input_error.hpp"
#include "models/check/schedule_file.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/ficco_rule.hpp"
#include "scenarios/study/inefficiency.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

using scenarios::Case;

bool is_loss(Quantity quantity) {
  return quantity == Quantity::gemm_dil || quantity == Quantity::transfer_dil || quantity == Quantity::gemm_cil ||
         quantity == Quantity::transfer_cil;
}

/// Predictions of the cases of one machine, each simulated once however many claims ask for it.
class Predictions {
 public:
  void add(const Claim& claim, const Observation& observation) {
    for (const auto* cases : {&observation.cases, &observation.less, &observation.over, &observation.without})
      for (const Case& one : *cases) {
        Entry& entry = entries_[key_of(one)];
        entry.request = &one;
        entry.spans |= !(observation.operations.empty() && observation.over_operations.empty());
        entry.losses |= is_loss(claim.quantity);
      }
  }

  /// On all cores.
  void simulate(const Machine& machine, ProgressCounter& progress) {
    std::vector<Entry*> all;
    for (auto& [key, entry] : entries_) all.push_back(&entry);
    scenarios::study::for_each_index(all.size(), [&](std::size_t i) {
      try {
        sim::SimulatedExecutor executor({.spans = all[i]->spans, .mechanisms = {}, .given_us = {}});
        all[i]->prediction = scenarios::study::predict(*all[i]->request, machine, executor);
        if (all[i]->losses) {
          scenarios::study::InefficiencyAccount account(machine, sim::simulate);
          all[i]->inefficiency = account.of(*all[i]->request);
          all[i]->contention = account.without_waits(*all[i]->request);
        }
      } catch (const InputError& error) {
        throw error.in_file("case " + all[i]->request->id);
      }
      progress.add();
    });
  }

  std::size_t count() const { return entries_.size(); }
  const scenarios::study::Prediction& of(const Case& request) const { return entries_.at(key_of(request)).prediction; }
  const scenarios::study::Inefficiency& losses_of(const Case& request) const {
    return entries_.at(key_of(request)).inefficiency;
  }
  const scenarios::study::Contention& contention_of(const Case& request) const {
    return entries_.at(key_of(request)).contention;
  }

 private:
  /// Claims that are timed in other ways may ask for one case.
  using Key = std::tuple<std::string, double, L2Before>;
  static Key key_of(const Case& one) { return {one.id, one.condition.timing.added_us, one.condition.timing.l2}; }
  struct Entry {
    const Case* request = nullptr;
    bool spans = false, losses = false;  ///< asked for
    scenarios::study::Prediction prediction;
    scenarios::study::Inefficiency inefficiency;
    scenarios::study::Contention contention;
  };
  std::map<Key, Entry> entries_;
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

/// As the source times them; whole iterations where `operations` is empty.
double times_us(const std::vector<Case>& cases, const Predictions& predictions,
                const std::vector<std::string>& operations = {}) {
  double sum = 0;
  for (const Case& one : cases) {
    sum += operations.empty() ? predictions.of(one).time_us : one.condition.timing.added_us;
    for (const std::string& part : operations) sum += operations_us(predictions.of(one), part);
  }
  return sum;
}

std::vector<double> times_of_each_us(const std::vector<Case>& cases, const Predictions& predictions) {
  std::vector<double> times_us;
  for (const Case& one : cases) times_us.push_back(predictions.of(one).time_us);
  return times_us;
}

/// Of each case, the time of the fastest over its own.
std::vector<double> shares_of_fastest(const std::vector<Case>& cases, const Predictions& predictions) {
  std::vector<double> shares = times_of_each_us(cases, predictions);
  const double fastest_us = *std::min_element(shares.begin(), shares.end());
  for (double& share : shares) share = fastest_us / share;
  return shares;
}

double rule_share(const std::vector<Case>& cases, const Predictions& predictions, const Machine& machine) {
  const std::vector<double> shares = shares_of_fastest(cases, predictions);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    const auto* pair = std::get_if<scenarios::PairWorkload>(&one.workload);
    const auto* family = std::get_if<scenarios::Ficco>(&one.schedule.family);
    if (pair == nullptr || family == nullptr) throw InputError(one.id, "expected a pair under a schedule of ficco");
    if (*family == scenarios::ficco_rule(*pair, machine)) return shares[i];
  }
  throw InputError("cases", "expected the schedule that the rule chooses among them");
}

Span span_of(const Trace& trace, const std::string& operation) {
  for (const Span& span : trace.spans)
    if (span.gpu == 0 && span.operation == operation) return span;
  throw InputError("operation", "expected an operation of the schedule, got \"" + operation + "\"");
}

struct TwoSpans {
  Span operation, beside;
};
TwoSpans spans_of(const OperationBeside& asked, const Machine& machine) {
  const Trace trace = sim::simulate(read_schedule(asked.schedule), machine);
  return {span_of(trace, asked.operation), span_of(trace, asked.beside)};
}

double hidden_share(const TwoSpans& spans) {
  const auto& [span, beside] = spans;
  const double both_us = std::min(span.end_us, beside.end_us) - std::max(span.start_us, beside.start_us);
  return std::max(both_us, 0.0) / (span.end_us - span.start_us);
}

double start_share(const TwoSpans& spans) {
  const auto& [span, beside] = spans;
  return std::clamp((span.start_us - beside.start_us) / (beside.end_us - beside.start_us), 0.0, 1.0);
}

Schedule without(Schedule schedule, const std::string& name) {
  std::vector<Operation> kept;
  std::vector<OperationId> place(schedule.operations.size(), -1);
  for (std::size_t id = 0; id < place.size(); ++id) {
    Operation& operation = schedule.operations[id];
    if (operation.name == name) continue;
    std::erase_if(operation.after, [&](const After& one) { return place[one.operation] < 0; });
    for (After& one : operation.after) one.operation = place[one.operation];
    place[id] = static_cast<OperationId>(kept.size());
    kept.push_back(std::move(operation));
  }
  schedule.operations = std::move(kept);
  return schedule;
}

double slowdown(const OperationBeside& asked, const Machine& machine) {
  const auto operation_us = [&](const Schedule& schedule) {
    const Span span =
        span_of(sim::simulate(schedule, machine, {.spans = true, .mechanisms = {.power = false}, .given_us = {}}),
                asked.operation);
    return span.end_us - span.start_us;
  };
  const Schedule schedule = read_schedule(asked.schedule);
  return operation_us(schedule) / operation_us(without(schedule, asked.beside));
}

int stages_of(const scenarios::study::Prediction& prediction) {
  const auto* staged = std::get_if<scenarios::Staged>(&prediction.choice.family);
  if (staged == nullptr) throw InputError("cases", "expected a schedule of the family staged");
  return *staged->stages;
}

double value_of(const Claim& claim, const Observation& observation, const Predictions& predictions,
                const Machine& machine) {
  const auto predicted = [&]() -> const scenarios::study::Prediction& {
    return predictions.of(observation.cases.front());
  };
  const auto losses = [&]() -> const scenarios::study::Inefficiency& {
    return predictions.losses_of(observation.cases.front());
  };
  const auto contention = [&]() -> const scenarios::study::Contention& {
    return predictions.contention_of(observation.cases.front());
  };
  const auto cases_us = [&] { return times_us(observation.cases, predictions, observation.operations); };
  const auto whole_us = [&](const std::vector<Case>& cases) { return times_us(cases, predictions); };
  const auto over_us = [&] { return times_us(observation.over, predictions, observation.over_operations); };
  switch (claim.quantity) {
    case Quantity::speedup:
      return predicted().serial_us / predicted().time_us;
    case Quantity::ideal_speedup:
      return predicted().serial_us / predicted().bound_us;
    case Quantity::ideal_overlap:
      return predicted().serial_us / parts_without_losses_us(observation.cases.front(), machine);
    case Quantity::share_of_bound:
      return predicted().bound_us / predicted().time_us;
    case Quantity::time_us:
      return cases_us();
    case Quantity::time_ratio:
      return (cases_us() - whole_us(observation.less)) / (over_us() - whole_us(observation.without));
    case Quantity::share_of_waves:
      return wave_bound_us(observation.cases.front(), machine) / predicted().time_us;
    case Quantity::gemm_dil:
      return losses().gemm_dil;
    case Quantity::transfer_dil:
      return losses().transfer_dil;
    case Quantity::gemm_cil:
      return contention().gemm;
    case Quantity::transfer_cil:
      return contention().transfer;
    case Quantity::rule_share:
      return rule_share(observation.cases, predictions, machine);
    case Quantity::stages:
      return stages_of(predicted());
    case Quantity::hidden_share:
      return hidden_share(spans_of(*observation.beside, machine));
    case Quantity::start_share:
      return start_share(spans_of(*observation.beside, machine));
    case Quantity::slowdown:
      return slowdown(*observation.beside, machine);
  }
  return 0;
}

double summary_of(Summary summary, const std::vector<double>& values) {
  switch (summary) {
    case Summary::largest:
      return *std::max_element(values.begin(), values.end());
    case Summary::smallest:
      return *std::min_element(values.begin(), values.end());
    case Summary::each:  // of one value
    case Summary::mean:
    case Summary::mean_error:
      break;
  }
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
  Answer answer;
};

Answer answer_of(const Claim& claim, const Observation& observation, const Profile& profile) {
  Answer answer{value_of(claim, observation, profile.predictions, profile.machine), {}, {}};
  if (observation.published_us)
    answer.time_us = times_us(observation.cases, profile.predictions, observation.operations);
  if (claim.quantity == Quantity::rule_share)
    answer.other_values = shares_of_fastest(observation.cases, profile.predictions);
  return answer;
}

Answer ask(const AskedObservation& one) {
  try {
    return answer_of(*one.claim, *one.observation, *one.profile);
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

/// Of a published 0 the difference itself.
double distance_from(double value, const Range& published) {
  const auto error = [value](double end) { return end == 0 ? value : value / end - 1; };
  if (published.high && value > *published.high) return error(*published.high);
  if (published.low && value < *published.low) return error(*published.low);
  return 0;
}

namespace {

const Range& published_of(const Claim& claim, std::size_t observation) {
  const auto& own = claim.observations[observation].published;
  return own ? *own : *claim.published;
}

Simulated simulated(const Claim& claim, std::size_t observation, const Answer& answer) {
  const Range& published = published_of(claim, observation);
  Simulated one{answer.value, distance_from(answer.value, published), holds(answer.value, published, claim.tolerance)};
  if (answer.time_us) {
    const double published_us = *claim.observations[observation].published_us;
    const double time_error = *answer.time_us / published_us - 1;
    one.holds = one.holds && std::abs(time_error) <= claim.tolerance;
    if (std::abs(time_error) > std::abs(one.error)) one.error = time_error;
  }
  return one;
}

/// `picked`: of an observation's answers, which is picked.
template <class Picked>
bool blind_holds(const Claim& claim, const std::vector<Answer>& answers, const Picked& picked) {
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!holds(picked(answers[i].other_values), published_of(claim, i), claim.tolerance)) return false;
  return true;
}

BlindAnswers blind_answers(const Claim& claim, const std::vector<Answer>& answers) {
  BlindAnswers blind;
  for (std::size_t position = 0; position < answers.front().other_values.size(); ++position)
    blind.constant_holds = blind.constant_holds || blind_holds(claim, answers, [&](const std::vector<double>& values) {
                             return values[std::min(position, values.size() - 1)];
                           });
  blind.random_holds =
      blind_holds(claim, answers, [](const std::vector<double>& values) { return summary_of(Summary::mean, values); });
  return blind;
}

double mean_error(const std::vector<Simulated>& observations) {
  double sum = 0;
  for (const Simulated& one : observations) sum += std::abs(one.error);
  return sum / static_cast<double>(observations.size());
}

/// Of `each` and of `mean_error`.
void judge_each(Verdict& verdict, const Claim& claim, const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  verdict.low = *low, verdict.high = *high;
  verdict.mean_error = mean_error(verdict.observations);
  verdict.holds =
      claim.summary == Summary::each ? verdict.holding() == values.size() : verdict.mean_error <= claim.tolerance;
}

void judge_summary(Verdict& verdict, const Claim& claim, const std::vector<double>& values) {
  verdict.low = verdict.high = summary_of(claim.summary, values);
  verdict.mean_error = std::abs(distance_from(verdict.low, *claim.published));
  verdict.holds = holds(verdict.low, *claim.published, claim.tolerance);
}

}  // namespace

Verdict verdict_on(const Claim& claim, const std::vector<Answer>& answers) {
  Verdict verdict;
  std::vector<double> values;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    verdict.observations.push_back(simulated(claim, i, answers[i]));
    values.push_back(answers[i].value);
  }
  const bool is_of_each = claim.summary == Summary::each || claim.summary == Summary::mean_error;
  (is_of_each ? judge_each : judge_summary)(verdict, claim, values);
  if (claim.quantity == Quantity::rule_share) {
    verdict.blind = blind_answers(claim, answers);
    verdict.holds = verdict.holds && !verdict.blind->constant_holds && !verdict.blind->random_holds;
  }
  return verdict;
}

namespace {

Machine with_numbers(Machine machine, const std::vector<OtherNumber>& numbers) {
  for (const OtherNumber& number : numbers) number_of(machine, number.section, number.key) = number.value;
  return machine;
}

/// Claims of one machine with the same numbers share their predictions.
std::string name_of_profile(const Claim& claim) {
  std::string name = claim.machine;
  for (const OtherNumber& number : claim.numbers)
    name += " " + number.section + "." + number.key + " " + std::to_string(number.value);
  return name;
}

}  // namespace

std::vector<Verdict> reproduce(const ClaimFile& file, const std::function<Machine(const std::string&)>& machine,
                               const Progress& progress) {
  std::map<std::string, Profile> profiles;
  std::vector<AskedObservation> asked;
  for (const Claim& claim : file.claims) {
    const std::string name = name_of_profile(claim);
    if (!profiles.contains(name))
      profiles.emplace(name, Profile{with_numbers(machine(claim.machine), claim.numbers), {}});
    Profile& profile = profiles.at(name);
    for (const Observation& observation : claim.observations) {
      asked.push_back({&claim, &observation, &profile, {}});
      profile.predictions.add(claim, observation);
    }
  }
  std::size_t cases = 0;
  for (const auto& [name, profile] : profiles) cases += profile.predictions.count();
  ProgressCounter counter(progress, cases);
  for (auto& [name, profile] : profiles) profile.predictions.simulate(profile.machine, counter);
  scenarios::study::for_each_index(asked.size(), [&](std::size_t i) { asked[i].answer = ask(asked[i]); });
  std::vector<Verdict> verdicts;
  auto next = asked.begin();
  for (const Claim& claim : file.claims) {
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < claim.observations.size(); ++i) answers.push_back(std::move((next++)->answer));
    verdicts.push_back(verdict_on(claim, answers));
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
