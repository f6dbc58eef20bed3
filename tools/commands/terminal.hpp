// What is known of the terminal.
#pragma once

#include "models/base/progress.hpp"
#include "models/report/writers.hpp"

namespace weft::tools::commands {

/// Of standard output: as wide as its terminal, coloured there unless NO_COLOR is set; no limit elsewhere, nor where
/// `is_wide`.
report::Style style_of_output(bool is_wide);

/// When progress is shown, and in which words.
class ProgressText {
 public:
  /// `what`: "schedules". Nothing is shown before `interval_s` are over, nor twice within them.
  ProgressText(std::string what, double interval_s) : what_(std::move(what)), interval_s_(interval_s) {}
  /// "120 of 768 schedules, 16 %, 12 s left"; "" where nothing is shown. `elapsed_s`: since the work began.
  std::string at(std::size_t done, std::size_t of, double elapsed_s);

 private:
  std::string what_;
  double interval_s_, shown_s_ = 0;
};

/// Work that began now: one line on a terminal, which is gone when the callback is; elsewhere one every five seconds.
Progress show_progress(const std::string& what);

}  // namespace weft::tools::commands
