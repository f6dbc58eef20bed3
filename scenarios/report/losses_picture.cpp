#include "scenarios/report/losses_picture.hpp"

#include <algorithm>

#include "models/base/text.hpp"
#include "models/report/svg.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

// All lengths in px.
constexpr double width = 1000, margin = 12, bar_height = 20, row_height = 26, legend_row = 18, title_height = 30;
constexpr double room_for_text = 190;            // behind the longest bar
constexpr std::int64_t least_drawn_ps = 50'000;  // 0.05 us

double us(std::int64_t ps) { return static_cast<double>(ps) * 1e-6; }

/// Light colours first, then the dark ones of the same palette.
Colour colour_of(study::Cause cause) {
  const auto index = static_cast<std::size_t>(cause);
  const Colour& colour = palette[index % palette.size()];
  return index < palette.size() ? colour : Colour{colour.edge, "#222"};
}

class Picture {
 public:
  Picture(const std::string& title, const std::vector<study::NamedLosses>& schedules) {
    for (const auto& [name, losses] : schedules) {
      left_ = std::max(left_, margin + text_width(name) + 10);
      longest_us_ = std::max(longest_us_, drawn_us(losses));
    }
    drawing_.add_text(margin, 20, title, " font-size=\"13\" font-weight=\"bold\"");
    draw_legend(schedules);
    for (const auto& [name, losses] : schedules) draw_bar(name, losses);
  }
  std::string document() const { return drawing_.document(width, y_ + margin); }

 private:
  static double drawn_us(const study::Losses& losses) {
    std::int64_t sum_ps = losses.overlap_ps;
    for (const std::int64_t part_ps : losses.parts_ps) sum_ps += std::max<std::int64_t>(0, part_ps);
    return us(sum_ps);
  }
  double length(double time_us) const { return (width - left_ - room_for_text) * time_us / longest_us_; }

  void draw_legend(const std::vector<study::NamedLosses>& schedules) {
    double x = margin;
    const auto add = [&](std::string_view text, const Colour& colour) {
      const std::string name(text);
      if (x + 18 + text_width(name) > width - margin) x = margin, y_ += legend_row;
      drawing_.add_box(x, y_, 12, 12, colour, name);
      drawing_.add_text(x + 18, y_ + 10, name);
      x += 18 + text_width(name) + 16;
    };
    add("perfect overlap", overlap_colour_);
    for (const auto& [cause, word] : NamesOf<study::Cause>::names)
      if (std::any_of(schedules.begin(), schedules.end(), [cause = cause](const study::NamedLosses& one) {
            return one.losses.of(cause) >= least_drawn_ps;
          }))
        add(text_of(cause), colour_of(cause));
    y_ += legend_row + 8;
  }

  void draw_bar(const std::string& name, const study::Losses& losses) {
    drawing_.add_text(left_ - 10, y_ + bar_height / 2 + 4, name, " text-anchor=\"end\"");
    double x = left_;
    const auto add = [&](std::string_view text, double time_us, const Colour& colour) {
      drawing_.add_box(x, y_, length(time_us), bar_height, colour,
                       std::string(text) + ", " + fixed(time_us, 1) + " us");
      x += length(time_us);
    };
    add("perfect overlap", us(losses.overlap_ps), overlap_colour_);
    double gained_us = 0;
    for (const auto& [cause, word] : NamesOf<study::Cause>::names) {
      if (losses.of(cause) >= least_drawn_ps) add(text_of(cause), us(losses.of(cause)), colour_of(cause));
      gained_us += std::max(0.0, -us(losses.of(cause)));
    }
    const std::string gain = gained_us < 0.5 ? "" : " (" + fixed(gained_us, 0) + " us gained)";
    drawing_.add_text(x + 6, y_ + bar_height / 2 + 4, fixed(us(losses.time_ps), 0) + " us" + gain);
    y_ += row_height;
  }

  static constexpr Colour overlap_colour_{"#f4f4f4", "#999"};
  Svg drawing_;
  double left_ = margin, longest_us_ = 1e-3, y_ = title_height;
};

}  // namespace

std::string losses_picture(const std::string& title, const std::vector<study::NamedLosses>& schedules) {
  return Picture(title, schedules).document();
}

}  // namespace weft::scenarios::report
