// The formats of a report. A new one is a function in writers.cpp, and its line in `formats`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "models/report/report.hpp"

namespace weft::report {

/// Of text; other formats know none.
struct Style {
  std::size_t width = 0;  ///< characters of a line; 0: no limit
  bool is_coloured = false;
};

struct Format {
  std::string_view name;
  std::string (*write)(const Report& report, const Style& style);
};

/// "text" is the first.
std::span<const Format> formats();

/// In the format of that name. Throws InputError, field "format", for one that is not there.
std::string written(const Report& report, std::string_view format, const Style& style = {});

/// Columns are as wide as their widest cell, and numbers stand to the right. A table that is wider than `style` allows
/// loses its least important columns, and a line says which; then its widest column of words is folded.
std::string to_text(const Report& report, const Style& style = {});

}  // namespace weft::report
