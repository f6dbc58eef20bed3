#include "models/execution/timeline.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/schedule/counters.hpp"

namespace weft {
namespace {

class Edges {
 public:
  Edges(const Schedule& schedule, const Trace& trace) : schedule_(schedule), trace_(trace) {
    for (std::size_t i = 0; i < trace.spans.size(); ++i)
      places_.try_emplace({trace.spans[i].gpu, trace.spans[i].operation}, i);
  }

  std::vector<Edge> made() && {
    for (int gpu = 0; gpu < schedule_.gpus; ++gpu) {
      for (const Operation& operation : schedule_.operations)
        for (const After& after : operation.after)
          add(find(gpu, schedule_.operations[static_cast<std::size_t>(after.operation)]), find(gpu, operation),
              after.point, std::string(name_of(after.point)));
      add_counters(gpu);
    }
    return std::move(edges_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t find(int gpu, const Operation& operation) const {
    const auto found = places_.find({gpu, operation.name});
    return found == places_.end() ? none : found->second;
  }
  const Operation& operation(OperationId id) const { return schedule_.operations[static_cast<std::size_t>(id)]; }

  /// Every signal to the counters of this GPU with every wait for them.
  void add_counters(int gpu) {
    const std::vector<CounterUse> uses = counter_uses(schedule_);
    for (std::size_t counter = 0; counter < uses.size(); ++counter)
      for (const CounterSignal& signal : uses[counter].signals) {
        const int from = ((gpu - signal.place) % schedule_.gpus + schedule_.gpus) % schedule_.gpus;
        for (const CounterWait& wait : uses[counter].waits)
          add(find(from, operation(signal.operation)), find(gpu, operation(wait.operation)),
              signal.tile_group < 0 ? Point::end : Point::tile_group, schedule_.counters[counter].name);
      }
  }

  void add(std::size_t from, std::size_t to, Point point, std::string what) {
    if (from == none || to == none || from == to) return;
    const Span &first = trace_.spans[from], &second = trace_.spans[to];
    const double from_us = time_of(point, first, second);
    edges_.push_back({from, to, from_us, std::clamp(from_us, second.start_us, second.end_us), std::move(what)});
  }

  static double time_of(Point point, const Span& first, const Span& second) {
    switch (point) {
      case Point::first_cta_started:
      case Point::all_ctas_started:
        return first.start_us;
      case Point::tile_group:  // a wait begins before what it waits for
        return std::clamp(second.kind == "wait" ? second.end_us : second.start_us, first.start_us, first.end_us);
      case Point::end:
        break;
    }
    return first.end_us;
  }

  const Schedule& schedule_;
  const Trace& trace_;
  std::map<std::pair<int, std::string>, std::size_t> places_;  // by GPU and operation
  std::vector<Edge> edges_;
};

}  // namespace

std::vector<Edge> edges_of(const Schedule& schedule, const Trace& trace) { return Edges(schedule, trace).made(); }

}  // namespace weft
