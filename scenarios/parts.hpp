// The GEMM and the collective of a pair, as workloads of their own.
#pragma once

#include <optional>

#include "scenarios/workload.hpp"

namespace weft::scenarios {

struct Parts {
  GemmWorkload gemm;
  CollectiveWorkload collective;
};

/// Empty for a workload that is no pair.
std::optional<Parts> parts_of(const Workload& workload);

}  // namespace weft::scenarios
