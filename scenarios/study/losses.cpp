#include "scenarios/study/losses.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/base/text.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"

namespace weft::scenarios::study {
namespace {

/// Work whose durations are compared with that of the whole; nothing for what only synchronises.
bool is_transfer(const Work& work) { return facts(work).role == Role::communication; }

std::optional<WorkKind> kind_of_work(const Work& work) {
  switch (facts(work).role) {
    case Role::matrix:
      return WorkKind::gemm;
    case Role::attention:
      return WorkKind::attention;
    case Role::memory:
      return WorkKind::kernel;
    case Role::communication:
      return WorkKind::transfer;
    case Role::synchronisation:
      break;
  }
  return std::nullopt;
}

/// What an ideal machine's time for the operation goes with: flops, or bytes moved.
double size_of_work(const Work& work, const Schedule& schedule) {
  return match(
      work, [&](const Gemm& gemm) { return size_of(gemm, schedule.gpus).flops(); },
      [&](const Collective& collective) {
        return bytes_out(CollectiveAlgorithm::ring, collective.kind, schedule.gpus,
                         static_cast<double>(bytes_of(full_slice(collective), schedule)));
      },
      [&](const GroupedGemm& gemm) { return size_of(gemm, schedule.gpus).flops(); },
      [&](const AllReduceNorm& fused) {
        return bytes_out(CollectiveAlgorithm::ring, CollectiveKind::all_reduce, schedule.gpus,
                         static_cast<double>(bytes_of(fused.partial, schedule)));
      },
      [&](const GroupedExchange& exchange) { return busiest_port(exchange, schedule).most(); },
      [&](const Copy& copy) { return static_cast<double>(bytes_of(copy.source, schedule)); },
      [&](const MemoryBound& kernel) {
        return bytes_of_all(kernel.reads, schedule) + bytes_of_all(kernel.writes, schedule);
      },
      [&](const Attention& attention) {
        return flops_of(attention, row_count(attention.output.rows, schedule.gpus)) / (4.0 * attention.head_dim);
      },
      [](const PartialAttention& attention) { return most_flops_of(attention) / (4.0 * attention.head_dim); },
      [](const OneOf<Signal, Wait, Barrier, Delay> auto&) { return 0.0; });
}

/// The transfers of a serial schedule, or everything else. What followed a dropped operation follows nothing.
Schedule only(const Schedule& serial, bool transfers) {
  Schedule part = serial;
  part.meaning.reset();
  part.operations.clear();
  for (const Operation& operation : serial.operations) {
    if (is_transfer(operation.work) != transfers) continue;
    part.operations.push_back(operation);
    part.operations.back().after.clear();
  }
  return part;
}

Schedule without_delays(Schedule schedule) {
  for (Operation& operation : schedule.operations)
    operation.work = match(
        operation.work, [](const Delay&) -> Work { return Delay{}; },
        [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Signal, Wait, Barrier> auto& other) -> Work { return other; });
  return schedule;
}

constexpr sim::Mechanisms without_power{.power = false};

/// Everything off up to a cause, in the order of Cause.
struct Switch {
  Cause cause;
  std::vector<bool sim::Mechanisms::*> off;
};
const std::vector<Switch>& switches() {
  using sim::Mechanisms;
  static const std::vector<Switch> all{{Cause::sm_sharing, {&Mechanisms::sm_sharing, &Mechanisms::residency}},
                                       {Cause::slowdown, {&Mechanisms::slowdown}},
                                       {Cause::links, {&Mechanisms::links}},
                                       {Cause::copy_engines, {&Mechanisms::copy_engines}},
                                       {Cause::hbm, {&Mechanisms::hbm}},
                                       {Cause::l2, {&Mechanisms::l2}},
                                       {Cause::power, {&Mechanisms::power}},
                                       {Cause::skew, {&Mechanisms::skew}},
                                       {Cause::synchronisation, {&Mechanisms::synchronisation}},
                                       {Cause::launch, {&Mechanisms::gaps}}};
  return all;
}

}  // namespace

Cause Losses::largest() const {
  return static_cast<Cause>(std::max_element(parts_ps.begin(), parts_ps.end()) - parts_ps.begin());
}

std::string_view text_of(Cause cause) {
  switch (cause) {
    case Cause::sm_sharing:
      return "shared SMs";
    case Cause::slowdown:
      return "collectives slowed by GEMMs";
    case Cause::links:
      return "shared links";
    case Cause::copy_engines:
      return "busy copy engines";
    case Cause::hbm:
      return "shared HBM";
    case Cause::l2:
      return "shared L2";
    case Cause::power:
      return "power";
    case Cause::skew:
      return "late ranks";
    case Cause::synchronisation:
      return "barriers and signals";
    case Cause::launch:
      return "launch gaps";
    case Cause::transfers:
      return "other transfers";
    case Cause::added_kernels:
      return "added kernels";
    case Cause::gemms:
      return "small GEMMs";
    case Cause::exposed:
      break;
  }
  return "exposed communication";
}

std::string why(const Losses& losses) {
  const Cause cause = losses.largest();
  if (losses.of(cause) * 100 < losses.time_ps) return "-";
  return std::string(text_of(cause)) + " " + fixed(static_cast<double>(losses.of(cause)) * 1e-6, 0) + " us";
}

LossAccount::LossAccount(const Schedule& serial, const Machine& machine, Clock clock)
    : machine_(machine), clock_(std::move(clock)) {
  const std::array parts{only(serial, false), only(serial, true)};
  const auto overlap_ps = [&](const sim::Mechanisms& mechanisms) {
    std::int64_t longest_ps = 0;
    for (const Schedule& part : parts)
      if (!part.operations.empty()) longest_ps = std::max(longest_ps, time_ps(part, mechanisms));
    return longest_ps;
  };
  sim::Mechanisms mechanisms;
  overlap_ps_ = overlap_ps(mechanisms);
  overlap_without_power_ps_ = overlap_ps(without_power);
  for (const auto& [cause, off] : switches()) {
    for (const auto mechanism : off) mechanisms.*mechanism = false;
    steps_.push_back({cause, mechanisms, overlap_ps(mechanisms)});
  }
  for (const Schedule& part : parts) {
    if (part.operations.empty()) continue;
    const Trace trace = clock_(part, machine_, {.mechanisms = mechanisms, .given_us = {}});
    double sum_us = 0;
    for (std::size_t id = 0; id < part.operations.size(); ++id)
      sum_us += trace.spans[id].end_us - trace.spans[id].start_us;
    const double scale = trace.time_us / sum_us;  // with what comes before a first CTA
    for (std::size_t id = 0; id < part.operations.size(); ++id)
      if (const auto kind = kind_of_work(part.operations[id].work))
        whole_us_[static_cast<std::size_t>(*kind)] += (trace.spans[id].end_us - trace.spans[id].start_us) * scale;
  }
}

Losses LossAccount::of(const Schedule& schedule) const {
  Losses losses{.time_ps = time_ps(schedule, {}), .overlap_ps = overlap_ps_, .parts_ps = {}};
  std::int64_t loss_ps = std::max<std::int64_t>(losses.whole_ps(), 0);  // what no cause has been charged with
  const auto charge = [&](Cause cause, std::int64_t left_ps) {
    const std::int64_t still_ps = std::clamp<std::int64_t>(left_ps, 0, loss_ps);
    losses.parts_ps[static_cast<std::size_t>(cause)] += loss_ps - still_ps;
    loss_ps = still_ps;
  };
  if (losses.whole_ps() < 0) {
    const std::int64_t left_ps = time_ps(schedule, without_power) - overlap_without_power_ps_;
    std::int64_t& by_transfers_ps = losses.parts_ps[static_cast<std::size_t>(Cause::transfers)];
    by_transfers_ps = std::clamp<std::int64_t>(left_ps, losses.whole_ps(), 0);
    losses.parts_ps[static_cast<std::size_t>(Cause::power)] = losses.whole_ps() - by_transfers_ps;
  }
  const Schedule undelayed = without_delays(schedule);
  for (const Step& step : steps_) {
    const Schedule& simulated = step.mechanisms.synchronisation ? schedule : undelayed;
    charge(step.cause, time_ps(simulated, step.mechanisms) - step.overlap_ps);
  }

  std::array<double, kinds_of_work> sizes{};
  const auto for_each_work = [&](const auto& visit) {
    for (std::size_t id = 0; id < schedule.operations.size(); ++id)
      if (const auto kind = kind_of_work(schedule.operations[id].work))
        visit(id, static_cast<std::size_t>(*kind), size_of_work(schedule.operations[id].work, schedule));
  };
  for_each_work([&](std::size_t, std::size_t kind, double size) { sizes[kind] += size; });
  std::vector<double> given_us(schedule.operations.size(), -1);
  const auto give = [&](WorkKind given) {
    for_each_work([&](std::size_t id, std::size_t kind, double size) {
      if (kind == static_cast<std::size_t>(given))
        given_us[id] = size > 0 ? whole_us_[kind] * schedule.repeats_per_iteration * size / sizes[kind] : 0;
    });
  };
  const Step& last = steps_.back();
  const auto left_ps = [&] { return time_ps(undelayed, last.mechanisms, given_us) - last.overlap_ps; };
  give(WorkKind::transfer);
  charge(Cause::transfers, left_ps());
  give(WorkKind::kernel);
  charge(Cause::added_kernels, left_ps());
  give(WorkKind::gemm);
  give(WorkKind::attention);
  charge(Cause::gemms, left_ps());
  charge(Cause::exposed, 0);
  return losses;
}

std::int64_t LossAccount::time_ps(const Schedule& schedule, const sim::Mechanisms& mechanisms,
                                  const std::vector<double>& given_us) const {
  return from_us(clock_(schedule, machine_, {.spans = false, .mechanisms = mechanisms, .given_us = given_us}).time_us)
      .count;
}

}  // namespace weft::scenarios::study
