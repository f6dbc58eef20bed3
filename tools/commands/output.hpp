// Where a command's report goes: standard output in a format of the user's choice, and a file of JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "models/report/report.hpp"

namespace weft::tools::commands {

class Output {
 public:
  /// Adds --format and --wide. The command must outlive this no longer than its own callback.
  void add_to(CLI::App& command);
  /// Adds --json as well.
  void add_to(CLI::App& command, const std::string& what_json_has);

  bool is_wide() const { return is_wide_; }
  bool has_json() const;  ///< whether a program reads the report, which is then complete
  void require_writable() const;
  void write(const report::Report& report) const;

 private:
  std::string format_ = "text", json_;
  bool is_wide_ = false;
};

}  // namespace weft::tools::commands
