#include "models/check/hardware_support.hpp"

#include <algorithm>

#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"

namespace weft {
namespace {

/// Looks at one operation of a valid schedule; every refusal is an InputError on its field.
class Support {
 public:
  Support(const Schedule& schedule, std::size_t index)
      : schedule_(schedule),
        operation_(schedule.operations[index]),
        field_("operations[" + std::to_string(index) + "] \"" + operation_.name + "\"") {}

  void check() const {
    for (const After& after : operation_.after)
      if (after.point != Point::end) refuse("following " + std::string(name_of(after.point)));
    match(operation_.work,
          [this](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound,
                             Attention, PartialAttention, Signal, Wait, Barrier, Delay> auto& work) { check(work); });
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(field_, "expected what the hardware executor supports, got " + what);
  }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }

  void check_layout(const Slice& slice) const {
    const Layout& layout = buffer(slice).layout;
    if (layout.kind != LayoutKind::row_major) refuse("layout " + std::string(name_of(layout.kind)));
  }
  void check_own(const Slice& slice) const {
    if (slice.place != 0) refuse("a slice on another rank");
    check_layout(slice);
  }
  void check_bf16(const Slice& slice) const {
    if (buffer(slice).dtype != DataType::bf16) refuse("dtype " + std::string(name_of(buffer(slice).dtype)));
  }
  void check_own_bf16(const Slice& slice) const {
    check_own(slice);
    check_bf16(slice);
  }

  void check(const Gemm& gemm) const {
    for (const Slice* slice : {&gemm.a, &gemm.b, &gemm.c}) check_own_bf16(*slice);
    if (gemm.kernel) refuse("a GEMM with a kernel of its own");
    if (differ_by_rank(gemm.a.rows)) refuse("a GEMM whose rows differ by rank");
  }
  void check(const Collective& collective) const {
    if (collective.transport != Transport::nccl) refuse("transport " + std::string(name_of(collective.transport)));
    check_own(collective.input);
    check_own(collective.output);
    if (buffer(collective.input).dtype == DataType::fp8) refuse("a collective of fp8");
    if (collective.cluster != 0) refuse("a collective with a cluster size of its own");
    if (collective.kind == CollectiveKind::all_to_all && collective.input == collective.output)
      refuse("an all_to_all in place");
  }
  void check(const GroupedGemm&) const { refuse("a grouped GEMM"); }
  void check(const AllReduceNorm&) const { refuse("an all-reduce fused with a norm"); }
  void check(const GroupedExchange&) const { refuse("a grouped exchange"); }
  void check(const Copy& copy) const {
    check_layout(copy.source);
    check_layout(copy.destination);
    if (copy.path == CopyPath::sms) check_bf16(copy.source);
    if (differ_by_rank(copy.source.rows)) refuse("a copy whose rows differ by rank");
  }
  void check(const MemoryBound& work) const {
    const bool is_known = work.kernel == MemoryKernel::fill || work.kernel == MemoryKernel::add ||
                          work.kernel == MemoryKernel::partial_sum;
    if (!is_known) refuse("memory kernel " + std::string(name_of(work.kernel)));
    if (work.reads.size() > max_summands) refuse(std::to_string(work.reads.size()) + " reads");
    if (work.kernel == MemoryKernel::partial_sum && work.reads.size() > 1) refuse("partial_sum of several reads");
    if (work.writes.size() > 1) refuse(std::to_string(work.writes.size()) + " writes");
    for (const Slice& slice : work.reads) check_own_bf16(slice);
    for (const Slice& slice : work.writes) check_own_bf16(slice);
  }
  void check(const Attention&) const { refuse("attention"); }
  void check(const PartialAttention&) const { refuse("partial attention"); }
  void check(const Signal& signal) const {
    if (signal.path != SignalPath::kernel) refuse("signal path " + std::string(name_of(signal.path)));
  }
  void check(const Wait& wait) const {
    if (wait.path != WaitPath::spinning_kernel) refuse("wait path " + std::string(name_of(wait.path)));
    if (wait.held_sms > 0) refuse("a wait that holds SMs");
  }
  void check(const Barrier&) const {}
  void check(const Delay&) const {}

  const Schedule& schedule_;
  const Operation& operation_;
  std::string field_;
};

/// A wait compares with all that was ever added, so nobody but the one rank that it waits for may add, not even of the
/// next iteration. Signals come before it in the host's order: the driver may load a kernel only once those before it
/// have ended.
void check_counter(const Counter& counter, const CounterUse& use, int gpus) {
  const auto refuse = [&](const std::string& what) {
    throw InputError("counters \"" + counter.name + "\"", "expected what the hardware executor supports, got " + what);
  };
  const auto source = [&](const CounterSignal& signal) { return (signal.place + gpus) % gpus; };
  for (const CounterSignal& signal : use.signals) {
    if (source(signal) != source(use.signals.front())) refuse("signals of several ranks");
    for (const CounterWait& wait : use.waits)
      if (wait.operation < signal.operation) refuse("a wait that is launched before a signal");
  }
  if (counter.reset_by_wait && use.waits.size() > 1) refuse("several waits that reset it");
}

/// Barriers and signals are words in the memory of peers; NCCL finds its own way.
bool needs_peer_access(const Operation& operation) {
  return match(
      operation.work, [](const OneOf<Barrier, Signal> auto&) { return true; },
      [](const OneOf<Collective, GroupedExchange> auto&) { return false; },
      [&](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Wait,
                      Delay> auto&) { return facts(operation.work).crosses_ranks; });
}

}  // namespace

std::optional<InputError> why_not_runnable(const Schedule& schedule) {
  try {
    if (schedule.operations.empty()) throw InputError("operations", "expected at least one");
    if (schedule.max_connections != 0)
      throw InputError("max_connections",
                       "expected none: weft run reads CUDA_DEVICE_MAX_CONNECTIONS from the environment");
    for (std::size_t i = 0; i < schedule.operations.size(); ++i) Support(schedule, i).check();
    const std::vector<CounterUse> uses = counter_uses(schedule);
    for (std::size_t i = 0; i < uses.size(); ++i) check_counter(schedule.counters[i], uses[i], schedule.gpus);
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

bool is_runnable(const Schedule& schedule, const Machine& machine) {
  if (machine.runtime != Runtime::cuda) return false;
  if (!machine.fabric.peer_access &&
      std::any_of(schedule.operations.begin(), schedule.operations.end(), needs_peer_access))
    return false;
  return is_runnable(schedule);
}

}  // namespace weft
