#include "scenarios/study/settle.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/check/hardware_support.hpp"
#include "models/check/machine_support.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::study {
namespace {

/// The fastest of what it is shown; where none is within reach of these GPUs, of all.
class Search {
 public:
  Search(const Machine& machine, Executor& executor, bool only_runnable)
      : machine_(machine), executor_(executor), only_runnable_(only_runnable) {}

  void add(const Case& open) {
    for (const ScheduleChoice& choice : families::closed_choices(open, machine_)) {
      Case request = open;
      request.schedule = choice;
      run(std::move(request));
    }
  }
  /// As add(), but what cannot be built as it is asked, such as a schedule that PyTorch has not, is left out.
  void add_where_possible(const Case& open) {
    try {
      add(open);
    } catch (const InputError& error) {
      if (!refusal_) refusal_ = error;
    }
  }
  Settled fastest() && {
    if (!fastest_ && refusal_) throw InputError(*refusal_);
    if (!fastest_) throw InputError("schedule.runnable", "expected families of which something runs, got none");
    return std::move(*fastest_);
  }

 private:
  void run(Case request) {
    Schedule schedule = families::build(request, machine_);
    if (only_runnable_ && !is_runnable(schedule, machine_)) return;
    const bool is_out_of_reach = lacks_peer_access(machine_, schedule);
    if (is_out_of_reach && fastest_ && !fastest_is_out_of_reach_) return;
    Trace trace = executor_.run(schedule, machine_);
    if (fastest_ && is_out_of_reach == fastest_is_out_of_reach_ && trace.time_us >= fastest_->trace.time_us) return;
    fastest_ = Settled{std::move(request), std::move(schedule), std::move(trace)};
    fastest_is_out_of_reach_ = is_out_of_reach;
  }

  const Machine& machine_;
  Executor& executor_;
  bool only_runnable_;
  std::optional<Settled> fastest_;
  bool fastest_is_out_of_reach_ = false;
  std::optional<InputError> refusal_;  ///< the first
};

std::vector<Case> cases_of_best(const Case& request, const Machine& machine) {
  const Best& best = std::get<Best>(request.schedule.family);
  SearchSpace space{.max_ctas = {}, .fused_norm_ctas = fused_norm_ctas(machine), .launch = request.schedule.launch};
  if (!best.among.empty()) space.families = best.among;
  std::vector<Case> cases = candidates(request.workload, request.gpus, space);
  // Serial is always listed, since others are compared with it.
  if (!space.has("serial")) cases.erase(cases.begin());
  if (cases.empty()) throw InputError("schedule.among", "expected a family that the op has, got " + joined(best.among));
  for (Case& one : cases) {  // all but the family is as it was asked
    Family family = std::move(one.schedule.family);
    one = request;
    one.schedule.family = std::move(family);
  }
  return cases;
}

}  // namespace

Settled settle(const Case& request, const Machine& machine, Executor& executor) {
  const auto* best = std::get_if<Best>(&request.schedule.family);
  Search search(machine, executor, best != nullptr && best->runnable);
  if (best != nullptr)
    for (const Case& one : cases_of_best(request, machine)) search.add_where_possible(one);
  else
    search.add(request);
  return std::move(search).fastest();
}

Closed close_case(const Case& request, const Machine& machine, Executor& executor) {
  if (!families::is_open(request.schedule)) return {request, families::build(request, machine)};
  Settled settled = settle(request, machine, executor);
  return {std::move(settled.request), std::move(settled.schedule)};
}

}  // namespace weft::scenarios::study
