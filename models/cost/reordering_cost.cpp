#include "models/cost/reordering_cost.hpp"

namespace weft {
namespace {

/// Null for all other operations: they write rows in order.
const Slice* result_of_gemm(const Work& work) {
  return match(
      work, [](const Gemm& gemm) { return &gemm.c; },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) -> const Slice* { return nullptr; });
}

double rms_norm_us(const Machine& machine, const Buffer& rows) {
  const auto bytes = static_cast<double>(rows.rows * rows.columns * bytes_of(rows.dtype));
  return machine.other_kernels.overhead_us + 2 * bytes / bytes_per_us(machine.gpu.hbm_GBps);
}

NextKernelCost cost_of(const Reordering& reordering, LayoutKind kind) {
  if (kind == LayoutKind::tile_ordered) return {"tile", reordering.norm_tiles};
  if (kind == LayoutKind::sub_tile_ordered) return {"sub_tile", reordering.norm_sub_tiles};
  return {"row", reordering.norm_rows};
}

}  // namespace

double gemm_reordering(const Machine& machine, const Layout& layout) {
  if (!machine.reordering || layout.kind == LayoutKind::row_major) return 0;
  return layout.kind == LayoutKind::tile_ordered ? machine.reordering->gemm_tiles : machine.reordering->gemm_parts;
}

double norm_reordering(const Machine& machine, const MemoryBound& kernel, const Schedule& schedule) {
  if (!machine.reordering) return 0;
  for (const Slice& slice : kernel.reads) {
    const LayoutKind kind = schedule.buffers[static_cast<std::size_t>(slice.buffer)].layout.kind;
    if (kind != LayoutKind::row_major) return cost_of(*machine.reordering, kind).share;
  }
  return 0;
}

std::optional<NextKernelCost> next_kernel_reordering(const Machine& machine, const Schedule& schedule) {
  if (!machine.reordering || !schedule.meaning) return std::nullopt;
  if (schedule.meaning->layer) return std::nullopt;  // its norms are among the operations
  for (const Operation& operation : schedule.operations) {
    const Slice* result = result_of_gemm(operation.work);
    if (result == nullptr) continue;
    const LayoutKind kind = schedule.buffers[static_cast<std::size_t>(result->buffer)].layout.kind;
    if (kind == LayoutKind::row_major) continue;
    NextKernelCost cost = cost_of(*machine.reordering, kind);
    cost.time_us =
        cost.share * rms_norm_us(machine, schedule.buffers[static_cast<std::size_t>(schedule.meaning->result)]);
    return cost;
  }
  return std::nullopt;
}

}  // namespace weft
