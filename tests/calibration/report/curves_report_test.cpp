#include "calibration/report/curves_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"

namespace weft::calibration::report {
namespace curves_report_test {

using weft::report::Column;
using weft::report::Table;

TEST(CurvesReport, HasARowForEachCurveOrForEachOfItsPoints) {
  const Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
  const Table curves = curves_of(machine, false), points = curves_of(machine, true);
  EXPECT_GT(curves.rows.size(), 0u);
  EXPECT_GT(points.rows.size(), curves.rows.size());
  for (const Table& table : {curves, points})
    EXPECT_TRUE(std::ranges::all_of(table.rows, [&](const auto& row) { return row.size() == table.columns.size(); }));
}

}  // namespace curves_report_test
}  // namespace weft::calibration::report
