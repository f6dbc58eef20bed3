#include "tools/trace_picture.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/input_error.hpp"
#include "tools/table.hpp"

namespace weft::tools {

namespace {

// All lengths in px.
constexpr double width = 1000, margin = 12, header_height = 56, lane_height = 30, bar_height = 22, trace_gap = 14;
constexpr double axis_height = 40, character_width = 6.4;  // of 11 px sans-serif, rather too wide than too narrow
constexpr std::size_t longest_label = 48;

struct Colour {
  const char *fill, *edge;
};
constexpr Colour palette[] = {{"#c6dbf2", "#3b76b5"}, {"#fdd5a5", "#d9730d"}, {"#c9e7c3", "#3c8d40"},
                              {"#e0d0ee", "#7f5aa8"}, {"#f9cfd4", "#c2414f"}, {"#e3e3e3", "#6e6e6e"},
                              {"#c2e8ea", "#20868c"}, {"#f3e6a9", "#a88b0c"}};

struct Lane {
  std::string label, stream;
  std::vector<const Span*> spans;
};

struct TraceLanes {
  double start_us = 0, end_us = 0;
  std::vector<Lane> lanes;
};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;  // XML has no control characters
  }
  return safe;
}

/// The end of a long text tells more: file names differ there.
std::string shortened(const std::string& text) {
  if (text.size() <= longest_label) return text;
  std::size_t begin = text.size() - longest_label;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;  // never inside a UTF-8 character
  return "…" + text.substr(begin);
}

double width_of(const std::string& text) { return character_width * static_cast<double>(text.size()); }

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
      for (const Lane& lane : trace.lanes) left_ = std::max(left_, margin + width_of(lane.label) + 10);
    }
    draw_header(traces, gpu);
    draw_axis();
    draw_lanes();
  }

  std::string document() const {
    const std::string height = fixed(header_height + lanes_height_ + axis_height, 0), full_width = fixed(width, 0);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + full_width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + full_width + " " + height +
           "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
           drawing_.str() + "</svg>\n";
  }

 private:
  double x_of(double time_us) const { return left_ + (width - margin - left_) * time_us / end_us_; }

  const Colour& colour_of(const std::string& kind) const {
    const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    return palette[static_cast<std::size_t>(found - kinds_.begin()) % std::size(palette)];
  }

  void draw_text(double x, double y, const std::string& text, const std::string& attributes = "") {
    drawing_ << "<text x=\"" << fixed(x, 1) << "\" y=\"" << fixed(y, 1) << '"' << attributes << '>' << escaped(text)
             << "</text>\n";
  }

  void draw_box(double x, double y, double box_width, double height, const Colour& colour, const std::string& title) {
    drawing_ << "<rect x=\"" << fixed(x, 1) << "\" y=\"" << fixed(y, 1) << "\" width=\"" << fixed(box_width, 1)
             << "\" height=\"" << fixed(height, 1) << "\" rx=\"2\" fill=\"" << colour.fill << "\" stroke=\""
             << colour.edge << "\"><title>" << escaped(title) << "</title></rect>\n";
  }

  void draw_header(const std::vector<Trace>& traces, int gpu) {
    std::string title = "GPU " + std::to_string(gpu) + ", one iteration";
    for (const Trace& trace : traces)
      title +=
          (&trace == traces.data() ? ": " : ", ") + shortened(trace.source) + " " + fixed(trace.time_us, 1) + " us";
    draw_text(margin, 20, title, " font-size=\"13\" font-weight=\"bold\"");
    double x = margin;
    for (const std::string& kind : kinds_) {
      draw_box(x, 31, 12, 12, colour_of(kind), kind);
      draw_text(x + 18, 41, kind);
      x += 18 + width_of(kind) + 18;
    }
  }

  void draw_axis() {
    const double bottom = header_height + lanes_height_, tick = tick_us(end_us_);
    for (int i = 0; i * tick <= end_us_; ++i) {
      const double x = x_of(i * tick);
      drawing_ << "<line x1=\"" << fixed(x, 1) << "\" x2=\"" << fixed(x, 1) << "\" y1=\"" << fixed(header_height, 1)
               << "\" y2=\"" << fixed(bottom, 1) << "\" stroke=\"#e4e4e4\"/>\n";
      draw_text(x, bottom + 14, fixed(i * tick, tick < 1 ? 2 : 0), " text-anchor=\"middle\" fill=\"#555\"");
    }
    draw_text((left_ + width - margin) / 2, bottom + 31, "us from the first operation's start",
              " text-anchor=\"middle\" fill=\"#555\"");
  }

  void draw_lanes() {
    double y = header_height + 4;
    for (const TraceLanes& trace : traces_) {
      for (const Lane& lane : trace.lanes) {
        draw_text(left_ - 10, y + bar_height / 2 + 4, lane.label, " text-anchor=\"end\"");
        for (const Span* span : lane.spans) draw_span(*span, trace.start_us, y);
        y += lane_height;
      }
      if (!trace.lanes.empty()) y += trace_gap;
    }
  }

  void draw_span(const Span& span, double origin_us, double y) {
    const double x = x_of(span.start_us - origin_us), bar_width = x_of(span.end_us - origin_us) - x;
    draw_box(x, y, bar_width, bar_height, colour_of(span.kind),
             span.operation + ", " + fixed(span.end_us - span.start_us, 1) + " us");
    if (width_of(span.operation) + 4 <= bar_width)
      draw_text(x + bar_width / 2, y + bar_height / 2 + 4, span.operation, " text-anchor=\"middle\"");
  }

  std::vector<TraceLanes> traces_;
  std::vector<std::string> kinds_;  ///< in the order of the palette
  double end_us_ = 1e-3;            ///< of the longest trace; never 0
  double lanes_height_ = 0, left_ = 0;
  std::ostringstream drawing_;
};

}  // namespace

std::string svg_picture(const std::vector<Trace>& traces, int gpu) { return Picture(traces, gpu).document(); }

}  // namespace weft::tools
