// How long the collective library takes on a fabric, from first principles: for collectives of which a profile holds no
// curve.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft {

/// Bytes out of each GPU, and as many into it. `bytes` as nccl-tests counts them (B), W = gpus:
///   ring, direct   (W-1)/W B; all_reduce 2 (W-1)/W B, its reduce-scatter and its all-gather half
///   in_switch      all_reduce (W+1)/W B: the switch loads every GPU's B and adds them up, W-th by W-th, and each GPU
///                  stores its W-th of the sum once for all
double bytes_out(CollectiveAlgorithm algorithm, CollectiveKind kind, int gpus, double bytes);

/// Bytes that cross a link for each byte that leaves a GPU.
struct LinkLoad {
  FabricLink link;
  double share = 0;
};

/// Of all links that the first `gpus` GPUs load.
///   ring       GPU i sends to GPU i + 1 mod gpus; on a mesh the channels' rings differ and load all links alike
///   direct     every GPU sends an equal part to each other one
///   in_switch  all that leaves or enters a GPU passes its port
std::vector<LinkLoad> link_loads(const Fabric& fabric, CollectiveAlgorithm algorithm, int gpus);

/// The link that limits what leaves each GPU.
struct BusiestLink {
  double GBps = 0;  ///< out of each GPU
  LinkKind kind = LinkKind::port_out;
};
BusiestLink busiest_link(const Fabric& fabric, CollectiveAlgorithm algorithm, int gpus);

struct LibraryTime {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  std::size_t protocol = 0;             ///< of the machine's
  bool is_limited_by_channels = false;  ///< else by the busiest link
  LinkKind busiest = LinkKind::port_out;
  double latency_us = 0;   ///< nothing moves
  double transfer_us = 0;  ///< besides
  int channels = 0;

  double time_us() const { return latency_us + transfer_us; }
};

/// From one call to the next, back to back, as nccl-tests times it. The library takes the fastest of its protocols, for
/// each of which it reckons (as NCCL does in src/graph/tuning.cc)
///
///   time = base + steps x hop + bytes out / rate
///   steps: ring W-1, for all_reduce 2 (W-1); direct W-1; in_switch 1
///   rate:  the least of  efficiency x (rate of the busiest link / its share)  and  channels x channel's rate
///
/// `max_ctas` limits the channels; 0: the library's default. Throws InputError where the profile has no protocol of the
/// kind, or, where `only` is named, of that algorithm.
LibraryTime library_time(const Machine& machine, CollectiveKind kind, int gpus, double bytes, int max_ctas,
                         std::optional<CollectiveAlgorithm> only = {});

}  // namespace weft
