// What a fused all-reduce moves, for tests that count bytes.
#pragma once

#include "models/cost/library_model.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::tests {

/// Out of each GPU's port, and as many into it, to reduce so many bytes of each rank.
inline double port_bytes(Transport transport, int gpus, double bytes) {
  const bool is_in_switch = transport == Transport::multicast;
  return bytes_out(is_in_switch ? CollectiveAlgorithm::in_switch : CollectiveAlgorithm::direct,
                   CollectiveKind::all_reduce, gpus, bytes);
}

}  // namespace weft::tests
