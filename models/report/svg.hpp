// Drawing in SVG: 11 px sans-serif text on white. All lengths in px.
#pragma once

#include <array>
#include <sstream>
#include <string>

namespace weft::report {

struct Colour {
  const char *fill, *edge;
};
inline constexpr std::array<Colour, 8> palette{{{"#c6dbf2", "#3b76b5"},
                                                {"#fdd5a5", "#d9730d"},
                                                {"#c9e7c3", "#3c8d40"},
                                                {"#e0d0ee", "#7f5aa8"},
                                                {"#f9cfd4", "#c2414f"},
                                                {"#e3e3e3", "#6e6e6e"},
                                                {"#c2e8ea", "#20868c"},
                                                {"#f3e6a9", "#a88b0c"}}};

/// Of 11 px sans-serif, rather too wide than too narrow.
double text_width(const std::string& text);

class Svg {
 public:
  void add_text(double x, double y, const std::string& text, const std::string& attributes = "");
  void add_line(double x1, double y1, double x2, double y2, const std::string& attributes);
  /// `title` is shown under the pointer.
  void add_box(double x, double y, double width, double height, const Colour& colour, const std::string& title);
  /// Dots stand between these two, all of one colour.
  void begin_dots(const Colour& colour);
  /// Without a title it says nothing under the pointer, and takes a third of the letters.
  void add_dot(double x, double y, const std::string& title = "");
  void end_dots();

  std::string document(double width, double height) const;

 private:
  std::ostringstream drawing_;
};

}  // namespace weft::report
