#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "models/base/text.hpp"
#include "models/report/writers.hpp"

namespace weft::report {
namespace {

constexpr std::size_t gap = 2;            // characters between two columns
constexpr std::size_t least_folded = 24;  // a column of words is not folded below that

/// Characters on the screen: bytes of UTF-8 that do not continue a character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string bold(const std::string& words, const Style& style) {
  const std::string text = printable(words);
  return style.is_coloured && !text.empty() ? "\033[1m" + text + "\033[0m" : text;
}

/// Lines of at most `width` characters, cut at spaces; a longer word keeps a line of its own.
std::vector<std::string> folded(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());  // stays by its number
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  lines.push_back(line);
  return lines;
}

/// A table's cells as text, and which of its columns are shown how wide.
class Layout {
 public:
  Layout(const Table& table, const Style& style) : table_(table), style_(style), shown_(table.columns.size()) {
    std::iota(shown_.begin(), shown_.end(), std::size_t{0});
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      numeric_.push_back(is_numeric(table, i));
      widths_.push_back(width_of(table.columns[i].name));
    }
    cell_widths_.resize(widths_.size());
    for (const auto& row : table.rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        cell_widths_[i] = std::max(cell_widths_[i], width_of(text_of(row[i])));
    for (std::size_t i = 0; i < widths_.size(); ++i) widths_[i] = std::max(widths_[i], cell_widths_[i]);
    while (is_too_wide() && drop_least_important()) {
    }
    while (is_too_wide() && fold_longest_name_of_numbers()) {
    }
    while (is_too_wide() && fold_widest_words()) {
    }
  }

  std::string text() const {
    std::vector<std::string> names;
    for (const Column& column : table_.columns) names.push_back(column.name);
    std::string text = lines_of(names, true);
    for (const auto& row : table_.rows) {
      std::vector<std::string> cells;
      for (const Cell& cell : row) cells.push_back(text_of(cell));
      text += lines_of(cells, false);
    }
    return text + sentence_of_dropped();
  }

 private:
  std::size_t width() const {
    std::size_t sum = gap * (shown_.size() - 1);
    for (const std::size_t column : shown_) sum += widths_[column];
    return sum;
  }
  bool is_too_wide() const { return style_.width > 0 && width() > style_.width; }

  /// Of equally important ones the last. False where all that are left must be shown.
  bool drop_least_important() {
    const auto importance = [&](std::size_t column) { return table_.columns[column].importance; };
    const auto least =
        std::min_element(shown_.rbegin(), shown_.rend(), [&](auto a, auto b) { return importance(a) < importance(b); });
    if (importance(*least) == Column::always_shown) return false;
    dropped_.push_back(table_.columns[*least].name);
    shown_.erase(std::prev(least.base()));
    return true;
  }

  /// False where none is left that can be folded.
  bool fold_longest_name_of_numbers() {
    const auto foldable = [&](std::size_t column) {
      const std::size_t least = std::max(least_folded, cell_widths_[column]);
      return numeric_[column] && widths_[column] > least ? widths_[column] - least : 0;
    };
    const auto longest =
        std::max_element(shown_.begin(), shown_.end(), [&](auto a, auto b) { return foldable(a) < foldable(b); });
    const std::size_t surplus = std::min(foldable(*longest), width() - style_.width);
    widths_[*longest] -= surplus;
    return surplus > 0;
  }

  /// No narrower than its longest word. False where no column of words can be folded any more.
  bool fold_widest_words() {
    std::optional<std::size_t> widest;
    std::size_t least = 0;
    for (const std::size_t column : shown_) {
      if (numeric_[column] || (widest && widths_[column] <= widths_[*widest])) continue;
      const std::size_t word = std::max(least_folded, longest_word(column));
      if (widths_[column] > word) widest = column, least = word;
    }
    if (!widest) return false;
    const std::size_t others = width() - widths_[*widest];
    widths_[*widest] = std::max(least, style_.width > others ? style_.width - others : 0);
    return true;
  }

  std::size_t longest_word(std::size_t column) const {
    std::size_t longest = 0;
    const auto look_at = [&](const std::string& text) {
      for (const std::string& word : folded(text, 1)) longest = std::max(longest, width_of(word));
    };
    look_at(table_.columns[column].name);
    for (const auto& row : table_.rows) look_at(text_of(row[column]));
    return longest;
  }

  std::string lines_of(const std::vector<std::string>& cells, bool is_header) const {
    std::vector<std::vector<std::string>> parts;  // by shown column
    std::size_t height = 1;
    for (const std::size_t column : shown_) {
      parts.push_back(width_of(cells[column]) > widths_[column] ? folded(cells[column], widths_[column])
                                                                : std::vector{cells[column]});
      height = std::max(height, parts.back().size());
    }
    std::string lines;
    for (std::size_t level = 0; level < height; ++level) {
      std::string line;
      for (std::size_t i = 0; i < shown_.size(); ++i) {
        const std::string part = level < parts[i].size() ? parts[i][level] : "";
        const std::string padding(std::max(widths_[shown_[i]], width_of(part)) - width_of(part), ' ');
        line += std::string(i > 0 ? gap : 0, ' ') + (numeric_[shown_[i]] ? padding + part : part + padding);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines += (is_header ? bold(line, style_) : line) + '\n';
    }
    return lines;
  }

  std::string sentence_of_dropped() const {
    std::string names;
    for (const std::string& name : dropped_) names += (names.empty() ? "" : ", ") + name;
    return names.empty() ? "" : "Left out, the lines being short (--wide shows all): " + names + ".\n";
  }

  const Table& table_;
  const Style& style_;
  std::vector<std::size_t> shown_, widths_, cell_widths_;
  std::vector<bool> numeric_;
  std::vector<std::string> dropped_;
};

}  // namespace

std::string to_text(const Report& report, const Style& of_terminal) {
  Style style = of_terminal;
  if (report.columns > 0) style.width = style.width == 0 ? report.columns : std::min(style.width, report.columns);
  const auto sentence = [&](const std::string& note) {
    if (style.width == 0) return printable(note) + '\n';
    std::string lines;
    for (const std::string& line : folded(printable(note), style.width)) lines += line + '\n';
    return lines;
  };
  std::string text;
  if (!report.title.empty()) text = bold(report.title, style) + '\n';
  for (const auto& [heading, table, notes] : report.sections) {
    if (!text.empty()) text += '\n';
    if (!heading.empty()) text += bold(heading, style) + '\n';
    if (!table.columns.empty()) text += Layout(table, style).text();
    for (const std::string& note : notes) text += sentence(note);
  }
  for (const std::string& note : report.notes) text += sentence(note);
  return text;
}

}  // namespace weft::report
