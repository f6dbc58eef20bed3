// The machine that the simulator's tests run on: test_machine.json, a server in round numbers.
#pragma once

#include "models/machine/machine.hpp"

namespace weft::sim {

const Machine& test_machine();

/// `gpcs` x `sms_per_gpc` SMs of 1024 threads, registers and bytes each, with 8 slots.
Gpu test_gpu(int gpcs, int sms_per_gpc);

}  // namespace weft::sim
