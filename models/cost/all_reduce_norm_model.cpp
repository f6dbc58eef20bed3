#include "models/cost/all_reduce_norm_model.hpp"

#include <optional>
#include <string>

#include "models/base/input_error.hpp"
#include "models/cost/direct_collective_model.hpp"

namespace weft {
namespace {

/// Of a row that the kernel norms: it reads the residual, stores the new one, and reads that and the weights.
constexpr int passes_of_norm = 4;

DirectCollective all_reduce_of(const FusedNormForm& form) {
  return {.cta_GBps = form.cta_GBps,
          .cta_store_GBps = form.cta_GBps,
          .port_GBps = form.port_GBps,
          .latency_us = form.latency_us,
          .peer_latency_us = form.peer_latency_us};
}

/// The all-reduce in the kernel: its own, or that of the profile by itself.
std::optional<DirectCollective> all_reduce_of(const Machine& machine, Transport transport) {
  const bool is_multicast = transport == Transport::multicast;
  const FusedNormKernel& kernel = machine.fused_norm_kernel.value();
  if (const std::optional<FusedNormForm>& form = is_multicast ? kernel.multicast : kernel.peer)
    return all_reduce_of(*form);
  if (!machine.direct_collectives) return std::nullopt;
  return is_multicast ? machine.direct_collectives->multimem : machine.direct_collectives->two_shot;
}

DirectCollective required_all_reduce(const Machine& machine, Transport transport) {
  const auto refuse = [&](const std::string& expected) {
    throw InputError("transport", "expected " + expected + ", which " + machine.name + " does not have, got " +
                                      std::string(name_of(transport)));
  };
  const bool is_multicast = transport == Transport::multicast;
  if (is_multicast && !machine.fabric.multicast) refuse("a switch that multicasts");
  if (!machine.fused_norm_kernel) refuse("fused_norm_kernel in the profile");
  const std::optional<DirectCollective> kernel = all_reduce_of(machine, transport);
  if (!kernel)
    refuse(is_multicast ? "direct_collectives.multimem or fused_norm_kernel.multicast in the profile"
                        : "direct_collectives.two_shot or fused_norm_kernel.peer in the profile");
  return *kernel;
}

/// Of the rows of one rank, by one CTA.
double norm_us(const Machine& machine, int gpus, double bytes) {
  const double measured = machine.fused_norm_kernel.value().norm_GBps;
  const double cta_GBps = measured > 0 ? measured : machine.other_kernels.memory_share_per_sm * machine.gpu.hbm_GBps;
  return passes_of_norm * bytes / gpus / bytes_per_us(cta_GBps);
}

}  // namespace

CollectiveTiming time_all_reduce_norm(const Machine& machine, Transport transport, int ctas, int gpus, Bytes bytes) {
  const auto size = static_cast<double>(bytes);
  const DirectCollective kernel = required_all_reduce(machine, transport);
  return time_all_reduce_and_more(kernel, transport, gpus, size, ctas, norm_us(machine, gpus, size));
}

bool has_all_reduce_norm(const Machine& machine) {
  return machine.fabric.peer_access && machine.fused_norm_kernel &&
         all_reduce_of(machine, all_reduce_norm_transport(machine));
}

Transport all_reduce_norm_transport(const Machine& machine) {
  return machine.fabric.multicast ? Transport::multicast : Transport::peer_kernel;
}

}  // namespace weft
