#include "models/report/svg.hpp"

#include "models/base/text.hpp"

namespace weft::report {
namespace {

constexpr double character_width = 6.4, dot_width = 5;

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

}  // namespace

double text_width(const std::string& text) { return character_width * static_cast<double>(text.size()); }

void Svg::add_text(double x, double y, const std::string& text, const std::string& attributes) {
  drawing_ << "<text x=\"" << fixed(x, 1) << "\" y=\"" << fixed(y, 1) << '"' << attributes << '>' << escaped(text)
           << "</text>\n";
}

void Svg::add_line(double x1, double y1, double x2, double y2, const std::string& attributes) {
  drawing_ << "<line x1=\"" << fixed(x1, 1) << "\" x2=\"" << fixed(x2, 1) << "\" y1=\"" << fixed(y1, 1) << "\" y2=\""
           << fixed(y2, 1) << '"' << attributes << "/>\n";
}

void Svg::add_box(double x, double y, double width, double height, const Colour& colour, const std::string& title) {
  drawing_ << "<rect x=\"" << fixed(x, 1) << "\" y=\"" << fixed(y, 1) << "\" width=\"" << fixed(width, 1)
           << "\" height=\"" << fixed(height, 1) << R"(" rx="2" fill=")" << colour.fill << "\" stroke=\"" << colour.edge
           << "\"><title>" << escaped(title) << "</title></rect>\n";
}

/// A dot is the round end of a line without length, which takes a third fewer letters than a circle.
void Svg::begin_dots(const Colour& colour) {
  drawing_ << "<g stroke=\"" << colour.edge << "\" stroke-width=\"" << fixed(dot_width, 0)
           << "\" stroke-linecap=\"round\" stroke-opacity=\"0.6\">\n";
}

void Svg::add_dot(double x, double y, const std::string& title) {
  drawing_ << "<path d=\"M" << fixed(x, 1) << ' ' << fixed(y, 1) << "h0\"";
  if (title.empty())
    drawing_ << "/>\n";
  else
    drawing_ << "><title>" << escaped(title) << "</title></path>\n";
}

void Svg::end_dots() { drawing_ << "</g>\n"; }

std::string Svg::document(double width, double height) const {
  const std::string full_height = fixed(height, 0), full_width = fixed(width, 0);
  return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + full_width + R"(" height=")" + full_height +
         R"(" viewBox="0 0 )" + full_width + " " + full_height +
         R"(" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="11" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
)" + drawing_.str() +
         "</svg>\n";
}

}  // namespace weft::report
