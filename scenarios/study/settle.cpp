#include "scenarios/study/settle.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "scenarios/families/build.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::study {
namespace {

/// The fastest of what it is shown.
class Search {
 public:
  Search(const Machine& machine, Executor& executor) : machine_(machine), executor_(executor) {}

  void add(const Case& open) {
    for (const ScheduleChoice& choice : families::closed_choices(open, machine_)) {
      Case request = open;
      request.schedule = choice;
      run(std::move(request));
    }
  }
  Settled fastest() && { return std::move(*fastest_); }

 private:
  void run(Case request) {
    Schedule schedule = families::build(request, machine_);
    Trace trace = executor_.run(schedule, machine_);
    if (!fastest_ || trace.time_us < fastest_->trace.time_us)
      fastest_ = Settled{std::move(request), std::move(schedule), std::move(trace)};
  }

  const Machine& machine_;
  Executor& executor_;
  std::optional<Settled> fastest_;
};

std::vector<Case> cases_of_best(const Case& request, const Machine& machine) {
  std::vector<Case> cases =
      candidates(request.workload, request.gpus,
                 {.max_ctas = {}, .fused_norm_ctas = fused_norm_ctas(machine), .launch = request.schedule.launch});
  for (Case& one : cases) {
    one.id = request.id;
    one.schedule.max_ctas = request.schedule.max_ctas;
    one.schedule.host = request.schedule.host;
    one.schedule.collectives = request.schedule.collectives;
    one.measured = request.measured;
  }
  return cases;
}

}  // namespace

Settled settle(const Case& request, const Machine& machine, Executor& executor) {
  Search search(machine, executor);
  if (std::holds_alternative<Best>(request.schedule.family))
    for (const Case& one : cases_of_best(request, machine)) search.add(one);
  else
    search.add(request);
  return std::move(search).fastest();
}

}  // namespace weft::scenarios::study
