#include "scenarios/study/answer_report.hpp"

#include <algorithm>
#include <set>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {
namespace {

std::set<std::string> operations_of(const Schedule& schedule) {
  std::set<std::string> names;
  for (const Operation& operation : schedule.operations) names.insert(operation.name);
  return names;
}

/// An operation of the trace that the schedule has not got; null where there is none.
const std::string* unknown_to(const Schedule& schedule, const Trace& trace) {
  const std::set<std::string> known = operations_of(schedule);
  for (const Span& span : trace.spans)
    if (!known.contains(span.operation)) return &span.operation;
  return nullptr;
}

}  // namespace

std::vector<DrawnRun> drawn_runs(const Answer& answer, const Machine& machine, Executor& executor,
                                 const Observe& observe) {
  const Candidate& serial = answer.ranking.reference();
  std::vector<const Candidate*> drawn{&serial};
  for (const Candidate& one : answer.ranking.fastest_first)
    if (&one != &serial) {
      drawn.insert(drawn.begin(), &one);
      break;
    }
  std::vector<DrawnRun> runs;
  for (const Candidate* one : drawn) {
    Prediction prediction = predict(one->request, machine, executor, {.serial = false});
    Timeline timeline = observe(prediction.schedule, machine_for(one->request, machine, executor));
    runs.push_back({words_of(one->request.schedule), std::move(prediction.schedule), std::move(timeline)});
  }
  return runs;
}

void add_measured(std::vector<DrawnRun>& runs, Trace measured) {
  const auto run =
      std::ranges::find_if(runs, [&](const DrawnRun& one) { return unknown_to(one.operations, measured) == nullptr; });
  if (run == runs.end())
    throw InputError("operation", "expected those of \"" + runs.front().schedule + "\", got \"" +
                                      shown_name(*unknown_to(runs.front().operations, measured)) + "\"");
  DrawnRun added{run->schedule, run->operations, {}};
  added.timeline.edges = edges_of(run->operations, measured);
  added.timeline.trace = std::move(measured);
  runs.insert(run + 1, std::move(added));
}

}  // namespace weft::scenarios::study
