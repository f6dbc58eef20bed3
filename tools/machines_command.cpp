// weft machines: which profiles there are, and every number of one with its unit and its source.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/json_object.hpp"
#include "models/machine_json.hpp"
#include "tools/commands.hpp"
#include "tools/machine_files.hpp"
#include "tools/table.hpp"

namespace weft::tools {

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
void add_rows(Table& table, const std::string& path, const json& node) {
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
  Table table({"number", "value", "unit", "source"});
  add_rows(table, "", read_json_file(path));
  std::cout << table;
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
  Table table({"name", "what it is"});
  for (const std::string& name : machine_names()) table.add({name, description_of(machine_path(name))});
  std::cout << table;
}

}  // namespace

void add_machines_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("machines", "List the machine profiles, or one profile's numbers and sources");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Name or path of a profile");
  command->callback([name] { name->empty() ? print_all() : print_one(*name); });
}

}  // namespace weft::tools
