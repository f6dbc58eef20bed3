#include "models/report/trace_picture.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/report/svg.hpp"

namespace weft::report {

namespace {

// All lengths in px.
constexpr double width = 1000, margin = 12, header_height = 56, lane_height = 30, bar_height = 22, trace_gap = 14;
constexpr double axis_height = 40;
constexpr std::size_t longest_label = 48;

struct Lane {
  std::string label, stream;
  std::vector<const Span*> spans;
};

struct TraceLanes {
  double start_us = 0, end_us = 0;
  std::vector<Lane> lanes;
};

/// The end of a long text tells more: file names differ there.
std::string shortened(const std::string& text) {
  if (text.size() <= longest_label) return text;
  std::size_t begin = text.size() - longest_label;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;  // never inside a UTF-8 character
  return "…" + text.substr(begin);
}

TraceLanes lanes_of(const Trace& trace, int gpu) {
  std::vector<const Span*> spans;
  for (const Span& span : trace.spans)
    if (span.gpu == gpu) spans.push_back(&span);
  std::stable_sort(spans.begin(), spans.end(), [](auto* a, auto* b) { return a->start_us < b->start_us; });
  TraceLanes made;
  if (!spans.empty()) made.start_us = spans.front()->start_us;
  for (const Span* span : spans) {
    auto lane =
        std::find_if(made.lanes.begin(), made.lanes.end(), [&](auto& one) { return one.stream == span->stream; });
    if (lane == made.lanes.end())
      lane = made.lanes.insert(lane, {shortened(trace.source + " " + span->stream), span->stream, {}});
    lane->spans.push_back(span);
    made.end_us = std::max(made.end_us, span->end_us - made.start_us);
  }
  std::sort(made.lanes.begin(), made.lanes.end(), [](auto& a, auto& b) { return a.label < b.label; });
  return made;
}

std::vector<std::string> kinds_of(const std::vector<TraceLanes>& traces) {
  std::vector<std::string> kinds;
  for (const TraceLanes& trace : traces)
    for (const Lane& lane : trace.lanes)
      for (const Span* span : lane.spans)
        if (std::find(kinds.begin(), kinds.end(), span->kind) == kinds.end()) kinds.push_back(span->kind);
  return kinds;
}

/// 1, 2 or 5 times a power of ten, for at most ten ticks.
double tick_us(double end_us) {
  const double decade = std::pow(10, std::floor(std::log10(end_us / 10)));
  for (const double factor : {1, 2, 5})
    if (end_us / (factor * decade) <= 10) return factor * decade;
  return 10 * decade;
}

class Picture {
 public:
  Picture(const std::vector<Trace>& traces, int gpu) {
    for (const Trace& trace : traces) traces_.push_back(lanes_of(trace, gpu));
    kinds_ = kinds_of(traces_);
    if (kinds_.empty()) throw InputError("traces", "expected spans on GPU " + std::to_string(gpu) + ", got none");
    for (const TraceLanes& trace : traces_) {
      end_us_ = std::max(end_us_, trace.end_us);
      lanes_height_ += lane_height * static_cast<double>(trace.lanes.size()) + (trace.lanes.empty() ? 0 : trace_gap);
      for (const Lane& lane : trace.lanes) left_ = std::max(left_, margin + text_width(lane.label) + 10);
    }
    draw_header(traces, gpu);
    draw_axis();
    draw_lanes();
  }

  std::string document() const { return drawing_.document(width, header_height + lanes_height_ + axis_height); }

 private:
  double x_of(double time_us) const { return left_ + (width - margin - left_) * time_us / end_us_; }

  const Colour& colour_of(const std::string& kind) const {
    const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    return palette[static_cast<std::size_t>(found - kinds_.begin()) % std::size(palette)];
  }

  void draw_header(const std::vector<Trace>& traces, int gpu) {
    std::string title = "GPU " + std::to_string(gpu) + ", one iteration";
    for (const Trace& trace : traces)
      title +=
          (&trace == traces.data() ? ": " : ", ") + shortened(trace.source) + " " + fixed(trace.time_us, 1) + " us";
    drawing_.add_text(margin, 20, title, " font-size=\"13\" font-weight=\"bold\"");
    double x = margin;
    for (const std::string& kind : kinds_) {
      drawing_.add_box(x, 31, 12, 12, colour_of(kind), kind);
      drawing_.add_text(x + 18, 41, kind);
      x += 18 + text_width(kind) + 18;
    }
  }

  void draw_axis() {
    const double bottom = header_height + lanes_height_, tick = tick_us(end_us_);
    for (int i = 0; i * tick <= end_us_; ++i) {
      const double x = x_of(i * tick);
      drawing_.add_line(x, header_height, x, bottom, " stroke=\"#e4e4e4\"");
      drawing_.add_text(x, bottom + 14, fixed(i * tick, tick < 1 ? 2 : 0), " text-anchor=\"middle\" fill=\"#555\"");
    }
    drawing_.add_text((left_ + width - margin) / 2, bottom + 31, "us from the first operation's start",
                      " text-anchor=\"middle\" fill=\"#555\"");
  }

  void draw_lanes() {
    double y = header_height + 4;
    for (const TraceLanes& trace : traces_) {
      for (const Lane& lane : trace.lanes) {
        drawing_.add_text(left_ - 10, y + bar_height / 2 + 4, lane.label, " text-anchor=\"end\"");
        for (const Span* span : lane.spans) draw_span(*span, trace.start_us, y);
        y += lane_height;
      }
      if (!trace.lanes.empty()) y += trace_gap;
    }
  }

  void draw_span(const Span& span, double origin_us, double y) {
    const double x = x_of(span.start_us - origin_us), bar_width = x_of(span.end_us - origin_us) - x;
    drawing_.add_box(x, y, bar_width, bar_height, colour_of(span.kind),
                     span.operation + ", " + fixed(span.end_us - span.start_us, 1) + " us");
    if (text_width(span.operation) + 4 <= bar_width)
      drawing_.add_text(x + bar_width / 2, y + bar_height / 2 + 4, span.operation, " text-anchor=\"middle\"");
  }

  std::vector<TraceLanes> traces_;
  std::vector<std::string> kinds_;  ///< in the order of the palette
  double end_us_ = 1e-3;            ///< of the longest trace; never 0
  double lanes_height_ = 0, left_ = 0;
  Svg drawing_;
};

}  // namespace

std::string svg_picture(const std::vector<Trace>& traces, int gpu) { return Picture(traces, gpu).document(); }

}  // namespace weft::report
