// weft machines: which profiles there are, every number of one with its unit and its source, and published times of
// collectives beside what is predicted.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/evidence/published_curves.hpp"
#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string text = value.dump();
  return text.size() <= 60 ? text : "(" + std::to_string(value.size()) + " values)";
}

std::string text_at(const json& object, const char* key) {
  return object.contains(key) ? text_of(object[key]) : std::string();
}

/// "collective all_reduce, gpus 8, …": all but the source.
std::string summary_of(const json& object) {
  std::string summary;
  for (const auto& [key, value] : object.items())
    if (key != "source") summary += (summary.empty() ? "" : ", ") + key + " " + text_of(value);
  return summary;
}

/// One row for each {"value": …, "unit": …, "source": …}, each other object without objects in it, and each lone value.
void add_rows(report::Table& table, const std::string& path, const json& node) {
  const auto is_object = [](const json& child) { return child.is_object(); };
  if (node.is_object() && node.contains("value")) {
    const std::string note = text_at(node, "note");
    table.add({path, text_of(node["value"]), text_at(node, "unit"),
               text_at(node, "source") + (note.empty() ? "" : "; " + note)});
  } else if (node.is_object() && std::none_of(node.begin(), node.end(), is_object)) {
    table.add({path, summary_of(node), "", text_at(node, "source")});
  } else if (node.is_structured()) {
    for (const auto& [key, child] : node.items())
      add_rows(table, node.is_array() ? path + "[" + key + "]" : path.empty() ? key : path + "." + key, child);
  } else {
    table.add({path, text_of(node), "", ""});
  }
}

void print_one(const std::string& name) {
  const auto path = machine_path(name);
  read_machine(path);  // refuses what no other command would accept
  report::Table table({"number", "value", "unit", "source"});
  add_rows(table, "", read_json_file(path));
  std::cout << table;
}

/// Of predicted / published - 1.
struct Errors {
  std::vector<double> all;

  void add(double predicted_us, double published_us) { all.push_back(predicted_us / published_us - 1); }
  std::string mean() const {
    double sum = 0;
    for (const double error : all) sum += std::abs(error);
    return all.empty() ? "" : fixed(100 * sum / static_cast<double>(all.size()), 1);
  }
  std::string largest() const {
    const auto farther = [](double a, double b) { return std::abs(a) < std::abs(b); };
    return all.empty() ? "" : signed_percent(*std::max_element(all.begin(), all.end(), farther));
  }
};

std::vector<std::string> cells_of(const evidence::PublishedCurve& curve) {
  return {std::string(name_of(curve.kind)), std::to_string(curve.gpus),
          curve.max_ctas == 0 ? "" : std::to_string(curve.max_ctas)};
}

void print_curves(const std::string& name, bool every_point) {
  const Machine machine = read_machine(machine_path(name));
  const auto left_out = machine_folder().parent_path() / "published" / (machine.name + ".csv");
  report::Table points({"collective", "GPUs", "max CTAs", "bytes", "published us", "predicted us", "error",
                        "first principles us", "error", "source"});
  report::Table curves({"collective", "GPUs", "max CTAs", "from bytes", "to bytes", "points", "predicted: mean %",
                        "largest", "first principles: mean %", "largest", "source"});
  for (const evidence::PublishedCurve& curve : evidence::published_curves(machine, left_out)) {
    const std::string source = curve.in_profile() ? "in the profile" : "left out: " + curve.source;
    Errors predicted, library;
    for (const evidence::PublishedPoint& point : curve.points) {
      const evidence::CurvePrediction prediction = predict(machine, curve, point.bytes);
      predicted.add(prediction.time_us, point.time_us);
      if (prediction.library_us) library.add(*prediction.library_us, point.time_us);
      std::vector<std::string> row = cells_of(curve);
      row.insert(row.end(),
                 {std::to_string(point.bytes), fixed(point.time_us, 1), fixed(prediction.time_us, 1),
                  signed_percent(predicted.all.back()), prediction.library_us ? fixed(*prediction.library_us, 1) : "",
                  prediction.library_us ? signed_percent(library.all.back()) : "", source});
      points.add(std::move(row));
    }
    std::vector<std::string> row = cells_of(curve);
    row.insert(row.end(), {std::to_string(curve.points.front().bytes), std::to_string(curve.points.back().bytes),
                           std::to_string(curve.points.size()), predicted.mean(), predicted.largest(), library.mean(),
                           library.largest(), source});
    curves.add(std::move(row));
  }
  std::cout << (every_point ? points : curves);
}

std::string description_of(const std::filesystem::path& path) {
  const json profile = read_json_file(path);
  try {
    return JsonObject(profile).string("description");
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

void print_all() {
  report::Table table({"name", "what it is"});
  for (const std::string& name : machine_names()) table.add({name, description_of(machine_path(name))});
  std::cout << table;
}

}  // namespace

void add_machines_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("machines", "List the machine profiles, or one profile's numbers and sources");
  struct Options {
    std::string name;
    bool curves = false, points = false;
  };
  auto options = std::make_shared<Options>();
  auto* name = command->add_option("NAME", options->name, "Name or path of a profile");
  auto* curves = command->add_flag("--curves", options->curves,
                                   "Published times of collectives beside the predicted ones, curve by curve");
  curves->needs(name);
  command->add_flag("--points", options->points, "With --curves: size by size")->needs(curves);
  command->callback([options] {
    if (options->curves) return print_curves(options->name, options->points);
    options->name.empty() ? print_all() : print_one(options->name);
  });
}

}  // namespace weft::tools::commands
