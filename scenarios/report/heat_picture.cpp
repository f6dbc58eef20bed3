#include "scenarios/report/heat_picture.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/report/svg.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

using study::HeatCell;
using study::SweepGroup;

/// What a speedup from `least` on looks like.
struct Heat {
  double least;
  Colour colour;
  const char* words;
};
constexpr std::array<Heat, 7> heats{{{0, {"#f9cfd4", "#c2414f"}, "below 0.98x"},
                                     {0.98, {"#ffffff", "#d9d9d9"}, "0.98 to 1.02x"},
                                     {1.02, {"#e5f2e1", "#d9d9d9"}, "from 1.02x"},
                                     {1.05, {"#c3e2ba", "#d9d9d9"}, "from 1.05x"},
                                     {1.1, {"#95cb89", "#d9d9d9"}, "from 1.1x"},
                                     {1.2, {"#5fae57", "#d9d9d9"}, "from 1.2x"},
                                     {1.35, {"#3a8c3a", "#d9d9d9"}, "from 1.35x"}}};

constexpr double left = 90, right = 20, top = 24, panel_head = 40, panel_foot = 46, legend_step = 112;
constexpr double widest_cell = 62, most_width = 900, cell_height = 22, least_width_of_text = 38;

const Colour& colour_of(double speedup) {
  return std::find_if(heats.rbegin(), heats.rend(), [&](const Heat& one) { return speedup >= one.least; })->colour;
}

/// Each value once, in the order of its number.
std::vector<std::string> values_of(const std::vector<HeatCell>& cells, std::string HeatCell::*key) {
  std::vector<std::string> values;
  for (const HeatCell& cell : cells) values.push_back(cell.*key);
  std::ranges::sort(values, {}, [](const std::string& text) { return std::atoll(text.c_str()); });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double position_of(const std::string& value, const std::vector<std::string>& values) {
  return static_cast<double>(std::ranges::find(values, value) - values.begin());
}

std::vector<std::vector<HeatCell>> by_group(const std::vector<HeatCell>& cells) {
  std::vector<std::vector<HeatCell>> groups;
  for (const HeatCell& cell : cells) {
    if (groups.empty() || !(groups.back().front().group == cell.group)) groups.emplace_back();
    groups.back().push_back(cell);
  }
  return groups;
}

std::string title_of(const SweepGroup& group) {
  return group.machine + (group.gpus == 0 ? "" : ", " + std::to_string(group.gpus) + " GPUs") + ", " + group.op;
}

/// Draws below `y`; returns where the next panel may begin.
double add_panel(Svg& svg, double y, const std::vector<HeatCell>& cells, const std::string& x_name,
                 const std::string& y_name) {
  const std::vector<std::string> xs = values_of(cells, &HeatCell::x), ys = values_of(cells, &HeatCell::y);
  const double width = std::min(widest_cell, most_width / static_cast<double>(xs.size()));
  const double bottom = y + panel_head + cell_height * static_cast<double>(ys.size());
  svg.add_text(left, y + 16, title_of(cells.front().group), " font-weight=\"bold\"");
  svg.add_text(left - 8, y + 32, y_name, " text-anchor=\"end\"");
  for (const HeatCell& cell : cells) {
    const double cell_x = left + width * position_of(cell.x, xs);
    const double cell_y = bottom - cell_height * (position_of(cell.y, ys) + 1);
    svg.add_box(cell_x, cell_y, width, cell_height, colour_of(cell.speedup),
                x_name + " " + cell.x + ", " + y_name + " " + cell.y + ": " + cell.schedule + ", " +
                    fixed(cell.speedup, 3) + "x");
    if (width >= least_width_of_text)
      svg.add_text(cell_x + width / 2, cell_y + 15, fixed(cell.speedup, 2), " text-anchor=\"middle\"");
  }
  for (const std::string& value : ys)
    svg.add_text(left - 8, bottom - cell_height * position_of(value, ys) - 7, value, " text-anchor=\"end\"");
  const std::size_t every = static_cast<std::size_t>(least_width_of_text / width) + 1;  // labels that do not touch
  for (std::size_t i = 0; i < xs.size(); i += every)
    svg.add_text(left + width * (static_cast<double>(i) + 0.5), bottom + 15, xs[i], " text-anchor=\"middle\"");
  svg.add_text(left, bottom + 31, x_name);
  return bottom + panel_foot;
}

/// The first two keys that vary and that some cases have together, where neither was asked for.
void choose_axes(study::SweepFindings& findings, std::string& x, std::string& y) {
  const std::vector<std::string> axes = findings.axes();
  for (const std::string& one : x.empty() ? axes : std::vector{x})
    for (const std::string& other : y.empty() ? axes : std::vector{y})
      if (one != other && !findings.heat(one, other).empty()) {
        x = one, y = other;
        return;
      }
  if (x.empty() || y.empty())
    throw InputError("--heatmap", "expected a sweep of which two of m, tokens, bytes, n, k and gpus vary together");
}

}  // namespace

std::string heat_picture(study::SweepFindings& findings, std::string x, std::string y) {
  choose_axes(findings, x, y);
  Svg svg;
  svg.add_text(left, top - 6, "Largest speedup over serial");
  double legend_x = left;
  for (const Heat& one : heats) {
    svg.add_box(legend_x, top + 4, 14, 14, one.colour, one.words);
    svg.add_text(legend_x + 20, top + 15, one.words);
    legend_x += legend_step;
  }
  double next = top + 30;
  const auto groups = by_group(findings.heat(x, y));
  if (groups.empty()) throw InputError("--heatmap", "expected a sweep that has cases with " + x + " and " + y);
  for (const std::vector<HeatCell>& group : groups) next = add_panel(svg, next, group, x, y);
  return svg.document(std::max(left + most_width, legend_x) + right, next);
}

}  // namespace weft::scenarios::report
