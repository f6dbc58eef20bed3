// The links of a fabric as resources that transfers share.
#pragma once

#include <array>
#include <vector>

#include "models/cost/library_model.hpp"
#include "models/machine/fabric.hpp"
#include "models/machine/machine.hpp"
#include "sim/fluid_pool.hpp"

namespace weft::sim {

class FabricLinks {
 public:
  /// Where links are not shared, each GPU has all of them for its own transfers, and collectives are not held up.
  FabricLinks(FluidPool& pool, const Fabric& fabric, int gpus, bool are_shared);

  /// Stores or loads of a kernel of `asker` from one GPU to another: `share` of its bytes take that way.
  Uses kernel_uses(int source, int destination, int asker, double share);
  /// A copy by `asker` from one GPU to another; without peer access also through the staging buffers of both.
  Uses copy_uses(int source, int destination, int asker);
  /// For each byte that leaves a GPU. Where one GPU stands for all (`is_merged`, the same whenever it is asked) and the
  /// fabric treats all alike, one link stands for all of its kind.
  Uses collective_uses(CollectiveAlgorithm algorithm, bool is_merged);
  /// The pool has forgotten the links, which it gets once more as they are used.
  void restart();

  /// Bytes so far that left and entered a GPU.
  double served_out(int gpu) const;
  double served_in(int gpu) const;
  /// Bytes per us that leave and enter a GPU at the end of an instant.
  double load_out(int gpu) const;
  double load_in(int gpu) const;

 private:
  static constexpr int all_gpus = -1;  // as the asker

  struct Made {
    FabricLink link;
    std::size_t place = 0;  // in resources_
    int resource = 0;
  };

  std::size_t askers() const { return are_shared_ ? 1 : static_cast<std::size_t>(gpus_) + 1; }
  std::size_t asker_place(int asker) const { return are_shared_ ? 0 : static_cast<std::size_t>(asker + 1); }
  int resource(const FabricLink& link, int asker);
  int staging(int gpu, int asker);

  FluidPool& pool_;
  const Fabric& fabric_;
  const int gpus_;
  const bool are_shared_;
  // Resources are made at their first use; -1 until then. The first asker is all GPUs, and the only one where links are
  // shared.
  std::vector<int> resources_;  // by asker, kind of link and its ends
  std::vector<int> staging_;    // by asker and GPU
  std::vector<Made> made_;      // all of resources_
  std::array<std::vector<LinkLoad>, NamesOf<CollectiveAlgorithm>::names.size()> loads_;  // once they were asked for
};

}  // namespace weft::sim
