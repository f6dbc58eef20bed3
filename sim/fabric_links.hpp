// The links of a fabric as resources that transfers share.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "models/machine/fabric.hpp"
#include "models/machine/machine.hpp"
#include "sim/fluid_pool.hpp"

namespace weft::sim {

class FabricLinks {
 public:
  /// Where links are not shared, each GPU has all of them for its own transfers, and collectives are not held up.
  FabricLinks(FluidPool& pool, const Fabric& fabric, bool are_shared)
      : pool_(pool), fabric_(fabric), are_shared_(are_shared) {}

  /// Stores or loads of a kernel of `asker` from one GPU to another: `share` of its bytes take that way.
  std::vector<Use> kernel_uses(int source, int destination, int asker, double share);
  /// A copy by `asker` from one GPU to another; without peer access also through the staging buffers of both.
  std::vector<Use> copy_uses(int source, int destination, int asker);
  /// For each byte that leaves a GPU. Where one GPU stands for all (`is_merged`) and the fabric treats all alike, one
  /// link stands for all of its kind.
  const std::vector<Use>& collective_uses(CollectiveAlgorithm algorithm, int gpus, bool is_merged);

  /// Bytes so far that left and entered a GPU.
  double served_out(int gpu) const;
  double served_in(int gpu) const;

 private:
  static constexpr int all_gpus = -1;      // as the asker
  using Key = std::pair<int, FabricLink>;  // asker, all_gpus where links are shared

  int resource(const FabricLink& link, int asker);
  int staging(int gpu, int asker);

  FluidPool& pool_;
  const Fabric& fabric_;
  const bool are_shared_;
  std::map<Key, int> resources_;                // made at their first use
  std::map<std::pair<int, int>, int> staging_;  // by asker and GPU
  std::array<std::vector<Use>, NamesOf<CollectiveAlgorithm>::names.size()> collective_uses_;
};

}  // namespace weft::sim
