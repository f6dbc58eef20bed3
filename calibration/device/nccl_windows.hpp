// What NCCL has since 2.28: windows of symmetric memory, collectives by copy engines, and an all-to-all of its own. A
// module that was built with an older NCCL, or finds one when it is loaded, says so and does without.
#pragma once

#include <nccl.h>

#include <cstddef>

#include "models/base/units.hpp"

namespace weft::calibration::device {

/// Throws ExecutionError where NCCL is too old, when this was built or now.
void require_windows();

/// Registers `memory`, which ncclMemAlloc gave, with all ranks of a communicator: collective. What is registered stays
/// so as long as the communicator lives. Throws ExecutionError where NCCL gives no window.
void register_window(ncclComm_t communicator, void* memory, Bytes bytes);

/// Communicators made with it move data between windows by copy engines, wherever nothing is added up.
void take_no_ctas(ncclConfig_t& config);

/// `count`: elements of a block.
void all_to_all_of_nccl(const void* input, void* output, std::size_t count, ncclDataType_t type,
                        ncclComm_t communicator, cudaStream_t stream);

}  // namespace weft::calibration::device
