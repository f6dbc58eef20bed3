#include "scenarios/report/sweep_report.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

Section summary_of(study::SweepFindings& findings) {
  Table table{{"machine", "GPUs", "op", droppable("questions", 3), "overlap gains", "mean speedup",
               droppable("largest", 2), droppable("most often fastest", 1)},
              {}};
  for (const study::SweepSummary& one : findings.summaries())
    table.rows.push_back({one.group.machine, count(one.group.gpus), one.group.op, count(one.questions),
                          percent(static_cast<double>(one.gains) / static_cast<double>(one.questions)),
                          ratio(one.mean_speedup), ratio(one.largest_speedup), one.usual_winner});
  Section section{"The fastest schedule of each question", std::move(table), {}};
  const study::SweepFindings::Errors errors = findings.errors();
  section.notes.push_back(
      std::to_string(findings.cases()) + " cases" +
      (errors.cases == 0 ? "." : ", of which " + std::to_string(errors.cases) + " cannot be done (column error)."));
  if (errors.cases > 0) section.notes.push_back("Most common: " + errors.most_common);
  return section;
}

Section pareto_of(study::SweepFindings& findings) {
  Table table{{"machine", "work", "GPUs", "schedule", "us", "mJ"}, {}};
  for (const study::ParetoPoint& one : findings.pareto())
    table.rows.push_back(
        {one.machine, one.work, count(one.gpus), one.schedule, Number{one.time_us, 1}, Number{one.energy_mJ, 1}});
  return {"What no other schedule beats in time, GPUs and energy", std::move(table), {}};
}

}  // namespace weft::scenarios::report
