#include "models/report/trace_picture.hpp"

#include <gmock/gmock.h>

#include <regex>

#include "models/base/input_error.hpp"

namespace weft::report {
namespace trace_picture_test {

using testing::HasSubstr;
using testing::Not;

Span span(const std::string& operation, const std::string& stream, int gpu, double start_us, double end_us) {
  return {.operation = operation,
          .kind = "gemm",
          .stream = stream,
          .gpu = gpu,
          .start_us = start_us,
          .end_us = end_us,
          .detail = ""};
}

Trace trace(const std::string& source, std::vector<Span> spans) {
  Trace made;
  made.source = source;
  made.spans = std::move(spans);
  return made;
}

/// x and width of the bar of an operation, in px.
std::pair<double, double> bar(const std::string& picture, const std::string& operation) {
  const std::regex expression("<rect x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\"[^>]*><title>" + operation + ",");
  std::smatch match;
  if (!std::regex_search(picture, match, expression)) return {-1, -1};
  return {std::stod(match[1]), std::stod(match[2])};
}

TEST(TracePicture, HasALaneForEachStreamOfEachTrace) {
  const std::string picture = svg_picture({trace("predicted", {span("a", "s0", 0, 0, 1), span("b", "s1", 0, 0, 1)}),
                                           trace("measured", {span("a", "s0", 0, 0, 1)})});
  for (const char* lane : {">predicted s0<", ">predicted s1<", ">measured s0<"}) EXPECT_THAT(picture, HasSubstr(lane));
}

TEST(TracePicture, AlignsTracesAtTheirFirstSpan) {
  const std::string picture = svg_picture(
      {trace("predicted", {span("first", "s0", 0, 2, 10)}), trace("measured", {span("second", "s0", 0, 50, 60)})});
  EXPECT_DOUBLE_EQ(bar(picture, "first").first, bar(picture, "second").first);
}

TEST(TracePicture, BarsAreAsLongAsTheirSpansLast) {
  const std::string picture =
      svg_picture({trace("predicted", {span("a", "s0", 0, 0, 30), span("b", "s0", 0, 30, 90)})});
  EXPECT_NEAR(bar(picture, "b").second, bar(picture, "a").second * 60 / 30, 0.2);  // coordinates have one decimal
  EXPECT_NEAR(bar(picture, "b").first, bar(picture, "a").first + bar(picture, "a").second, 0.2);
}

TEST(TracePicture, ShowsOneGpu) {
  const std::string picture =
      svg_picture({trace("measured", {span("here", "s0", 1, 0, 1), span("there", "s0", 0, 0, 1)})}, 1);
  EXPECT_THAT(picture, HasSubstr("<title>here,"));
  EXPECT_THAT(picture, Not(HasSubstr("<title>there,")));
}

TEST(TracePicture, WritesNamesAsXmlText) {
  const std::string picture = svg_picture({trace("predicted", {span("a<b & \"c\"\n", "s0", 0, 0, 1)})});
  EXPECT_THAT(picture, HasSubstr("<title>a&lt;b &amp; &quot;c&quot; ,"));
}

TEST(TracePicture, RefusesTracesWithoutSpansOnTheGpu) {
  EXPECT_THROW(svg_picture({trace("predicted", {span("a", "s0", 0, 0, 1)})}, 3), InputError);
}

}  // namespace trace_picture_test
}  // namespace weft::report
