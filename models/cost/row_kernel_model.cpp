#include "models/cost/row_kernel_model.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr double as_fast_as_memory = 1e3;

/// What the kernel reaches of the HBM's rate on all SMs; kernels without a figure of their own are as fast as memory.
double share_of_hbm(const OtherKernels& kernels, MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
      return kernels.norm_share;
    case MemoryKernel::swiglu:
      return kernels.swiglu_share;
    case MemoryKernel::rotary:
      return kernels.rotary_share;
    case MemoryKernel::pytorch_sum:
      return kernels.pytorch_sum_share;
    case MemoryKernel::fill:
    case MemoryKernel::add:
    case MemoryKernel::partial_sum:
    case MemoryKernel::gather:
    case MemoryKernel::scatter:
    case MemoryKernel::top_k:
    case MemoryKernel::weighted_sum:
    case MemoryKernel::log_sum_exp_merge:
    case MemoryKernel::quantize:
      break;
  }
  return as_fast_as_memory;
}

RowKernelTiming of_any(const Machine& machine, double share_of_hbm) {
  const OtherKernels& kernels = machine.other_kernels;
  const double share = std::min(kernels.memory_share_per_sm, share_of_hbm / machine.gpu.sms());
  return {.sm_GBps = share * machine.gpu.hbm_GBps, .once_us = kernels.overhead_us};
}

/// What one SM can draw for a norm, activation or gather of ours; 0: it is none.
double own_sm_GBps(const OwnRowKernels& own, MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::swiglu:
    case MemoryKernel::rotary:
      return own.activation_GBps;
    case MemoryKernel::quantize:
      return own.quantize_GBps;
    case MemoryKernel::gather:
      return own.gather_GBps;
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
      return own.norm_GBps;
    case MemoryKernel::fill:
    case MemoryKernel::add:
    case MemoryKernel::partial_sum:
    case MemoryKernel::pytorch_sum:
    case MemoryKernel::scatter:
    case MemoryKernel::top_k:
    case MemoryKernel::weighted_sum:
    case MemoryKernel::log_sum_exp_merge:
      break;
  }
  return 0;
}

bool is_norm(MemoryKernel kernel) { return kernel == MemoryKernel::rms_norm || kernel == MemoryKernel::add_rms_norm; }

bool is_merge(const MemoryBound& bound) {
  return bound.kernel == MemoryKernel::log_sum_exp_merge && !bound.reads.empty();
}

/// Norms draw as much at any clock: they wait for the L2. Of gathers it is not known.
bool draws_by_clock(MemoryKernel kernel) { return !is_norm(kernel) && kernel != MemoryKernel::gather; }

/// A team of threads waits for all of its row before it stores any, and for one another.
double own_start_us(const OwnRowKernels& own, const MemoryBound& bound) {
  if (!is_norm(bound.kernel)) return own.start_us;
  const std::int64_t columns = bound.writes.empty() ? 0 : bound.writes.front().columns;
  return own.norm_start_us + own.norm_columns_us * static_cast<double>(columns) / 1000;
}

/// As where our attention merges what the splits of a tile's keys give: the results at `merge_GBps`, which is of them
/// alone, not of what is written. 44 merges recorded on two H200s take 3.1 to 22 us (distributed-attention-2026-11-30).
RowKernelTiming time_merge(const OwnAttentionTimes& times, const MemoryBound& bound, int sms, double clock_share) {
  const auto results = static_cast<double>(bound.reads.size()) / 2;  // each with the logarithms of its sums
  return {.sm_GBps = times.merge_GBps * (results + 1) / results / sms,
          .once_us = (times.merge_us + results * times.merged_split_us) / clock_share,
          .is_known = true};
}

RowKernelTiming time_memory_bound(const Machine& machine, const Schedule& schedule, const MemoryBound& bound,
                                  double clock_share) {
  if (schedule.implementation == Implementation::weft && machine.own_rows) {
    const OwnRowKernels& own = *machine.own_rows;
    if (const double sm_GBps = own_sm_GBps(own, bound.kernel); sm_GBps > 0)
      return {sm_GBps * (draws_by_clock(bound.kernel) ? clock_share : 1), own.hbm_share,
              own_start_us(own, bound) / clock_share, /*is_known=*/true};
  }
  if (schedule.implementation == Implementation::weft && machine.own_attention && is_merge(bound))
    return time_merge(*machine.own_attention, bound, machine.gpu.sms(), clock_share);
  return of_any(machine, share_of_hbm(machine.other_kernels, bound.kernel));
}

}  // namespace

RowKernelTiming time_row_kernel(const Machine& machine, const Schedule& schedule, const Work& work,
                                double clock_share) {
  return match(
      work, [&](const MemoryBound& bound) { return time_memory_bound(machine, schedule, bound, clock_share); },
      [&](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, Attention, PartialAttention,
                      Signal, Wait, Barrier, Delay> auto&) { return of_any(machine, as_fast_as_memory); });
}

}  // namespace weft
