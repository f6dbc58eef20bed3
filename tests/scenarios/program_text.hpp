// Builders under test: cases in short, schedules as text.
#pragma once

#include <string>
#include <vector>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Eight GPUs of round numbers: 100 SMs x 1000 flops a clock x 1000 MHz = 1e8 flops/us, HBM 1e6 bytes/us, ports 1e5
/// bytes/us at their peak, no L2. An SM holds one CTA of a GEMM; collectives have 20 CTAs and take 20 us for 1 MiB.
Machine round_machine();

Case make_case(Workload workload, int gpus, Family family = Serial{});
/// What is open is as the models like it best.
Schedule build_case(Workload workload, int gpus, Family family = Serial{});
/// What build() complains about, or "".
std::string build_error(Workload workload, int gpus, Family family = Serial{});

/// One line an operation, in launch order: "s1: all_reduce 0 after gemm 0".
std::vector<std::string> program_of(const Schedule& schedule);

/// A slice of rank 0 as text: "a[0:64, 0:128]"; on a peer "a@1[…]".
std::string text_of(const Slice& slice, const Schedule& schedule);
/// "a[…] x b[…] -> c[…]" of a GEMM, "input -> output" of a collective or copy, "reads -> writes" of a memory kernel.
std::string operands_of(const Operation& operation, const Schedule& schedule);

template <class Kind>
std::vector<Kind> all_of_kind(const Schedule& schedule) {
  std::vector<Kind> found;
  for (const Operation& operation : schedule.operations)
    if (const auto* work = std::get_if<Kind>(&operation.work)) found.push_back(*work);
  return found;
}

}  // namespace weft::scenarios
