// weft explore: which schedule wins, by how much, why the others lose, and what it means for the layer.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/execution/trace_json.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/exploration.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/ficco_report.hpp"
#include "tools/report/losses_picture.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using nlohmann::ordered_json;
using scenarios::Scenario;

struct Options {
  std::string scenario, machine, json, trace, schedule, why, svg, space = "likely";
  std::int64_t size = 0;
  bool all = false;
};

constexpr std::size_t most_rows = 40;            // of a ranking, besides those with losses
constexpr std::int64_t least_shown_ps = 50'000;  // 0.05 us: 0.1 in the table

std::string times(double ratio) { return fixed(ratio, 3) + "x"; }

std::string size_word(const Scenario& scenario) { return scenario.model ? "tokens" : "rows"; }

std::string sentence(const study::Answer& answer) {
  const scenarios::Ranking& ranking = answer.ranking;
  if (ranking.overlap_pays())
    return "Winner: " + ranking.fastest().request.id + ", " + times(ranking.fastest().speedup) + " over serial (" +
           fixed(ranking.saved_us(), 0) + " us saved).";
  if (ranking.too_close) return "Too close to call: stay with serial.";
  return "Serial wins: overlap does not pay.";
}

/// Where the winner has no name.
std::string sentence_of_named(const study::Answer& answer) {
  const study::Explored* named = answer.fastest_named();
  if (named == nullptr || named == &answer.fastest()) return "";
  return "The fastest of the named families: " + named->candidate.request.id + ", " + times(named->candidate.speedup) +
         " over serial.\n";
}

/// Where weft run refuses the winner.
std::string sentence_of_runnable(const study::Answer& answer) {
  if (answer.fastest().runnable) return "";
  const study::Explored* runnable = answer.fastest_runnable();
  if (runnable == nullptr) return "weft run can run none of them yet.\n";
  return "The fastest that weft run can run today: " + runnable->candidate.request.id + ", " +
         times(runnable->candidate.speedup) + " over serial.\n";
}

/// One row for each schedule that was asked for; causes that cost none of them anything are left out.
void print_losses(const study::Answer& answer) {
  const auto us = [](std::int64_t ps) { return fixed(static_cast<double>(ps) * 1e-6, 1); };
  std::vector<study::Cause> causes;
  for (const auto& [cause, name] : NamesOf<study::Cause>::names)
    if (std::any_of(answer.fastest_first.begin(), answer.fastest_first.end(),
                    [cause = cause](const study::Explored& one) {
                      return one.losses && std::abs(one.losses->of(cause)) >= least_shown_ps;
                    }))
      causes.push_back(cause);
  std::vector<std::string> header{"us", "perfect overlap", "lost"};
  for (const study::Cause cause : causes) header.emplace_back(text_of(cause));
  report::Table table(header);
  for (const study::Explored& one : answer.fastest_first) {
    if (!one.losses) continue;
    std::vector<std::string> row{one.candidate.request.id, us(one.losses->overlap_ps), us(one.losses->whole_ps())};
    for (const study::Cause cause : causes) row.push_back(us(one.losses->of(cause)));
    table.add(row);
  }
  std::cout << '\n' << table;
}

void print_schedules(const study::Answer& answer, const Scenario& scenario, const Machine& machine) {
  std::cout << '\n'
            << answer.pair << ", " << answer.size << ' ' << size_word(scenario) << ", " << scenario.gpus << " GPUs\n";
  report::Table table(
      {"schedule", "us", "90 % interval", "speedup", "of bound", "limited by", "weft run", "lost most to"});
  std::size_t left_out = 0, rows = 0;
  for (const study::Explored& one : answer.fastest_first) {
    const scenarios::Estimate& estimate = one.candidate.estimate;
    if (++rows > most_rows && !one.losses) {
      ++left_out;
      continue;
    }
    table.add({one.candidate.request.id, fixed(estimate.time_us, 1),
               fixed(estimate.low_us, 0) + " - " + fixed(estimate.high_us, 0), times(one.candidate.speedup),
               fixed(100 * one.bound_us / estimate.time_us, 0) + " %", std::string(name_of(one.limited_by)),
               one.runnable ? "yes" : "no", one.losses ? why(*one.losses) : ""});
  }
  std::cout << table;
  if (answer.stuck > 0) std::cout << answer.stuck << " hybrids get stuck on this machine.\n";
  if (left_out > 0) std::cout << left_out << " more are in --json.\n";
  std::cout << sentence(answer) << '\n' << sentence_of_named(answer) << sentence_of_runnable(answer);
  print_losses(answer);
  std::cout << report::ficco_text(answer, machine);
}

/// One row a size: who wins, and from which size on overlap pays.
void print_sizes(const std::string& pair, const study::Exploration& exploration, const Scenario& scenario) {
  std::cout << '\n' << pair << '\n';
  report::Table table({size_word(scenario), "serial us", "best us", "speedup", "best schedule", "advice"});
  std::vector<scenarios::SizeVerdict> verdicts;
  bool is_largest_close = false;  // answers come in ascending size
  for (const study::Answer& answer : exploration.answers) {
    if (answer.pair != pair) continue;
    const scenarios::Ranking& ranking = answer.ranking;
    table.add({std::to_string(answer.size), fixed(ranking.reference().estimate.time_us, 1),
               fixed(ranking.fastest().estimate.time_us, 1), times(ranking.fastest().speedup),
               ranking.fastest().request.id,
               ranking.overlap_pays() ? "overlap"
               : ranking.too_close    ? "too close: serial"
                                      : "serial"});
    verdicts.push_back({answer.size, ranking.overlap_pays()});
    is_largest_close = ranking.too_close;
  }
  std::cout << table;
  const auto from = scenarios::crossover(verdicts);
  if (from)
    std::cout << "Overlap pays from " << *from << ' ' << size_word(scenario) << " on.\n";
  else if (is_largest_close)
    std::cout << "At the largest size it is too close to call.\n";
  else
    std::cout << "Overlap does not pay at the largest size.\n";
}

void print_layers(const study::Exploration& exploration) {
  std::cout << "\nWhole layer\n";
  report::Table table({"tokens", "serial us", "with the advised schedules us", "speedup"});
  for (const study::LayerAnswer& layer : exploration.layers) {
    const double overlapped_us = layer.serial_us - layer.saved_us;
    table.add({std::to_string(layer.size), fixed(layer.serial_us, 1), fixed(overlapped_us, 1),
               times(layer.serial_us / overlapped_us)});
  }
  std::cout << table;
}

std::vector<std::string> pairs_of(const study::Exploration& exploration) {
  std::vector<std::string> pairs;
  for (const study::Answer& answer : exploration.answers)
    if (std::find(pairs.begin(), pairs.end(), answer.pair) == pairs.end()) pairs.push_back(answer.pair);
  return pairs;
}

/// Exact: the parts add up to time_ps - perfect_overlap_ps.
ordered_json to_json(const study::Losses& losses) {
  ordered_json parts;
  for (const auto& [cause, name] : NamesOf<study::Cause>::names) parts[std::string(name) + "_ps"] = losses.of(cause);
  return {{"time_ps", losses.time_ps},
          {"perfect_overlap_ps", losses.overlap_ps},
          {"lost_ps", losses.whole_ps()},
          {"largest", name_of(losses.largest())},
          {"parts", parts}};
}

ordered_json to_json(const study::Explored& one) {
  const scenarios::Estimate& estimate = one.candidate.estimate;
  ordered_json json{{"schedule", scenarios::to_json(one.candidate.request.schedule)},
                    {"time_us", estimate.time_us},
                    {"interval_us", {estimate.low_us, estimate.high_us}},
                    {"speedup", one.candidate.speedup},
                    {"bound_us", one.bound_us},
                    {"limited_by", name_of(one.limited_by)},
                    {"runnable", one.runnable}};
  if (one.losses) json["losses"] = to_json(*one.losses);
  if (one.inefficiency) json["inefficiency"] = report::to_json(*one.inefficiency);
  if (one.reordering)
    json["next_kernel"] = {{"reorders", one.reordering->unit},
                           {"rms_norm_share", one.reordering->share},
                           {"rms_norm_us", one.reordering->time_us}};
  return json;
}

ordered_json to_json(const study::Exploration& exploration, const Scenario& scenario, const Machine& machine) {
  ordered_json answers = ordered_json::array();
  for (const study::Answer& answer : exploration.answers) {
    ordered_json schedules = ordered_json::array();
    for (const study::Explored& one : answer.fastest_first) schedules.push_back(to_json(one));
    answers.push_back({{"pair", answer.pair},
                       {"workload", scenarios::to_json(answer.fastest_first.front().candidate.request.workload)},
                       {"size", answer.size},
                       {"verdict", sentence(answer)},
                       {"advice", scenarios::to_json(answer.ranking.advice().request.schedule)},
                       {"deadlocks", answer.stuck},
                       {"schedules", schedules}});
    if (const ordered_json ficco = report::ficco_json(answer, machine); !ficco.is_null())
      answers.back()["ficco"] = ficco;
    const study::Explored* runnable = answer.fastest_runnable();
    answers.back()["fastest_runnable"] =
        runnable == nullptr ? ordered_json() : scenarios::to_json(runnable->candidate.request.schedule);
  }
  ordered_json layers = ordered_json::array();
  for (const study::LayerAnswer& layer : exploration.layers)
    layers.push_back({{"tokens", layer.size}, {"serial_us", layer.serial_us}, {"saved_us", layer.saved_us}});
  return {{"scenario", scenario.name}, {"machine", machine.name},
          {"gpus", scenario.gpus},     {"schedules_simulated", exploration.simulated},
          {"answers", answers},        {"layers", layers}};
}

bool is_layer(const study::Answer& answer) {
  return std::holds_alternative<scenarios::LayerWorkload>(answer.fastest().candidate.request.workload);
}

/// The answer whose fastest schedule --trace and --schedule write: at --size, or anywhere, the one that gains most. A
/// layer only where no pair was asked about: of a model it is the pairs that people run.
const study::Answer& most_gained(const study::Exploration& exploration, std::int64_t size) {
  const auto gain_us = [](const study::Answer& answer) {
    return answer.ranking.reference().estimate.time_us - answer.ranking.fastest().estimate.time_us;
  };
  const study::Answer* best = nullptr;
  for (const study::Answer& answer : exploration.answers)
    if ((size == 0 || answer.size == size) &&
        (best == nullptr || (is_layer(*best) && !is_layer(answer)) ||
         (is_layer(*best) == is_layer(answer) && gain_us(answer) > gain_us(*best))))
      best = &answer;
  return *best;
}

void write_fastest(const Options& options, const study::Answer& answer, const Machine& machine) {
  const study::Prediction prediction =
      study::predict(answer.ranking.fastest().request, machine, {.spans = true, .serial = false});
  if (!options.schedule.empty()) {
    Schedule schedule = prediction.schedule;
    schedule.machine = machine.name;
    write_schedule(options.schedule, schedule);
  }
  if (options.trace.empty()) return;
  std::ostringstream text;
  write_perfetto({prediction.trace}, text);
  write_text_file(options.trace, text.str());
}

/// Errors of building a schedule name the file and the field as it stands there.
study::Exploration explore_file(const std::string& file, const Scenario& scenario, const Machine& machine,
                                const study::ExploreOptions& options) {
  try {
    return explore(scenario, machine, options);
  } catch (const InputError& error) {
    throw scenarios::as_written(error, scenario).in_file(file);
  }
}

/// The whole space is walked at one size, with and without SMs that are kept free of the GEMM for NCCL.
void keep_size(Scenario& scenario, std::int64_t size, const Machine& machine) {
  const auto kept = std::find(scenario.sizes.begin(), scenario.sizes.end(), size) - scenario.sizes.begin();
  if (!scenario.plain.empty()) scenario.plain = {scenario.plain[static_cast<std::size_t>(kept)]};
  scenario.sizes = {size};
  scenario.space.hybrids = true;
  scenario.space.gemm_sms = {machine.gpu.sms() - study::sms_kept_free};
}

void report_progress(std::size_t done, std::size_t of) {
  constexpr std::size_t step = 50;
  if (done % step == 0 || done == of) std::cerr << done << " of " << of << " schedules\n";
}

/// Of all schedules that were asked for their losses.
std::string picture_of(const study::Answer& answer, const Scenario& scenario, const Machine& machine) {
  std::vector<report::NamedLosses> schedules;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) schedules.push_back({one.candidate.request.id, *one.losses});
  return report::losses_picture(answer.pair + ", " + std::to_string(answer.size) + " " + size_word(scenario) + ", " +
                                    std::to_string(scenario.gpus) + " GPUs, " + machine.name,
                                schedules);
}

void require_known(const std::string& why, const study::Exploration& exploration) {
  if (why.empty() || why == "all") return;
  for (const study::Answer& answer : exploration.answers)
    for (const study::Explored& one : answer.fastest_first)
      if (one.candidate.request.id == why) return;
  throw InputError("--why", "expected all or a schedule of the ranking, such as \"" +
                                exploration.answers.front().fastest().candidate.request.id + "\", got \"" + why + "\"");
}

void run(const Options& options) {
  for (const std::string& path : {options.json, options.trace, options.schedule, options.svg}) require_writable(path);
  const Machine machine = read_machine(machine_path(options.machine));
  Scenario scenario = scenarios::read_scenario(options.scenario);
  try {
    study::require_gpus(scenario.gpus, machine);
  } catch (const InputError& error) {
    throw error.in_file(options.scenario);
  }
  if (options.size != 0 &&
      std::find(scenario.sizes.begin(), scenario.sizes.end(), options.size) == scenario.sizes.end())
    throw InputError("--size", "expected a size of the scenario, got " + std::to_string(options.size));

  const bool whole_space = options.space == "all";
  if (whole_space) keep_size(scenario, options.size != 0 ? options.size : scenario.sizes.back(), machine);
  const study::Exploration exploration =
      explore_file(options.scenario, scenario, machine,
                   {.least_schedules = options.space == "likely" ? study::usual_schedules : 0,
                    .why_all = options.why == "all" || (!options.svg.empty() && !whole_space),
                    .why = options.why,
                    .progress = whole_space ? report_progress : std::function<void(std::size_t, std::size_t)>{}});
  require_known(options.why, exploration);
  if (!options.json.empty()) write_json_file(options.json, to_json(exploration, scenario, machine));
  const study::Answer& written = most_gained(exploration, options.size);
  if (!options.trace.empty() || !options.schedule.empty()) write_fastest(options, written, machine);

  if (!options.svg.empty()) write_text_file(options.svg, picture_of(written, scenario, machine));

  std::cout << scenario.name << ", " << machine.name << '\n';
  const std::int64_t shown = options.size != 0 ? options.size : scenario.sizes.back();
  for (const study::Answer& answer : exploration.answers)
    if (options.all || answer.size == shown) print_schedules(answer, scenario, machine);
  for (const std::string& pair : pairs_of(exploration)) print_sizes(pair, exploration, scenario);
  if (!exploration.layers.empty()) print_layers(exploration);
  std::cout << exploration.simulated << " schedules simulated.\n";
  if (!options.trace.empty() || !options.schedule.empty())
    std::cout << "Written: " << written.ranking.fastest().request.id << " (" << written.pair << ", " << written.size
              << ' ' << size_word(scenario) << ").\n";
}

}  // namespace

void add_explore_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explore", "Rank the schedules of a scenario");
  auto options = std::make_shared<Options>();
  command->add_option("SCENARIO", options->scenario, "Scenario file (weft.scenario/1)")->required();
  command->add_option("--machine", options->machine, "Name or path of a machine profile")->required();
  command->add_option("--size", options->size, "Show the schedules of this size (default: the largest)");
  command->add_flag("--all", options->all, "Show the schedules of every size");
  command->add_option("--why", options->why,
                      "Say what this schedule loses time to, as for the winner and serial; or all of them");
  command->add_option("--svg", options->svg,
                      "Draw where the time goes under each schedule of the pair that gains most");
  command
      ->add_option("--space", options->space,
                   "likely: the families, and the hybrids that an estimate likes best; named: the families alone; all: "
                   "every sensible hybrid too, at one size")
      ->check(CLI::IsMember({"likely", "named", "all"}));
  command->add_option("--json", options->json, "Write everything as one JSON object");
  command->add_option("--trace", options->trace, "Write the trace of the schedule that saves most, for Perfetto");
  command->add_option("--schedule", options->schedule, "Write the schedule that saves most, for weft run");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
