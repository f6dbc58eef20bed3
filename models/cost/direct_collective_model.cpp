#include "models/cost/direct_collective_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "models/base/input_error.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/transports.hpp"

namespace weft {
namespace {

/// What the CTAs of all of one rank do.
struct CtaBytes {
  double added = 0, stored = 0, copied = 0;
};

double root_of_fourth_powers(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

/// `besides_us`: what one CTA would take for what the kernel does besides, which all of them share.
CollectiveTiming timing_of(const DirectCollective& kernel, CollectiveAlgorithm algorithm, double port_bytes,
                           const CtaBytes& bytes, int max_ctas, double besides_us = 0) {
  const int ctas = max_ctas > 0 ? std::min(max_ctas, kernel.ctas) : kernel.ctas;
  const auto spread_us = [ctas](double some, double cta_GBps) { return some / bytes_per_us(cta_GBps * ctas); };
  const double of_ctas_us = spread_us(bytes.added, kernel.cta_GBps) +
                            (kernel.cta_store_GBps > 0 ? spread_us(bytes.stored, kernel.cta_store_GBps) : 0) +
                            spread_us(bytes.copied, kernel.cta_copy_GBps > 0 ? kernel.cta_copy_GBps : kernel.cta_GBps) +
                            besides_us / ctas;
  const double of_port_us = port_bytes / bytes_per_us(kernel.port_GBps);
  return {.latency_us = kernel.latency_us,
          .transfer_us = root_of_fourth_powers(of_ctas_us, of_port_us),
          .ctas = ctas,
          .cluster = 1,
          .alone_us = 0,
          .beside_gemm_us = root_of_fourth_powers(of_ctas_us * (1 + kernel.beside_gemm), of_port_us),
          .port_bytes = port_bytes,
          .algorithm = algorithm};
}

/// Every rank loads as many bytes as the full buffer has, its own part of them from its own memory.
CtaBytes cta_bytes_of_two_shot(CollectiveKind kind, int gpus, double bytes) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return {.added = bytes, .stored = bytes * (gpus - 1) / gpus};
    case CollectiveKind::reduce_scatter:
      return {.added = bytes};
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      break;
  }
  return {.copied = bytes};
}

double time_us(const CollectiveTiming& timing) { return timing.latency_us + timing.transfer_us; }

/// All but an all-reduce only load from peers, or only store to them.
DirectCollective of_kind(CollectiveKind kind, DirectCollective kernel) {
  if (kind == CollectiveKind::all_reduce) return kernel;
  if (kernel.one_way_GBps > 0) kernel.port_GBps = kernel.one_way_GBps;
  if (kernel.one_way_latency_us > 0) kernel.latency_us = kernel.one_way_latency_us;
  return kernel;
}

[[noreturn]] void refuse(const Machine& machine, Transport transport, const std::string& expected) {
  throw InputError("transport", "expected " + expected + ", which " + machine.name + " does not have, got " +
                                    std::string(name_of(transport)));
}

CollectiveTiming time_in_one_shot(const DirectCollective& kernel, int gpus, double bytes, int max_ctas) {
  return timing_of(kernel, CollectiveAlgorithm::direct, port_bytes_of_one_shot(gpus, bytes), {.added = bytes * gpus},
                   max_ctas);
}

CollectiveTiming time_in_switch(const DirectCollective& kernel, CollectiveKind kind, int gpus, double bytes,
                                int max_ctas, double besides_us = 0) {
  const double port_bytes = port_bytes_of_multimem(kind, gpus, bytes);
  return timing_of(of_kind(kind, kernel), CollectiveAlgorithm::in_switch, port_bytes, {.added = port_bytes}, max_ctas,
                   besides_us);
}

CollectiveTiming time_over_peers(const Machine& machine, const DirectCollectives& kernels, CollectiveKind kind,
                                 int gpus, double bytes, int max_ctas) {
  constexpr auto direct = CollectiveAlgorithm::direct;
  std::optional<CollectiveTiming> fastest;
  if (kernels.two_shot)
    fastest = timing_of(of_kind(kind, *kernels.two_shot), direct, bytes_out(direct, kind, gpus, bytes),
                        cta_bytes_of_two_shot(kind, gpus, bytes), max_ctas);
  if (kernels.one_shot && kind == CollectiveKind::all_reduce) {
    const CollectiveTiming one = time_in_one_shot(*kernels.one_shot, gpus, bytes, max_ctas);
    if (!fastest || time_us(one) < time_us(*fastest)) fastest = one;
  }
  if (!fastest) refuse(machine, Transport::peer_kernel, "direct_collectives.two_shot in the profile");
  return *fastest;
}

}  // namespace

double port_bytes_of_one_shot(int gpus, double bytes) { return bytes * (gpus - 1); }

double port_bytes_of_multimem(CollectiveKind kind, int gpus, double bytes) {
  return kind == CollectiveKind::all_reduce ? bytes * (gpus + 1) / gpus : bytes;
}

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
  constexpr auto direct = CollectiveAlgorithm::direct;
  return timing_of(kernel, direct, bytes_out(direct, kind, gpus, bytes), cta_bytes_of_two_shot(kind, gpus, bytes), ctas,
                   besides_us);
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
