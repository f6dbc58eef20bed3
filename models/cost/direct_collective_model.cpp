#include "models/cost/direct_collective_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "models/base/input_error.hpp"
#include "models/cost/library_model.hpp"

namespace weft {
namespace {

CollectiveTiming timing_of(const DirectCollective& kernel, CollectiveAlgorithm algorithm, double port_bytes,
                           int max_ctas) {
  const int ctas = max_ctas > 0 ? std::min(max_ctas, kernel.ctas) : kernel.ctas;
  const double few_us = port_bytes / bytes_per_us(kernel.cta_GBps * ctas);
  const double many_us = port_bytes / bytes_per_us(kernel.port_GBps);
  const double few_squared = few_us * few_us, many_squared = many_us * many_us;
  const double transfer_us = std::sqrt(std::sqrt(few_squared * few_squared + many_squared * many_squared));
  return {.latency_us = kernel.latency_us,
          .transfer_us = transfer_us,
          .ctas = ctas,
          .cluster = 1,
          .alone_us = 0,
          .port_bytes = port_bytes,
          .algorithm = algorithm};
}

double time_us(const CollectiveTiming& timing) { return timing.latency_us + timing.transfer_us; }

[[noreturn]] void refuse(const Machine& machine, Transport transport, const std::string& expected) {
  throw InputError("transport", "expected " + expected + ", which " + machine.name + " does not have, got " +
                                    std::string(name_of(transport)));
}

CollectiveTiming time_over_peers(const Machine& machine, const DirectCollectives& kernels, CollectiveKind kind,
                                 int gpus, double bytes, int max_ctas) {
  constexpr auto direct = CollectiveAlgorithm::direct;
  std::optional<CollectiveTiming> fastest;
  if (kernels.two_shot) fastest = timing_of(*kernels.two_shot, direct, bytes_out(direct, kind, gpus, bytes), max_ctas);
  if (kernels.one_shot && kind == CollectiveKind::all_reduce) {
    const CollectiveTiming one = timing_of(*kernels.one_shot, direct, port_bytes_of_one_shot(gpus, bytes), max_ctas);
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
  if (transport != Transport::multicast || kind == CollectiveKind::all_to_all)
    refuse(machine, transport, "nccl or peer_kernel for " + std::string(name_of(kind)));
  if (!machine.fabric.multicast) refuse(machine, transport, "a switch that multicasts");
  if (!kernels.multimem) refuse(machine, transport, "direct_collectives.multimem in the profile");
  return timing_of(*kernels.multimem, CollectiveAlgorithm::in_switch, port_bytes_of_multimem(kind, gpus, size),
                   max_ctas);
}

}  // namespace weft
