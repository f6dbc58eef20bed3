#include "tools/commands/output.hpp"

#include <iostream>

#include "models/base/json_file.hpp"
#include "models/base/text_file.hpp"
#include "models/report/writers.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/terminal.hpp"

namespace weft::tools::commands {

void Output::add_to(CLI::App& command) {
  std::vector<std::string> names;
  for (const report::Format& format : report::formats()) names.emplace_back(format.name);
  command.add_option("--format", format_, "Of what is printed; text by default")->check(CLI::IsMember(names));
  command.add_flag("--wide", is_wide_, "Print all columns, however narrow the terminal is");
}

void Output::add_to(CLI::App& command, const std::string& what_json_has) {
  add_to(command);
  writes(command.add_option("--json", json_, what_json_has));
}

bool Output::has_json() const { return !json_.empty() || format_ == "json"; }

void Output::require_writable() const { weft::require_writable(json_); }

void Output::write(const report::Report& report) const {
  if (!json_.empty()) write_json_file(json_, *report.document.json());
  std::cout << report::written(report, format_, style_of_output(is_wide_));
}

}  // namespace weft::tools::commands
