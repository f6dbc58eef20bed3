#include "models/cost/all_reduce_norm_model.hpp"

#include <cmath>

#include "models/base/input_error.hpp"

namespace weft {
namespace {

const FusedNormForm& form_of(const Machine& machine, Transport transport) {
  const bool is_multicast = transport == Transport::multicast;
  const auto refuse = [&](const std::string& expected) {
    throw InputError("transport", "expected " + expected + ", which " + machine.name + " does not have, got " +
                                      std::string(name_of(transport)));
  };
  if (is_multicast && !machine.fabric.multicast) refuse("a switch that multicasts");
  if (!machine.fused_norm_kernel) refuse("fused_norm_kernel in the profile");
  const std::optional<FusedNormForm>& form =
      is_multicast ? machine.fused_norm_kernel->multicast : machine.fused_norm_kernel->peer;
  if (!form) refuse("fused_norm_kernel." + std::string(is_multicast ? "multicast" : "peer") + " in the profile");
  return *form;
}

}  // namespace

double port_bytes(Transport transport, int gpus, double bytes) {
  return transport == Transport::multicast ? bytes * (gpus + 1) / gpus : 2 * bytes * (gpus - 1) / gpus;
}

CollectiveTiming time_all_reduce_norm(const Machine& machine, Transport transport, int ctas, int gpus, Bytes bytes) {
  const FusedNormForm& form = form_of(machine, transport);
  const double port = port_bytes(transport, gpus, static_cast<double>(bytes));
  const double few_us = port / bytes_per_us(form.cta_GBps * ctas), many_us = port / bytes_per_us(form.port_GBps);
  const double few_squared = few_us * few_us, many_squared = many_us * many_us;
  return {
      .latency_us = form.latency_us,
      .transfer_us = std::sqrt(std::sqrt(few_squared * few_squared + many_squared * many_squared)),
      .ctas = ctas,
      .cluster = 1,
      .alone_us = 0,
      .port_bytes = port,
      .algorithm = transport == Transport::multicast ? CollectiveAlgorithm::in_switch : CollectiveAlgorithm::direct};
}

bool has_all_reduce_norm(const Machine& machine) {
  if (!machine.fused_norm_kernel) return false;
  return machine.fabric.multicast ? machine.fused_norm_kernel->multicast.has_value()
                                  : machine.fused_norm_kernel->peer.has_value();
}

Transport all_reduce_norm_transport(const Machine& machine) {
  return machine.fabric.multicast ? Transport::multicast : Transport::peer_kernel;
}

}  // namespace weft
