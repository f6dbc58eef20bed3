// Machines whose GEMM library has answered little.
#pragma once

#include <vector>

#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::tests {

inline GemmKernel library_kernel(int tile_m, int tile_n, int split_k = 1) {
  return {.tile_m = tile_m,
          .tile_n = tile_n,
          .tile_k = 64,
          .cluster_m = 1,
          .cluster_n = 1,
          .stages = 4,
          .split_k = split_k};
}

/// The test machine, of 16 SMs, with these answers in place of candidates.
inline Machine machine_with(const std::vector<GemmChoice>& answers) {
  Machine machine = read_machine(source_folder() + "/tests/sim/test_machine.json");
  machine.gemm_candidates.clear();
  machine.gemm_choices = GemmChoices(answers);
  return machine;
}

}  // namespace weft::tests
