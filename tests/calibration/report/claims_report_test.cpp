#include "calibration/report/claims_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/report/writers.hpp"

namespace weft::calibration::report {
namespace claims_report_test {

using testing::HasSubstr;

TEST(ClaimsReport, SaysWhichHoldWhyOthersMayNotAndWhatIsNotSimulated) {
  evidence::ClaimFile file;
  file.title = "A paper", file.reference = "somewhere";
  file.claims.resize(2);
  for (evidence::Claim& claim : file.claims) {
    claim.claim = "it is faster", claim.source = "table 1", claim.machine = "a server";
    claim.published = evidence::Range{1.2, 1.5};
    claim.note = "Sizes were assumed.";
  }
  file.not_simulated = {{"it is simple", "section 2", "Nobody can ask that."}};
  std::vector<evidence::Verdict> verdicts(2);
  verdicts[0].low = 1.25, verdicts[0].high = 1.3, verdicts[0].holds = true;
  verdicts[1].blind = evidence::BlindAnswers{.constant_holds = true};
  const weft::report::Report report = claims_report(file, verdicts);
  const std::string text = weft::report::to_text(report);
  EXPECT_THAT(text, HasSubstr("A paper (somewhere)\n"));
  EXPECT_THAT(text, HasSubstr("1.20 .. 1.50"));
  EXPECT_THAT(text, HasSubstr("1.25 .. 1.30"));
  EXPECT_THAT(text, HasSubstr("no: so does a constant answer"));
  EXPECT_THAT(text, HasSubstr("\n1 of 2 claims hold: "));
  EXPECT_THAT(text, HasSubstr("  2: Sizes were assumed.\n"));
  EXPECT_THAT(text, HasSubstr("  it is simple (section 2). Nobody can ask that.\n"));
  EXPECT_EQ((*report.document.json())["claims"].size(), 2u);
}

}  // namespace claims_report_test
}  // namespace weft::calibration::report
