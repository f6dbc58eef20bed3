// The first screen of weft explore: what to do, what it gains and how sure that is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/report/report.hpp"
#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::report {

/// At most ten lines of 80 characters for the models that are shipped. What rests on assumed numbers is no winner: then
/// the first sentence advises serial, and a guess stands below it.
weft::report::Section verdict_section(const study::Verdict& verdict, const study::Exploration& exploration,
                                      const scenarios::Scenario& scenario, const Machine& machine,
                                      const study::Evidence& evidence);

/// The best plan of a model's layers at each size, what it gains and how sure that is, a size a line.
weft::report::Section plans_section(const study::Verdict& verdict, const scenarios::Scenario& scenario, Grade grade);

/// What of the model, and of ways to run it, the answer leaves out, in one sentence; nothing where that is nothing.
std::vector<std::string> not_counted(const scenarios::Scenario& scenario);

/// Patterns down, numbers of GPUs across: from which size on overlap pays.
weft::report::Section crossover_section(const std::vector<study::Crossover>& crossovers,
                                        const scenarios::Scenario& scenario);

/// The schedules of an answer by time, those of one kind that take nearly as long on one line. `grade` is that of what
/// is advised.
weft::report::Section short_ranking(const study::Answer& answer, const scenarios::Scenario& scenario, Grade grade);

/// What the explained schedules of an answer lose time to, a cause a line.
weft::report::Section short_losses(const study::Answer& answer);

}  // namespace weft::scenarios::report
