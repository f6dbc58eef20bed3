#include "calibration/evidence/published_curves.hpp"

#include <gtest/gtest.h>

#include "models/base/input_error.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace published_curves_test {

const std::string header = "collective,gpus,max_ctas,bytes,time_us,source\n";

std::vector<PublishedCurve> read(const std::string& lines, const Machine& machine = {}) {
  tests::TemporaryFolder folder;
  folder.write("curves.csv", header + lines);
  return published_curves(machine, folder.path() / "curves.csv");
}

TEST(PublishedCurves, JoinNeighbouringLinesOfOneCurve) {
  const auto curves = read(
      "all_reduce,8,0,1024,10,a blog\n"
      "all_reduce,8,0,2048,11,a blog\n"
      "all_reduce,8,4,2048,12,a blog\n");
  ASSERT_EQ(curves.size(), 2);
  ASSERT_EQ(curves[0].points.size(), 2);
  EXPECT_EQ(curves[0].points[1].bytes, 2048);
  EXPECT_EQ(curves[0].points[1].time_us, 11);
  EXPECT_EQ(curves[1].max_ctas, 4);
  EXPECT_EQ(curves[1].source, "a blog");
}

TEST(PublishedCurves, BeginWithThoseOfTheProfile) {
  Machine machine;
  machine.collectives = {
      {.kind = CollectiveKind::all_gather, .gpus = 4, .ctas = 2, .points = {{64, 5, 7}, {128, 6, 8}}}};
  const auto curves = read("all_reduce,8,0,1024,10,a blog\n", machine);
  ASSERT_EQ(curves.size(), 2);
  EXPECT_TRUE(curves[0].in_profile());
  EXPECT_EQ(curves[0].points[1].time_us, 8);
  EXPECT_FALSE(curves[1].in_profile());
}

TEST(PublishedCurves, OfTheProfileHaveNoPointWhereTheTimeOfAGraphIsNotKnown) {
  Machine machine;
  const auto curve = [](double alone_us) {
    return CollectiveCurve{
        .kind = CollectiveKind::all_gather, .gpus = 4, .ctas = 2, .points = {{64, 5, alone_us}, {128, 6, 0}}};
  };
  machine.collectives = {curve(7), curve(0)};
  const auto curves = read("", machine);
  ASSERT_EQ(curves.size(), 1);
  ASSERT_EQ(curves[0].points.size(), 1);
  EXPECT_EQ(curves[0].points[0].bytes, 64);
}

TEST(PublishedCurves, NameTheirSourceInCharactersThatCanBePrinted) {
  EXPECT_EQ(read("all_reduce,8,0,1024,10,a \x1b blo\xff\n").front().source, "a \\u001b blo\\xff");
}

TEST(PublishedCurves, RefuseALineThatIsNone) {
  for (const std::string line :
       {"all_reduce,8,0,1024,ten,a blog\n", "all_reduce,8,0,1024,10\n", "all_reduce,8,0,1024,0,a blog\n",
        "all_to_one,8,0,1024,10,a blog\n", "all_reduce,8,0,1024,5e-324,a blog\n", "all_reduce,8,0,1024,nan,a blog\n",
        "all_reduce,8,0,1024,1e9,a blog\n", "all_reduce,0,0,1024,10,a blog\n", "all_reduce,8,-1,1024,10,a blog\n",
        "all_reduce,8,0,0,10,a blog\n"}) {
    try {
      read(line);
      FAIL() << "accepted " << line;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("curves.csv, line 2"), std::string::npos) << error.what();
    }
  }
}

}  // namespace published_curves_test
}  // namespace weft::calibration::evidence
