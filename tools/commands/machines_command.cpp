// weft machines: which profiles there are, every number of one with its unit and its source, and published times of
// collectives beside what is predicted.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "calibration/evidence/published_curves.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "models/machine/profile_numbers.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/output.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

std::string range_of(const MachineNumber& number) {
  std::ostringstream text;
  text << number.least << " to " << number.most;
  return text.str();
}

report::Table numbers_of(const std::string& name) {
  const auto path = machine_path(name);
  std::map<std::string, MachineNumber> known;
  for (const MachineNumber& number : machine_numbers(read_machine(path))) known[full_name(number)] = number;
  report::Table table{{"number", "value", "unit", report::droppable("meaning", 2), report::droppable("may be", 1),
                       report::droppable("source", 3)},
                      {}};
  for (const ProfileNumber& number : profile_numbers(read_json_file(path))) {
    const auto of = known.extract(number.path);
    table.rows.push_back({number.path, number.value, number.unit, of ? of.mapped().meaning : "",
                          of ? range_of(of.mapped()) : "", number.source});
  }
  for (const auto& [path_of, number] : known)
    table.rows.push_back(
        {path_of, nlohmann::json(number.value).dump(), number.unit, number.meaning, range_of(number), "left out: off"});
  return table;
}

/// Mean and largest error of a curve, empty where there are none.
std::vector<report::Cell> summary_of(const std::vector<double>& errors) {
  const std::optional<evidence::CurveErrors> summary = evidence::summary_of(errors);
  if (!summary) return {"", ""};
  return {report::Number{100 * summary->mean, 1}, report::error(summary->largest)};
}

std::vector<report::Cell> cells_of(const evidence::PublishedCurve& curve) {
  return {std::string(name_of(curve.kind)), report::count(curve.gpus),
          curve.max_ctas == 0 ? report::Cell("") : report::count(curve.max_ctas)};
}

report::Table curves_of(const std::string& name, bool every_point) {
  const Machine machine = read_machine(machine_path(name));
  const auto left_out = machine_folder().parent_path() / "published" / (machine.name + ".csv");
  report::Table points{
      {"collective", "GPUs", "max CTAs", "bytes", "published us", "predicted us", "error",
       report::droppable("first principles us", 2), report::droppable("error", 3), report::droppable("source", 1)},
      {}};
  report::Table curves{
      {"collective", "GPUs", "max CTAs", "from bytes", "to bytes", report::droppable("points", 1), "predicted: mean %",
       report::droppable("largest", 4), report::droppable("first principles: mean %", 3),
       report::droppable("largest", 3), report::droppable("source", 2)},
      {}};
  for (const evidence::PublishedCurve& curve : evidence::published_curves(machine, left_out)) {
    const std::string source = curve.in_profile() ? "in the profile" : "left out: " + curve.source;
    std::vector<double> predicted, library;
    for (const evidence::PublishedPoint& point : curve.points) {
      const evidence::CurvePrediction prediction = predict(machine, curve, point.bytes);
      predicted.push_back(prediction.time_us / point.time_us - 1);
      if (prediction.library_us) library.push_back(*prediction.library_us / point.time_us - 1);
      std::vector<report::Cell> row = cells_of(curve);
      row.insert(row.end(),
                 {report::count(point.bytes), report::Number{point.time_us, 1}, report::Number{prediction.time_us, 1},
                  report::error(predicted.back()),
                  prediction.library_us ? report::Cell(report::Number{*prediction.library_us, 1}) : report::Cell(""),
                  prediction.library_us ? report::Cell(report::error(library.back())) : report::Cell(""), source});
      points.rows.push_back(std::move(row));
    }
    std::vector<report::Cell> row = cells_of(curve);
    row.insert(row.end(), {report::count(curve.points.front().bytes), report::count(curve.points.back().bytes),
                           report::count(curve.points.size())});
    for (const std::vector<double>& errors : {predicted, library})
      std::ranges::copy(summary_of(errors), std::back_inserter(row));
    row.emplace_back(source);
    curves.rows.push_back(std::move(row));
  }
  return every_point ? points : curves;
}

report::Table all_machines() {
  report::Table table{{"name", "what it is"}, {}};
  for (const std::string& name : machine_names()) table.rows.push_back({name, profile_description(machine_path(name))});
  return table;
}

}  // namespace

void add_machines_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("machines", "List the machine profiles, or one profile's numbers and sources");
  struct Options {
    std::string name;
    bool curves = false, points = false;
    Output output;
  };
  auto options = std::make_shared<Options>();
  auto* name = command->add_option("NAME", options->name, "Name or path of a profile");
  auto* curves = command->add_flag("--curves", options->curves,
                                   "Published times of collectives beside the predicted ones, curve by curve");
  curves->needs(name);
  command->add_flag("--points", options->points, "With --curves: size by size")->needs(curves);
  options->output.add_to(*command);
  command->callback([options] {
    const report::Table table = options->curves         ? curves_of(options->name, options->points)
                                : options->name.empty() ? all_machines()
                                                        : numbers_of(options->name);
    options->output.write({.title = "", .sections = {{"", table, {}}}, .notes = {}, .document = {}});
  });
}

}  // namespace weft::tools::commands
