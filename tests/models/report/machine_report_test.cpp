#include "models/report/machine_report.hpp"

#include <gmock/gmock.h>

#include "models/machine/machine_files.hpp"
#include "models/report/writers.hpp"

namespace weft::report {
namespace machine_report_test {

using testing::HasSubstr;

TEST(MachineReport, SaysWhatANumberMeansMayBeAndIsFrom) {
  const std::string text = written({.sections = {{.table = numbers_of(machine_path("h200x8-nvswitch"))}}}, "csv");
  EXPECT_THAT(text, HasSubstr("\ngpu.max_clock,1980,MHz,SM clock while nothing lowers it,100 to 10000,"));
}

TEST(MachineReport, SaysOnShortLinesTooWhereANumberIsFrom) {
  const std::string text =
      to_text({.sections = {{.table = numbers_of(machine_path("h20x8-nvswitch-nvls"))}}}, Style{.width = 80});
  EXPECT_THAT(text, HasSubstr("datasheet: NVIDIA H20"));
  EXPECT_THAT(text, HasSubstr("may be, meaning."));
}

TEST(MachineReport, HasARowForEachShippedProfile) { EXPECT_EQ(all_machines().rows.size(), machine_names().size()); }

}  // namespace machine_report_test
}  // namespace weft::report
