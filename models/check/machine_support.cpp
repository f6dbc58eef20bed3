#include "models/check/machine_support.hpp"

#include <algorithm>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/check/memory_fit.hpp"
#include "models/machine/own_kernel_support.hpp"
#include "models/schedule/facts.hpp"

namespace weft {
namespace {

/// Barriers and signals are words in the memory of peers; NCCL finds its own way.
bool needs_peer_access(const Operation& operation) {
  return match(
      operation.work, [](const OneOf<Barrier, Signal> auto&) { return true; },
      [](const OneOf<Collective, GroupedExchange> auto& exchange) {
        return exchange.transport != Transport::nccl && exchange.transport != Transport::nccl_nvls;
      },
      [&](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Wait,
                      Delay> auto&) { return facts(operation.work).crosses_ranks; });
}

bool has_fp8_product(const Schedule& schedule, const Operation& operation) {
  const auto is_fp8 = [&](const Slice& slice) {
    return schedule.buffers[static_cast<std::size_t>(slice.buffer)].dtype == DataType::fp8;
  };
  return match(
      operation.work, [&](const OneOf<Gemm, GroupedGemm> auto& gemm) { return is_fp8(gemm.b); },
      [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention, Signal,
                     Wait, Barrier, Delay> auto&) { return false; });
}

}  // namespace

bool is_for_hopper(const Work& work) {
  return match(
      work, [](const Gemm& gemm) { return gemm.kernel.has_value(); },
      [](const OneOf<GroupedGemm, Attention, PartialAttention> auto&) { return true; },
      [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Signal, Wait, Barrier,
                     Delay> auto&) { return false; });
}

bool lacks_peer_access(const Machine& machine, const Schedule& schedule) {
  return !machine.fabric.peer_access && std::ranges::any_of(schedule.operations, needs_peer_access);
}

void require_able(const Machine& machine, const Schedule& schedule) {
  if (machine.runtime != Runtime::cuda)
    throw InputError("machine",
                     "expected GPUs with CUDA, which the hardware executor is made for, got " + machine.name);
  if (!fits_memory(schedule, machine))
    throw InputError("buffers", "expected at most the " + fixed(machine.gpu.memory_GB, 0) + " GB of a GPU of " +
                                    machine.name + ", got " + fixed(memory_GB(schedule), 1));
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Operation& operation = schedule.operations[i];
    const auto refuse_without = [&](bool has, const char* what) {
      if (!has)
        throw InputError("operations[" + std::to_string(i) + "] \"" + operation.name + "\"",
                         "expected what the GPUs of " + machine.name + " can run, got " + what);
    };
    refuse_without(runs_own_kernels(machine) || !is_for_hopper(operation.work),
                   "a kernel of our own, which needs Hopper");
    refuse_without(multiplies_fp8(machine) || !has_fp8_product(schedule, operation),
                   "a product of fp8, which needs compute capability 8.9 or newer (Ada, Hopper, Blackwell)");
    refuse_without(machine.fabric.peer_access || !needs_peer_access(operation),
                   "what reaches the memory of peers, without peer access");
  }
}

}  // namespace weft
