#include "calibration/report/accuracy_picture.hpp"

#include <gmock/gmock.h>

#include "tests/calibration/evidence/comparisons.hpp"
#include "tests/models/error_of.hpp"

namespace weft::calibration::report {
namespace accuracy_picture_test {

using calibration::evidence::comparison;
using calibration::evidence::four_chunks;
using calibration::evidence::gemm_part;
using calibration::evidence::pair_workload;
using calibration::evidence::serial;
using calibration::evidence::two_chunks;
using testing::HasSubstr;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(AccuracyPicture, HasADotForEachCaseAndEachFamily) {
  const std::string picture =
      accuracy_picture({comparison(pair_workload, two_chunks, 100, 112),
                        comparison(pair_workload, four_chunks, 1000, 950), comparison(gemm_part, serial, 10, 10)});
  EXPECT_THAT(picture, HasSubstr("decomposition (2)"));
  EXPECT_THAT(picture, HasSubstr("gemm (1)"));
  EXPECT_EQ(count(picture, "<path"), 3u + 2u);
  EXPECT_THAT(picture, HasSubstr("decomposition, chunks 2, 2 GPUs: +12.0 %"));
  EXPECT_THAT(picture, testing::Not(HasSubstr("chunks 4")));  // within 10 %
}

TEST(AccuracyPicture, HasLinesAtTenPercent) {
  const std::string picture = accuracy_picture({comparison(gemm_part, serial, 10, 10)});
  EXPECT_THAT(picture, HasSubstr(">+10 %<"));
  EXPECT_THAT(picture, HasSubstr(">-10 %<"));
}

TEST(AccuracyPicture, OfNothingIsRefused) {
  EXPECT_EQ(error_of([] { accuracy_picture({}); }), "measurements: expected a case that can be predicted, got none");
}

}  // namespace accuracy_picture_test
}  // namespace weft::calibration::report
