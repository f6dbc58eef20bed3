#include "calibration/report/accuracy_picture.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/report/svg.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

// All lengths in px.
constexpr double width = 1000, height = 480, margin = 12, left = 64, top = 56, bottom = 44;
constexpr double bound = 0.1;            // lines are at 1 and at so much more and less
constexpr double least_quotient = 1.25;  // the axis of quotients shows at least 1 / 1.25 to 1.25

struct Axis {
  double low = 1, high = 10;  // values at the ends
  double begin = 0, end = 1;  // their places
  double place_of(double value) const { return begin + (end - begin) * std::log(value / low) / std::log(high / low); }
};

std::string percent_text(double quotient) { return quotient == 1 ? "equal" : signed_percent(quotient - 1, 0); }

/// Pairs by family; what is measured alone by what it is.
std::string colour_name(const evidence::Comparison& one) {
  const bool is_collective_alone = std::holds_alternative<scenarios::CollectiveWorkload>(one.measured.request.workload);
  return is_collective_alone ? "collective" : scenarios::study::stratum_of(one.measured.request);
}

/// Of what lies outside of the lines at 10 %.
std::string title_of(const evidence::Comparison& one) {
  if (std::abs(one.error()) <= bound) return "";
  return describe(one.measured.request.workload) + ", " + describe(one.measured.request.schedule) + ", " +
         evidence::gpus_name(one) + ": " + signed_percent(one.error());
}

class Picture {
 public:
  explicit Picture(const std::vector<evidence::Comparison>& comparisons) {
    if (comparisons.empty()) throw InputError("measurements", "expected a case that can be predicted, got none");
    double shortest_us = comparisons[0].measured.time_us, longest_us = shortest_us, quotient = least_quotient;
    for (const evidence::Comparison& one : comparisons) {
      shortest_us = std::min(shortest_us, one.measured.time_us);
      longest_us = std::max(longest_us, one.measured.time_us);
      quotient = std::max(quotient, std::exp(std::abs(std::log(1 + one.error()))));
    }
    times_ = {.low = shortest_us / 1.2, .high = longest_us * 1.2, .begin = left, .end = width - margin};
    quotients_ = {.low = 1 / quotient / 1.02, .high = quotient * 1.02, .begin = height - bottom, .end = top};
    draw_axes();
    draw_dots(grouped(comparisons, colour_name));
  }

  std::string document() const { return drawing_.document(width, height); }

 private:
  void draw_axes() {
    const std::string grid = " stroke=\"#e4e4e4\"", grey = " fill=\"#555\"";
    for (double decade = std::pow(10, std::floor(std::log10(times_.low))); decade < times_.high; decade *= 10)
      for (const double factor : {1, 2, 5}) {
        const double time_us = decade * factor;
        if (time_us < times_.low || time_us > times_.high) continue;
        const double x = times_.place_of(time_us);
        drawing_.add_line(x, top, x, height - bottom, grid);
        drawing_.add_text(x, height - bottom + 14, fixed(time_us, time_us < 1 ? 1 : 0),
                          " text-anchor=\"middle\"" + grey);
      }
    for (const double quotient : {0.25, 0.5, 0.75, 1 - bound, 1.0, 1 + bound, 1.25, 1.5, 2.0, 4.0}) {
      if (quotient < quotients_.low || quotient > quotients_.high) continue;
      const double y = quotients_.place_of(quotient);
      const bool is_bound = std::abs(quotient - 1) < 1.1 * bound;
      drawing_.add_line(left, y, width - margin, y,
                        quotient == 1 ? R"( stroke="#222")"
                        : is_bound    ? R"( stroke="#888" stroke-dasharray="5 4")"
                                      : grid);
      drawing_.add_text(left - 8, y + 4, percent_text(quotient), " text-anchor=\"end\"" + grey);
    }
    drawing_.add_text((left + width - margin) / 2, height - 12, "measured time of an iteration, us",
                      " text-anchor=\"middle\"" + grey);
    drawing_.add_text(margin, 20, "Predicted over measured time", R"( font-size="13" font-weight="bold")");
  }

  void draw_dots(const evidence::Groups& families) {
    double x = margin;
    std::size_t family = 0;
    for (const auto& [name, comparisons] : families) {
      const Colour& colour = palette[family++ % std::size(palette)];
      const std::string label = name + " (" + std::to_string(comparisons.size()) + ")";
      drawing_.add_text(x + 12, 41, label);
      drawing_.begin_dots(colour);
      drawing_.add_dot(x + 4, 37, name);
      x += 12 + text_width(label) + 12;
      for (const evidence::Comparison& one : comparisons)
        drawing_.add_dot(times_.place_of(one.measured.time_us), quotients_.place_of(1 + one.error()), title_of(one));
      drawing_.end_dots();
    }
  }

  Axis times_, quotients_;
  Svg drawing_;
};

}  // namespace

std::string accuracy_picture(const std::vector<evidence::Comparison>& comparisons) {
  return Picture(comparisons).document();
}

}  // namespace weft::calibration::report
