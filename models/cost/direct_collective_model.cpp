#include "models/cost/direct_collective_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "models/base/input_error.hpp"
#include "models/cost/about_longest.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/transports.hpp"

namespace weft {
namespace {

/// What the CTAs of all of one rank do.
struct CtaBytes {
  double loaded = 0, stored = 0;
};

double root_of_fourth_powers(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

/// How much both limits cost near a tie: the root of the sum of their fourth powers, of their eighth where threads wait
/// for what they load before they ask for more, of their sixteenth where the memory accelerator always has more to do.
enum class Tie : std::uint8_t { in_switch, by_threads, in_bulk };
double longer_of(double a, double b, Tie tie) {
  if (tie == Tie::in_switch) return root_of_fourth_powers(a, b);
  if (tie == Tie::by_threads) return about_longest({a, b});
  const double longer = std::max(a, b);
  if (longer == 0) return 0;
  const double first = a / longer, second = b / longer;
  return longer * std::sqrt(about_longest({first * first, second * second}));
}

/// What a rank does, but for the meetings.
struct RankWork {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::direct;
  double port_bytes = 0;
  CtaBytes bytes;
  Tie tie = Tie::by_threads;
  double besides_us = 0;  ///< what one CTA would take for what the kernel does besides, which all of them share
};

int ctas_of(const DirectCollective& kernel, int max_ctas) {
  return max_ctas > 0 ? std::min(max_ctas, kernel.ctas) : kernel.ctas;
}

CollectiveTiming timing_of(const DirectCollective& kernel, const RankWork& work, int gpus, int max_ctas) {
  const int ctas = ctas_of(kernel, max_ctas);
  const auto spread_us = [ctas](double some, double cta_GBps) { return some / bytes_per_us(cta_GBps * ctas); };
  const double of_ctas_us = spread_us(work.bytes.loaded, kernel.cta_GBps) +
                            (kernel.cta_store_GBps > 0 ? spread_us(work.bytes.stored, kernel.cta_store_GBps) : 0) +
                            work.besides_us / ctas;
  const double of_port_us = work.port_bytes / bytes_per_us(kernel.port_GBps);
  return {.latency_us = kernel.latency_us + kernel.peer_latency_us * std::max(0, gpus - 2),
          .transfer_us = longer_of(of_ctas_us, of_port_us, work.tie),
          .ctas = ctas,
          .cluster = 1,
          .alone_us = 0,
          .beside_gemm_us = longer_of(of_ctas_us * (1 + kernel.beside_gemm), of_port_us, work.tie),
          .port_bytes = work.port_bytes,
          .algorithm = work.algorithm};
}

/// Every rank loads as many bytes as the full buffer has, its own part of them from its own memory.
RankWork work_in_two_shots(CollectiveKind kind, int gpus, double bytes, Tie tie, double besides_us = 0) {
  const double stored = kind == CollectiveKind::all_reduce ? bytes * (gpus - 1) / gpus : 0;
  return {.port_bytes = bytes_out(CollectiveAlgorithm::direct, kind, gpus, bytes),
          .bytes = {.loaded = bytes, .stored = stored},
          .tie = tie,
          .besides_us = besides_us};
}

/// All but an all-reduce only load from peers, or only store to them, and gathers and exchanges add nothing.
DirectCollective of_kind(CollectiveKind kind, DirectCollective kernel) {
  if (kind == CollectiveKind::all_reduce) return kernel;
  if (kernel.one_way_GBps > 0) kernel.port_GBps = kernel.one_way_GBps;
  if (kind == CollectiveKind::reduce_scatter) return kernel;
  if (kernel.copy_latency_us > 0) kernel.latency_us = kernel.copy_latency_us;
  if (kernel.copy_peer_latency_us > 0) kernel.peer_latency_us = kernel.copy_peer_latency_us;
  return kernel;
}

[[noreturn]] void refuse(const Machine& machine, Transport transport, const std::string& expected) {
  throw InputError("transport", "expected " + expected + ", which " + machine.name + " does not have, got " +
                                    std::string(name_of(transport)));
}

/// A thread asks all ranks for theirs of an element at once, so that what CTAs wait for grows with the buffer only.
CollectiveTiming time_in_one_shot(const DirectCollective& kernel, int gpus, double bytes, int max_ctas) {
  return timing_of(kernel, {.port_bytes = bytes * (gpus - 1), .bytes = {.loaded = bytes}}, gpus, max_ctas);
}

CollectiveTiming time_in_switch(const DirectCollective& kernel, CollectiveKind kind, int gpus, double bytes,
                                int max_ctas, double besides_us = 0) {
  const double port_bytes =
      kind == CollectiveKind::all_reduce ? bytes_out(CollectiveAlgorithm::in_switch, kind, gpus, bytes) : bytes;
  return timing_of(of_kind(kind, kernel),
                   {.algorithm = CollectiveAlgorithm::in_switch,
                    .port_bytes = port_bytes,
                    .bytes = {.loaded = port_bytes},
                    .tie = Tie::in_switch,
                    .besides_us = besides_us},
                   gpus, max_ctas);
}

CollectiveTiming time_in_two_shots(const DirectCollective& two_shot, CollectiveKind kind, int gpus, double bytes,
                                   int max_ctas) {
  DirectCollective kernel = of_kind(kind, two_shot);
  const int ctas = ctas_of(kernel, max_ctas);
  const bool adds_up = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  const bool is_in_bulk = !adds_up && moves_in_bulk(ctas, static_cast<Bytes>(bytes));
  const bool is_wide = kind == CollectiveKind::reduce_scatter && sums_ask_for_more(gpus, ctas);
  if (is_in_bulk) kernel.latency_us += kernel.bulk_latency_us;
  if (is_in_bulk && kernel.cta_bulk_GBps > 0) kernel.cta_GBps = kernel.cta_bulk_GBps;
  if (is_wide && kernel.cta_wide_GBps > 0) kernel.cta_GBps = kernel.cta_wide_GBps;
  const Tie tie = is_in_bulk ? Tie::in_bulk : Tie::by_threads;
  return timing_of(kernel, work_in_two_shots(kind, gpus, bytes, tie), gpus, max_ctas);
}

CollectiveTiming time_over_peers(const Machine& machine, const DirectCollectives& kernels, CollectiveKind kind,
                                 int gpus, double bytes, int max_ctas) {
  if (!kernels.two_shot) refuse(machine, Transport::peer_kernel, "direct_collectives.two_shot in the profile");
  return time_in_two_shots(*kernels.two_shot, kind, gpus, bytes, max_ctas);
}

}  // namespace

CollectiveTiming time_direct_collective(const Machine& machine, Transport transport, CollectiveKind kind, int gpus,
                                        Bytes bytes, int max_ctas) {
  if (!machine.direct_collectives) refuse(machine, transport, "direct_collectives in the profile");
  const DirectCollectives& kernels = *machine.direct_collectives;
  const auto size = static_cast<double>(bytes);
  if (transport == Transport::peer_kernel) return time_over_peers(machine, kernels, kind, gpus, size, max_ctas);
  if (transport == Transport::one_shot && kind == CollectiveKind::all_reduce) {
    if (!kernels.one_shot) refuse(machine, transport, "direct_collectives.one_shot in the profile");
    return time_in_one_shot(*kernels.one_shot, gpus, size, max_ctas);
  }
  if (transport != Transport::multicast || kind == CollectiveKind::all_to_all)
    refuse(machine, transport, "nccl or peer_kernel for " + std::string(name_of(kind)));
  if (!machine.fabric.multicast) refuse(machine, transport, "a switch that multicasts");
  if (!kernels.multimem) refuse(machine, transport, "direct_collectives.multimem in the profile");
  return time_in_switch(*kernels.multimem, kind, gpus, size, max_ctas);
}

CollectiveTiming time_all_reduce_and_more(DirectCollective kernel, Transport transport, int gpus, double bytes,
                                          int ctas, double besides_us) {
  constexpr auto kind = CollectiveKind::all_reduce;
  kernel.ctas = ctas;
  if (transport == Transport::multicast) return time_in_switch(kernel, kind, gpus, bytes, ctas, besides_us);
  return timing_of(kernel, work_in_two_shots(kind, gpus, bytes, Tie::in_bulk, besides_us), gpus, ctas);
}

double peer_kernel_GBps(const Machine& machine) {
  if (!has_peer_kernels(machine)) return 0;
  return of_kind(CollectiveKind::all_gather, *machine.direct_collectives->two_shot).port_GBps;
}

bool has_peer_kernels(const Machine& machine) {
  return machine.direct_collectives && machine.direct_collectives->two_shot;
}

bool has_switch_kernels(const Machine& machine) {
  return machine.fabric.multicast && machine.direct_collectives && machine.direct_collectives->multimem;
}

namespace {

CollectiveTiming time_equal_exchange(const Machine& machine, const GroupedExchange& exchange, int gpus, Bytes bytes) {
  if (exchange.transport == Transport::nccl)
    return time_collective(machine, CollectiveKind::all_to_all, gpus, bytes, exchange.max_ctas);
  if (!has_peer_kernels(machine)) refuse(machine, exchange.transport, "direct_collectives.two_shot in the profile");
  const bool merges = exchange.kind == GroupedKind::reduce;
  DirectCollective kernel = *machine.direct_collectives->two_shot;
  if (merges && kernel.cta_merge_GBps > 0) kernel.cta_GBps = kernel.cta_wide_GBps = kernel.cta_merge_GBps;
  return time_in_two_shots(kernel, merges ? CollectiveKind::reduce_scatter : CollectiveKind::all_to_all, gpus,
                           static_cast<double>(bytes), exchange.max_ctas);
}

}  // namespace

CollectiveTiming time_grouped_exchange(const Machine& machine, const GroupedExchange& exchange,
                                       const Schedule& schedule) {
  const PortBytes port = busiest_port(exchange, schedule);
  CollectiveTiming timing =
      time_equal_exchange(machine, exchange, schedule.gpus, equal_all_to_all_bytes(exchange, schedule));
  if (port.most() == 0 || exchange.kind == GroupedKind::reduce) return timing;
  const double one_sided = 2 * (port.most() - port.mean()) / port.most();  // 0: as many bytes come as go
  const double share = 1 - machine.collective_kernel.one_sided_gain * one_sided;
  timing.transfer_us *= share, timing.beside_gemm_us *= share, timing.alone_us *= share;
  return timing;
}

CollectiveTiming time_over(const Machine& machine, Transport transport, CollectiveKind kind, int gpus, Bytes bytes,
                           int max_ctas) {
  if (transport == Transport::nccl) return time_collective(machine, kind, gpus, bytes, max_ctas);
  if (needs_window(transport)) return time_in_windows(machine, transport, kind, gpus, bytes, max_ctas);
  if (transport == Transport::nccl_nvls && kind == CollectiveKind::all_reduce)
    return time_nvls_all_reduce(machine, gpus, bytes, max_ctas);
  return time_direct_collective(machine, transport, kind, gpus, bytes, max_ctas);
}

}  // namespace weft
