#include "calibration/evidence/gemm_times.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "calibration/evidence/json_lines.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "scenarios/own_kernel_of.hpp"

namespace weft::calibration::evidence {
namespace {

constexpr double longest_us = 1e9;
constexpr double largest_extent = 2147483647;
constexpr double fastest_MHz = 1e5;
constexpr std::string_view known_columns[] = {"m", "n", "k", "time_us", "dtype", "clock_MHz", "kernel"};

std::string trimmed(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0 || c == '"'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, is_space));
  return text;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(trimmed(cell));
  if (line.ends_with(',')) cells.emplace_back();
  return cells;
}

/// Positions of the columns.
std::map<std::string, std::size_t> columns_in(const std::string& line, const std::string& place) {
  std::map<std::string, std::size_t> columns;
  for (const std::string& name : cells_of(line)) {
    if (std::ranges::find(known_columns, name) == std::end(known_columns))
      throw InputError(place, "expected the columns m, n, k, time_us, dtype, clock_MHz and kernel, got \"" +
                                  shown_name(name) + "\"");
    if (!columns.emplace(name, columns.size()).second)
      throw InputError(place, "expected each column once, got " + name + " again");
  }
  for (const char* needed : {"m", "n", "k", "time_us"})
    if (!columns.contains(needed)) throw InputError(place, std::string("expected the column ") + needed);
  return columns;
}

double number_in(const std::string& text, double least, double most, const std::string& place) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number < least || number > most)
    throw InputError(place, "expected a number from " + fixed(least, 3) + " to " + fixed(most, 0) + ", got \"" +
                                shown_name(text) + "\"");
  return number;
}

std::int64_t extent_in(const std::string& text, const std::string& place) {
  const double number = number_in(text, 1, largest_extent, place);
  if (number != std::floor(number)) throw InputError(place, "expected an integer, got \"" + shown_name(text) + "\"");
  return static_cast<std::int64_t>(number);
}

DataType type_in(const std::string& text, const std::string& place) {
  if (text.empty() || text == "bf16") return DataType::bf16;
  if (text == "fp8") return DataType::fp8;
  throw InputError(place, "expected bf16 or fp8, got \"" + shown_name(text) + "\"");
}

/// None: the library's.
std::optional<GemmKernel> own_kernel_in(const std::string& text, const std::string& place) {
  if (text.empty()) return {};
  const GemmKernel* kernel = scenarios::own_kernel_of(from_name<scenarios::GemmSource>(text, place));
  return kernel == nullptr ? std::nullopt : std::optional(*kernel);
}

}  // namespace

std::vector<fitting::GemmObservation> read_gemm_times(const std::filesystem::path& path, double max_clock_MHz) {
  const auto file = open_lines(path, "GEMM times");
  std::vector<fitting::GemmObservation> observations;
  std::map<std::string, std::size_t> columns;
  std::string line;
  for (int number = 1; std::getline(*file, line); ++number) {
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    const std::string place = path.string() + ": line " + std::to_string(number);
    if (columns.empty()) {
      columns = columns_in(line, place);
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != columns.size())
      throw InputError(place,
                       "expected " + std::to_string(columns.size()) + " values, got " + std::to_string(cells.size()));
    const auto cell = [&](const char* name) { return cells[columns.at(name)]; };
    const auto where = [&](const char* name) { return place + ": " + name; };
    fitting::GemmObservation& one = observations.emplace_back();
    one.size = {extent_in(cell("m"), where("m")), extent_in(cell("n"), where("n")), extent_in(cell("k"), where("k"))};
    one.time_us = number_in(cell("time_us"), 1e-3, longest_us, where("time_us"));
    if (columns.contains("dtype")) one.dtype = type_in(cell("dtype"), where("dtype"));
    if (columns.contains("kernel")) one.own_kernel = own_kernel_in(cell("kernel"), where("kernel"));
    if (columns.contains("clock_MHz"))
      one.reading = {number_in(cell("clock_MHz"), 1, fastest_MHz, where("clock_MHz")) / max_clock_MHz, 0};
    else
      one.settled = true;
  }
  if (observations.empty()) throw InputError(path.string(), "expected a line of columns and at least one GEMM");
  return observations;
}

}  // namespace weft::calibration::evidence
