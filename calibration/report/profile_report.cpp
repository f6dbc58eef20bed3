#include "calibration/report/profile_report.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

Table changes_of(const evidence::CalibratedProfile& profile, const Column& before, const Column& note) {
  Table table{{"number", before, "now", "unit", note}};
  for (const evidence::ProfileChange& one : profile.changes)
    table.rows.push_back({one.number, one.before, one.now, one.unit, one.note});
  return table;
}

}  // namespace

Report calibrated_report(const evidence::CalibratedProfile& profile) {
  return {.sections = {{.table = changes_of(profile, {"before", 2}, {"note", 1})}}};
}

Report new_profile_report(const evidence::CalibratedProfile& profile) {
  return {
      .sections = {{.table = changes_of(profile, "before", {"source", 1})}},
      .notes = {
          "All other numbers are assumed as the base has them; weft machines FILE lists every one with its source."}};
}

}  // namespace weft::calibration::report
