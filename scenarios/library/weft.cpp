// The library's interface: its plain values to ours and back. It asks the studies, and hands them the simulator.
#include "scenarios/library/weft.hpp"

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/check/check.hpp"
#include "models/check/schedule_file.hpp"
#include "models/report/trace_picture.hpp"
#include "models/report/writers.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/library/full_answer.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/report/html_report.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/study/comparison.hpp"
#include "scenarios/study/explanation.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/prediction_json.hpp"
#include "sim/simulated_executor.hpp"

namespace weft {
namespace {

namespace study = scenarios::study;
using nlohmann::json;

// --- Values ----------------------------------------------------------------------------------------------------

json json_of(const Fields& fields) {
  json object = json::object();
  for (const auto& [key, value] : fields)
    std::visit(
        [&object, &key = key](const auto& content) {
          if constexpr (std::is_same_v<decltype(content), const Fields&>)
            object[key] = json_of(content);
          else
            object[key] = content;
        },
        value.content);
  return object;
}

Fields fields_of(const json& object);

/// Of what case_json.hpp writes.
Value value_of(const json& value) {
  if (value.is_object()) return fields_of(value);
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.empty() && value.front().is_string()) return value.get<std::vector<std::string>>();
  return value.get<std::vector<std::int64_t>>();
}

Fields fields_of(const json& object) {
  Fields fields;
  for (const auto& [key, value] : object.items()) fields.emplace(key, value_of(value));
  return fields;
}

scenarios::Case read(const Case& request) {
  json object{{"id", request.id}, {"gpus", request.gpus}};
  object["workload"] = json_of(request.workload);
  object["schedule"] = json_of(request.schedule);
  if (request.measured_gemm_us) object["measured"]["gemm_us"] = *request.measured_gemm_us;
  if (request.measured_collective_us) object["measured"]["collective_us"] = *request.measured_collective_us;
  return scenarios::case_from_json(object);
}

/// For questions about a workload, whatever schedule the case has.
scenarios::Case read_with(const Case& request, Fields schedule) {
  Case other = request;
  other.schedule = std::move(schedule);
  return read(other);
}

Prediction written(const std::string& id, const study::Prediction& prediction) {
  return {.id = id,
          .time_us = prediction.time_us,
          .serial_us = prediction.serial_us,
          .bound_us = prediction.bound_us,
          .low_us = prediction.low_us,
          .high_us = prediction.high_us,
          .limited_by = std::string(name_of(prediction.limited_by)),
          .outside_calibration = prediction.outside_calibration,
          .runnable = prediction.runnable,
          .schedule = fields_of(scenarios::to_json(prediction.choice)),
          .json = study::to_json(id, prediction).dump()};
}

std::vector<Loss> written(const study::Losses& losses) {
  std::vector<Loss> parts;
  for (const auto& [cause, name] : NamesOf<study::Cause>::names)
    parts.push_back({std::string(text_of(cause)), static_cast<double>(losses.of(cause)) * 1e-6});
  return parts;
}

/// What an exploration and a prediction both say of a candidate.
template <class Said>
RankedSchedule written(const scenarios::Candidate& candidate, const Said& said) {
  return {.name = candidate.request.id,
          .schedule = fields_of(scenarios::to_json(candidate.request.schedule)),
          .time_us = candidate.estimate.time_us,
          .low_us = candidate.estimate.low_us,
          .high_us = candidate.estimate.high_us,
          .bound_us = said.bound_us,
          .speedup = candidate.speedup,
          .limited_by = std::string(name_of(said.limited_by)),
          .runnable = said.runnable,
          .probability_faster = candidate.odds.faster,
          .expected_gain = candidate.odds.gain,
          .worst_gain = candidate.odds.worst_gain,
          .losses = {}};
}

Ranking written(const study::Comparison& comparison) {
  Ranking ranking{.question = std::string(op_of(comparison.ranking.fastest().request.workload)),
                  .size = 0,
                  .fastest_first = {},
                  .serial = comparison.ranking.serial,
                  .advised = comparison.ranking.advised};
  for (std::size_t i = 0; i < comparison.fastest_first.size(); ++i)
    ranking.fastest_first.push_back(written(comparison.ranking.fastest_first[i], comparison.fastest_first[i]));
  return ranking;
}

Ranking written(const study::Answer& answer) {
  Ranking ranking{.question = answer.pair,
                  .size = answer.size,
                  .fastest_first = {},
                  .serial = answer.ranking.serial,
                  .advised = answer.ranking.advised};
  for (const study::Explored& one : answer.fastest_first) {
    ranking.fastest_first.push_back(written(one.candidate, one));
    if (one.losses) ranking.fastest_first.back().losses = written(*one.losses);
  }
  return ranking;
}

Simulation written(const Trace& trace) {
  Simulation simulation{.time_us = trace.time_us, .limited_by = std::string(name_of(trace.limited_by)), .spans = {}};
  for (const Span& span : trace.spans)
    simulation.spans.push_back({.operation = span.operation,
                                .stream = span.stream,
                                .gpu = span.gpu,
                                .start_us = span.start_us,
                                .end_us = span.end_us,
                                .limited_by = std::string(name_of(span.limit))});
  return simulation;
}

// --- Work ------------------------------------------------------------------------------------------------------

/// A schedule that gets stuck is bad input, too.
template <class Work>
auto asked(const Work& work) {
  try {
    return work();
  } catch (const ExecutionError& error) {
    throw InputError("schedule", error.what());
  }
}

study::Prediction predicted(const scenarios::Case& request, const Machine& machine,
                            const study::PredictionOptions& options = {}) {
  sim::SimulatedExecutor executor(sim::times_only);
  return study::predict(request, machine, executor, options);
}

Ranking compared(const std::vector<scenarios::Case>& cases, const Machine& machine, bool only_runnable = false) {
  sim::SimulatedExecutor executor(sim::times_only);
  return asked([&] { return written(study::compare(cases, machine, executor, only_runnable)); });
}

/// The schedule has been checked.
Trace simulated(const Schedule& schedule, const Machine& machine) {
  study::require_gpus(schedule.gpus, machine);
  return asked([&] { return sim::simulate(schedule, machine); });
}

/// A schedule in JSON.
Trace simulated(std::string_view schedule_json, const Machine& machine) {
  const Schedule schedule = schedule_from_json(parse_json(schedule_json));
  check(schedule);
  return simulated(schedule, machine);
}

scenarios::Scenario scenario_of(const scenarios::Case& request) {
  scenarios::Scenario scenario;
  scenario.gpus = request.gpus;
  scenario.space.launch = request.schedule.launch;
  scenario.sizes = {0};
  scenario.plain = {request.workload};
  scenario.measured = request.measured;
  return scenario;
}

study::Exploration explored(const scenarios::Scenario& scenario, const Machine& machine) {
  return asked([&] {
    sim::SimulatedExecutor executor(sim::times_only);
    study::Exploration exploration =
        study::explore(scenario, machine, executor, {.least_schedules = study::usual_schedules});
    std::vector<study::Answer*> answers;
    for (study::Answer& answer : exploration.answers) answers.push_back(&answer);
    study::explain(answers, machine, sim::simulate);
    return exploration;
  });
}

}  // namespace

Case case_from_json(std::string_view text) {
  const scenarios::Case request = scenarios::case_from_json(parse_json(text));
  return {.id = request.id,
          .gpus = request.gpus,
          .workload = fields_of(scenarios::to_json(request.workload)),
          .schedule = fields_of(scenarios::to_json(request.schedule)),
          .measured_gemm_us = request.measured.gemm_us,
          .measured_collective_us = request.measured.collective_us};
}

/// What is asked of it several times is made once.
struct Report::Contents {
  scenarios::library::FullAnswer answer;
  std::string share;
  report::Report report = answer.report();
};

const std::vector<std::string>& Report::verdict() const { return contents_->report.sections.front().notes; }
std::string Report::written(std::string_view format) const { return report::written(contents_->report, format); }
std::string Report::losses_picture() const { return contents_->answer.losses_picture(); }
std::string Report::page() const {
  return contents_->answer.page(scenarios::report::read_report_page("page", contents_->share));
}

Profile::Profile(const std::string& name_or_path, const std::string& share)
    : opened_(std::make_shared<const scenarios::library::OpenProfile>(name_or_path, share)), share_(share) {}

const Machine& Profile::machine() const { return opened_->machine; }
const std::string& Profile::name() const { return machine().name; }
int Profile::gpus() const { return machine().gpus; }

Prediction Profile::predict(const Case& request) const {
  return asked([&] { return written(request.id, predicted(read(request), machine())); });
}

Prediction Profile::predict(std::string_view case_json) const {
  const scenarios::Case request = scenarios::case_from_json(parse_json(case_json));
  return asked([&] { return written(request.id, predicted(request, machine())); });
}

Ranking Profile::choose(const Case& request, const std::vector<Fields>& schedules) const {
  std::vector<scenarios::Case> cases{read_with(request, {{"family", "serial"}})};
  for (const Fields& schedule : schedules)
    if (scenarios::Case one = read_with(request, schedule); !(one == cases.front())) cases.push_back(std::move(one));
  for (scenarios::Case& one : cases) one.id = describe(one.schedule);
  return compared(cases, machine());
}

Ranking Profile::choose(const Case& request, Among among) const {
  const scenarios::Case one = read_with(request, {{"family", "serial"}});
  return compared(study::named_cases(one, machine()), machine(), among == Among::runnable);
}

Ranking Profile::explore(const Case& request) const {
  const scenarios::Case one = read_with(request, {{"family", "serial"}});
  study::require_gpus(one.gpus, machine());
  return written(explored(scenario_of(one), machine()).answers.front());
}

std::vector<Ranking> Profile::explore_scenario(const std::string& path) const {
  const scenarios::Scenario scenario = scenarios::read_scenario(path);
  study::require_gpus(scenario.gpus, machine());
  std::vector<Ranking> rankings;
  for (const study::Answer& answer : explored(scenario, machine()).answers) rankings.push_back(written(answer));
  return rankings;
}

Report Profile::report(const Question& question) const {
  return asked([&] {
    scenarios::Scenario scenario = scenarios::read_question(
        question.what, {.gpus = question.gpus, .sizes = question.sizes, .machine_gpus = gpus()});
    return Report(std::make_shared<const Report::Contents>(Report::Contents{
        {scenarios::as_machine_computes(std::move(scenario), machine()), opened_, {.has_losses = true}}, share_}));
  });
}

std::string Profile::build(const Case& request) const {
  Schedule schedule = asked([&] { return predicted(read(request), machine(), {.serial = false}).schedule; });
  schedule.machine = machine().name;
  return to_json(schedule).dump();
}

Simulation Profile::simulate(std::string_view schedule_json) const {
  return written(simulated(schedule_json, machine()));
}

Simulation Profile::simulate_file(const std::string& path) const {
  return written(simulated(read_schedule(path), machine()));
}

std::string Profile::lanes_picture(std::string_view schedule_json) const {
  return report::svg_picture({simulated(schedule_json, machine())});
}

}  // namespace weft
