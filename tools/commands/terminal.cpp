#include "tools/commands/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "models/base/text.hpp"

namespace weft::tools::commands {
namespace {

constexpr double interval_s = 0.5, interval_of_log_s = 5;
constexpr const char* start_of_empty_line = "\r\033[K";

/// One line that is written again and again on a terminal, and a new one each time in a log.
class ProgressLine {
 public:
  ProgressLine(const std::string& what, bool is_terminal)
      : is_terminal_(is_terminal), text_(what, is_terminal ? interval_s : interval_of_log_s) {}
  ~ProgressLine() {
    if (is_shown_ && is_terminal_) std::cerr << start_of_empty_line << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::size_t done, std::size_t of) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    const std::string text = text_.at(done, of, elapsed.count());
    if (text.empty()) return;
    if (is_terminal_)
      std::cerr << start_of_empty_line << text << std::flush;
    else
      std::cerr << "weft: " << text << '\n';
    is_shown_ = true;
  }

 private:
  bool is_terminal_, is_shown_ = false;
  ProgressText text_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

report::Style style_of_output(bool is_wide) {
  report::Style style;
  if (isatty(STDOUT_FILENO) != 1) return style;
  const char* no_color = std::getenv("NO_COLOR");
  style.is_coloured = no_color == nullptr || *no_color == '\0';
  winsize size{};
  if (!is_wide && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

std::string ProgressText::at(std::size_t done, std::size_t of, double elapsed_s) {
  if (elapsed_s - shown_s_ < interval_s_) return "";
  shown_s_ = elapsed_s;
  const double share = static_cast<double>(done) / static_cast<double>(of);
  return std::to_string(done) + " of " + std::to_string(of) + " " + what_ + ", " + fixed(100 * share, 0) + " %, " +
         fixed(elapsed_s * (1 / share - 1), 0) + " s left";
}

Progress show_progress(const std::string& what) {
  const auto line = std::make_shared<ProgressLine>(what, isatty(STDERR_FILENO) == 1);
  return [line](std::size_t done, std::size_t of) { line->show(done, of); };
}

}  // namespace weft::tools::commands
