// weft machines: which profiles there are, and every number of one with its unit and its source.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/json_file.hpp"
#include "tools/commands.hpp"
#include "tools/machine_files.hpp"
#include "tools/table.hpp"

namespace weft::tools {

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string text = value.dump();
  if (text.size() <= 40) return text;
  return "(" + std::to_string(value.size()) + " values)";
}

/// One row for each {"value": …, "unit": …, "source": …} below `node`.
void add_numbers(Table& table, const std::string& path, const json& node) {
  if (node.is_object() && node.contains("value")) {
    table.add(
        {path, text_of(node["value"]), text_of(node.value("unit", json(""))), text_of(node.value("source", json("")))});
  } else if (node.is_structured()) {
    for (const auto& [key, child] : node.items()) {
      const std::string step = node.is_array() ? "[" + key + "]" : (path.empty() ? "" : ".") + key;
      add_numbers(table, path + step, child);
    }
  }
}

void print_one(const std::string& name) {
  Table table({"number", "value", "unit", "source"});
  add_numbers(table, "", read_json_file(machine_path(name)));
  std::cout << table;
}

void print_all() {
  Table table({"name", "file"});
  for (const std::string& name : machine_names()) table.add({name, machine_path(name).lexically_normal().string()});
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
