#include "scenarios/report/losses_table.hpp"

#include <algorithm>
#include <cstdlib>

namespace weft::scenarios::report {

using weft::report::Cell;
using weft::report::Number;
using weft::report::Section;

Section losses_table(const std::vector<study::NamedLosses>& schedules) {
  Section section{"Where the time goes, in us", {{""}, {}}, {}};
  const auto add_row = [&](const std::string& name, const auto& value_ps) {
    std::vector<Cell>& row = section.table.rows.emplace_back();
    row.emplace_back(name);
    for (const study::NamedLosses& one : schedules)
      row.emplace_back(Number{static_cast<double>(value_ps(one.losses)) * 1e-6, 1});
  };
  for (const study::NamedLosses& one : schedules) section.table.columns.emplace_back(one.name);
  add_row("perfect overlap", [](const study::Losses& losses) { return losses.overlap_ps; });
  for (const auto& [cause, name] : NamesOf<study::Cause>::names) {
    const auto value = [cause = cause](const study::Losses& losses) { return losses.of(cause); };
    if (std::ranges::any_of(
            schedules, [&](const study::NamedLosses& one) { return std::abs(value(one.losses)) >= least_shown_ps; }))
      add_row("+ " + std::string(text_of(cause)), value);
  }
  add_row("= time", [](const study::Losses& losses) { return losses.time_ps; });
  return section;
}

}  // namespace weft::scenarios::report
