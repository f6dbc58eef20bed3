#include "models/execution/executor_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/base/input_error.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"

namespace weft {
namespace {

constexpr double room = 1.05;  // iterations differ, and a trace shows one of them
/// Of recorded ones: repeats lie 12 % apart in one case of twenty (conditions.repeat_noise of h100x8-nvswitch), and
/// single iterations further. What mixes two of them is twice as long.
constexpr double recorded_room = 1.25;
/// And the profiler delays what it records: pulls and flags of a gather on 4 GPUs stand 2 to 6 us further apart under
/// it.
constexpr double recorded_delay_us = 3;

std::string text_of_time(double value) { return std::to_string(value); }

class Rules {
 public:
  Rules(const Schedule& schedule, const Trace& trace) : schedule_(schedule), trace_(trace) {}

  std::vector<std::string> broken() {
    if (!(std::isfinite(trace_.time_us) && trace_.time_us > 0))
      complain("an iteration takes " + text_of_time(trace_.time_us));
    for (const Span& span : trace_.spans) look_at(span);
    for (int gpu = 0; gpu < shown_gpus(); ++gpu) {
      for (const Operation& operation : schedule_.operations) count(operation, gpu);
      measure(gpu);
    }
    return complaints_;
  }

 private:
  void complain(const std::string& what) { complaints_.push_back(schedule_.name + ": " + what); }

  int shown_gpus() const {
    const auto is_other = [](const Span& span) { return span.gpu > 0; };
    return std::any_of(trace_.spans.begin(), trace_.spans.end(), is_other) ? schedule_.gpus : 1;
  }

  void look_at(const Span& span) {
    const auto operation = std::find_if(schedule_.operations.begin(), schedule_.operations.end(),
                                        [&](const Operation& one) { return one.name == span.operation; });
    if (operation == schedule_.operations.end()) return complain("a span of unknown operation " + span.operation);
    if (span.kind != kind_of(operation->work)) complain(span.operation + " is called " + span.kind);
    if (span.stream != schedule_.streams[static_cast<std::size_t>(operation->stream)].name)
      complain(span.operation + " stands on stream " + span.stream);
    if (span.gpu < 0 || span.gpu >= schedule_.gpus) complain(span.operation + " on GPU " + std::to_string(span.gpu));
    if (!(span.start_us >= 0 && span.end_us >= span.start_us))
      complain(span.operation + " from " + text_of_time(span.start_us) + " to " + text_of_time(span.end_us));
    ++spans_[{span.operation, span.gpu}];
  }

  void count(const Operation& operation, int gpu) {
    const int found = spans_[{operation.name, gpu}];
    const bool may_be_merged = facts(operation.work).role == Role::synchronisation;
    const bool may_be_missing = may_be_merged || has_nothing_to_do(operation, gpu, schedule_.gpus);
    if (found > 1 || (found == 0 && !may_be_missing))
      complain(operation.name + " has " + std::to_string(found) + " spans on GPU " + std::to_string(gpu));
  }

  void measure(int gpu) {
    double first_us = std::numeric_limits<double>::max(), last_us = 0, delays_us = 0;
    for (const Span& span : trace_.spans) {
      if (span.gpu != gpu) continue;
      first_us = std::min(first_us, span.start_us), last_us = std::max(last_us, span.end_us);
      delays_us += recorded_delay_us;
    }
    const double iteration_us = trace_.time_us * schedule_.repeats_per_iteration;
    const double spans_us = last_us - first_us - awaited_us(gpu);
    const double most_us = trace_.source == "measured" ? recorded_room * iteration_us + delays_us : room * iteration_us;
    if (spans_us > most_us)
      complain("spans over " + text_of_time(spans_us) + " us in an iteration of " + text_of_time(iteration_us));
  }

  bool ranks_meet_in(const Span& span) const {
    const auto operation = std::ranges::find(schedule_.operations, span.operation, &Operation::name);
    return operation != schedule_.operations.end() && facts(operation->work).meetings > 0;
  }

  /// What a GPU waits in the first operation in which all ranks meet: hosts start a recorded iteration apart, by more
  /// than short ones take. Where iterations follow each other nobody waits so, and their time has none of it.
  double awaited_us(int gpu) const {
    const Span* met = nullptr;
    for (const Span& span : trace_.spans)
      if (span.gpu == gpu && ranks_meet_in(span) && (met == nullptr || span.start_us < met->start_us)) met = &span;
    if (met == nullptr) return 0;
    double last_start_us = met->start_us;
    for (const Span& span : trace_.spans)
      if (span.operation == met->operation) last_start_us = std::max(last_start_us, span.start_us);
    return std::min(last_start_us, met->end_us) - met->start_us;
  }

  const Schedule& schedule_;
  const Trace& trace_;
  std::map<std::pair<std::string, int>, int> spans_;
  std::vector<std::string> complaints_;
};

constexpr std::int64_t size = 4096;

Slice whole(BufferId buffer, int place = 0) { return {buffer, place, RowRange{0, size}, 0, size}; }

}  // namespace

bool has_nothing_to_do(const Operation& operation, int rank, int gpus) {
  return match(
      operation.work,
      [&](const Collective& collective) {
        return gpus == 1 && collective.kind == CollectiveKind::all_reduce && collective.input == collective.output;
      },
      [&](const OneOf<Gemm, GroupedGemm, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                      Signal, Wait, Barrier, Delay> auto&) { return has_no_rows(operation.work, rank, gpus); });
}

std::vector<std::string> broken_rules(const Schedule& schedule, const Trace& trace) {
  return Rules(schedule, trace).broken();
}

Schedule schedule_for_rules() {
  Schedule schedule;
  schedule.name = "rules of executors";
  schedule.gpus = 2;
  for (const char* name : {"a", "b", "c", "source", "pulled"})
    schedule.buffers.push_back({.name = name, .rows = size, .columns = size, .layout = {}});
  schedule.buffers[3].memory = Memory::symmetric;
  schedule.streams = {{"compute"}, {"transfer"}};
  Gemm gemm;
  gemm.a = whole(0), gemm.b = whole(1), gemm.c = whole(2);
  schedule.operations = {{"gemm", 0, {}, gemm},
                         {"enter", 1, {}, Barrier{}},
                         {"pull", 1, {}, Copy{whole(3, 1), whole(4)}},
                         {"all_reduce", 0, {{2}}, Collective{.input = whole(2), .output = whole(2)}}};
  return schedule;
}

std::vector<std::string> broken_rules(Executor& executor, const Machine& machine) {
  Schedule parts = schedule_for_rules();
  const Trace trace = executor.run(parts, machine);
  std::vector<std::string> complaints = broken_rules(parts, trace);
  parts.repeats_per_iteration = 2;
  const double part_us = executor.run(parts, machine).time_us;
  if (part_us > room * trace.time_us / 2 || part_us < trace.time_us / 2 / room)
    complaints.push_back("one of two parts takes " + text_of_time(part_us) + " of " + text_of_time(trace.time_us) +
                         " us");

  Schedule refused = schedule_for_rules();
  refused.operations.back().work = Collective{.input = whole(2), .output = whole(2), .transport = Transport::multicast};
  try {
    executor.run(refused, machine);
    complaints.push_back("a collective that it does not have is run");
  } catch (const InputError&) {
  }
  return complaints;
}

}  // namespace weft
