// Predictions that build on times which the user measured.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::scenarios::study {

/// The machine on which the whole GEMM alone takes the time that the user measured, at the same power, and links are
/// as fast as the measured collective says.
Machine with_given_times(const scenarios::Case& request, const Machine& machine,
                         const sim::Mechanisms& mechanisms = {});

}  // namespace weft::scenarios::study
