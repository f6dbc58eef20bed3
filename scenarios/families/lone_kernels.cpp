// A kernel of a decoder layer alone: attention and the memory-bound ones between GEMMs, on each GPU, and the all-reduce
// with the norm in it, on all together.
#include <algorithm>
#include <string>

#include "models/cost/all_reduce_norm_model.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {
namespace {

MemoryKernel memory_kernel_of(RowKernel kernel) {
  switch (kernel) {
    case RowKernel::add_rms_norm:
      return MemoryKernel::add_rms_norm;
    case RowKernel::swiglu:
      return MemoryKernel::swiglu;
    case RowKernel::rotary:
    case RowKernel::all_reduce_norm:  // is no kernel of one GPU's memory
      break;
  }
  return MemoryKernel::rotary;
}

Schedule build_all_reduce_norm(const Case& request, const RowKernelWorkload& work, const Machine& machine) {
  constexpr int usual_ctas = 8;
  Program program(request);
  const auto add = [&](const char* name, Memory memory) {
    return program.add_buffer(name, work.m, work.n, DataType::bf16, memory);
  };
  const BufferId partial = add("partial", Memory::symmetric), residual = add("residual", Memory::local),
                 normed = add("normed", Memory::symmetric);
  const int max_ctas = request.schedule.max_ctas;
  program.add(main_stream, "all_reduce_norm",
              AllReduceNorm{.partial = program.whole(partial),
                            .residual = program.whole(residual),
                            .normed = program.whole(normed),
                            .transport = all_reduce_norm_transport(machine),
                            .ctas = max_ctas > 0 ? max_ctas : usual_ctas});
  program.set_meaning(
      {.op = "all_reduce_norm", .m = work.m, .n = work.n, .k = work.n, .a = partial, .b = residual, .result = normed});
  return std::move(program).finish();
}

/// Tile after tile, as a GEMM of ours leaves them; where their rows are cut by destination, in groups of a wave or so.
Layout layout_of(const RowKernelWorkload& work) {
  constexpr std::int64_t tiles_of_group = 128;
  Layout layout{.kind = work.layout};
  if (work.layout == LayoutKind::row_major) return layout;
  layout.rows = work.m, layout.columns = work.n;
  layout.tile_rows = RowKernelWorkload::tile_rows, layout.tile_columns = RowKernelWorkload::tile_columns;
  layout.order = own_order;
  if (work.layout == LayoutKind::tile_ordered) return layout;
  for (std::int64_t left = tile_grid(layout).tiles(); left > 0; left -= tiles_of_group)
    layout.group_tiles.push_back(std::min(left, tiles_of_group));
  return layout;
}

BufferId add_stored(Program& program, const RowKernelWorkload& work) {
  if (work.layout == LayoutKind::row_major) return program.add_buffer("x", work.m, work.n);
  const Layout layout = layout_of(work);
  return program.add_buffer("x", tile_grid(layout).tiles() * layout.tile_rows, layout.tile_columns, DataType::bf16,
                            Memory::local, layout);
}

/// Adds what `work_of` says of each of `repeats`, of a name that is as good as `name`.
template <class WorkOf>
void add_in_a_row(Program& program, const std::string& name, std::int64_t repeats, const WorkOf& work_of) {
  for (std::int64_t i = 0; i < repeats; ++i) {
    const std::string number = repeats > 1 ? " " + std::to_string(i) : "";
    program.add(main_stream, name + number, work_of(number));
  }
  program.set_repeats_per_iteration(static_cast<int>(repeats));
}

}  // namespace

Schedule build_lone_kernel(const Case& request, const AttentionKernelWorkload& work) {
  Program program(request);
  const BufferId qkv = program.add_buffer("qkv", work.tokens, (work.heads + 2 * work.kv_heads) * work.head_dim);
  const BufferId output = program.add_buffer("output", work.tokens, work.heads * work.head_dim);
  Attention attention{.qkv = program.whole(qkv),
                      .output = program.whole(output),
                      .heads = static_cast<int>(work.heads),
                      .kv_heads = static_cast<int>(work.kv_heads),
                      .head_dim = static_cast<int>(work.head_dim),
                      .sequences = static_cast<int>(work.sequences)};
  add_in_a_row(program, "attention", work.repeats, [&](const std::string& number) {
    if (work.prefix > 0)
      attention.cached = program.whole(program.add_buffer("keys and values" + number, work.sequences * work.prefix,
                                                          2 * work.kv_heads * work.head_dim));
    return attention;
  });
  return std::move(program).finish();
}

Schedule build_lone_kernel(const Case& request, const RowKernelWorkload& work, const Machine& machine) {
  if (work.kernel == RowKernel::all_reduce_norm) return build_all_reduce_norm(request, work, machine);
  Program program(request);
  const MemoryKernel kernel = memory_kernel_of(work.kernel);
  const std::string name(name_of(work.kernel));
  if (work.kernel == RowKernel::rotary) {
    const Slice turned = program.whole(program.add_buffer("x", work.m, work.n));
    const MemoryBound rotary{.kernel = kernel, .reads = {turned}, .writes = {turned}};
    add_in_a_row(program, name, work.repeats, [&](const std::string&) { return rotary; });
    return std::move(program).finish();
  }
  const bool adds = work.kernel == RowKernel::add_rms_norm;
  const BufferId x = adds ? add_stored(program, work) : program.add_buffer("x", work.m, 2 * work.n);
  const BufferId result = program.add_buffer("result", work.m, work.n);
  MemoryBound bound{.kernel = kernel, .reads = {program.whole(x)}, .writes = {program.whole(result)}};
  Meaning meaning{.op = name, .m = work.m, .n = work.n, .k = 1, .a = x, .b = x, .result = result};
  if (adds) {  // the sum is the next residual
    meaning.b = program.add_buffer("residual", work.m, work.n);
    bound.reads.push_back(program.whole(meaning.b));
    bound.writes.push_back(program.whole(meaning.b));
  }
  add_in_a_row(program, name, work.repeats, [&](const std::string&) { return bound; });
  if (work.repeats == 1 || !adds) program.set_meaning(std::move(meaning));  // each sum would be the next one's residual
  return std::move(program).finish();
}

}  // namespace weft::scenarios::families
