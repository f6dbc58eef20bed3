// serial: everything on one stream, one after the other, with the library's GEMM and the library's collective.
//
//   gemm+X                            s0: gemm | X             (all_reduce in place)
//   all_gather+gemm, all_to_all+gemm  s0: X | gemm
//   gemm||all_reduce                  s0: gemm | all_reduce    (the reference that `concurrent` is compared with)
//   copy all_peers                    s0: pull from rank + 1 | pull from rank + 2 | …
#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/own_kernel_of.hpp"
#include "scenarios/rank_rows.hpp"

namespace weft::scenarios::families {
namespace {

Schedule build_gemm(const Case& request, const GemmWorkload& workload) {
  Program program(request);
  Gemm gemm = add_gemm_operands(program, workload.m, workload.n, workload.k, workload.dtype);
  if (const GemmKernel* own = own_kernel_of(std::get<Serial>(request.schedule.family).gemm); own != nullptr) {
    gemm.kernel = *own;
    gemm.order = own_order;
  }
  program.add(main_stream, "gemm", gemm);
  program.set_meaning({.op = "gemm",
                       .m = workload.m,
                       .n = workload.n,
                       .k = workload.k,
                       .a = gemm.a.buffer,
                       .b = gemm.b.buffer,
                       .result = gemm.c.buffer});
  return std::move(program).finish();
}

/// As many of each GPU as of each other, rounded down as nccl-tests do.
std::int64_t whole_elements(const CollectiveWorkload& collective, int gpus) {
  const std::int64_t elements = collective.bytes / bytes_of(DataType::bf16);
  return collective.kind == CollectiveKind::all_reduce ? elements : elements / gpus * gpus;
}

/// An all-reduce alone runs in place, as in PyTorch.
Schedule build_collective(const Case& request, const CollectiveWorkload& workload) {
  Program program(request);
  const auto [rows, columns] =
      shape_of(whole_elements(workload, request.gpus) * bytes_of(DataType::bf16), request.gpus);
  const std::int64_t shard = rows / request.gpus;
  const bool gathers = workload.kind == CollectiveKind::all_gather;
  const bool scatters = workload.kind == CollectiveKind::reduce_scatter;
  const BufferId input = program.add_buffer("input", gathers ? shard : rows, columns);
  const BufferId output = workload.kind == CollectiveKind::all_reduce
                              ? input
                              : program.add_buffer("result", scatters ? shard : rows, columns);
  program.add(main_stream, std::string(name_of(workload.kind)),
              Collective{.kind = workload.kind,
                         .input = program.whole(input),
                         .output = program.whole(output),
                         .transport = Transport::nccl,
                         .max_ctas = request.schedule.max_ctas});
  program.set_meaning({.op = std::string(name_of(workload.kind)),
                       .m = rows,
                       .n = columns,
                       .k = 1,  // there is no GEMM, and a size of 0 is an error
                       .a = input,
                       .b = input,
                       .result = output});
  return std::move(program).finish();
}

Schedule build_copy(const Case& request, const CopyWorkload& workload) {
  Program program(request);
  const int pulls = workload.pattern == CopyPattern::one_peer ? 1 : request.gpus - 1;
  const auto [rows, columns] = shape_of(workload.bytes, 1);
  const BufferId source = program.add_buffer("source", rows, columns, DataType::bf16, Memory::symmetric);
  const BufferId gathered = program.add_buffer("gathered", rows * pulls, columns);
  for (int peer = 1; peer <= pulls; ++peer)
    program.add(main_stream, "pull from rank + " + std::to_string(peer),
                Copy{.source = program.whole(source, peer),
                     .destination = program.rows(gathered, (peer - 1) * rows, rows),
                     .path = CopyPath::copy_engine});
  return std::move(program).finish();
}

Schedule build_pair(const Case& request, const PairWorkload& workload) {
  // An all-reduce of the whole is the one collective that cuts nothing.
  const std::int64_t unit = workload.op == PairOp::gemm_all_reduce ? 1 : request.gpus;
  Program program(request);
  const PairOperands pair(program, workload, rows_of_ranks(workload, request.gpus, unit, "gpus"), 1,
                          request.schedule.max_ctas);
  const std::string collective(name_of(collective_of(workload.op)));
  if (collective_comes_first(workload.op)) program.add(main_stream, collective, pair.collective(0));
  program.add(main_stream, "gemm", pair.gemm(0));
  if (!collective_comes_first(workload.op)) program.add(main_stream, collective, pair.collective(0));
  program.set_meaning(pair.meaning());
  return std::move(program).finish();
}

Schedule build_both(const Case& request, const ConcurrentPair& workload) {
  Program program(request);
  const ConcurrentOperands pair = add_concurrent_operands(program, workload, request.gpus, request.schedule.max_ctas);
  program.add(main_stream, "gemm", pair.gemm);
  program.add(main_stream, "all_reduce", pair.all_reduce);
  program.set_meaning(pair.meaning);
  return std::move(program).finish();
}

struct SerialRules {
  static constexpr std::string_view name = "serial";
  static constexpr std::string_view meaning = "one operation after the other";
  static std::string in_words(const Serial& choice) {
    return choice.gemm == GemmSource::library ? "" : ", gemm " + std::string(name_of(choice.gemm));
  }
  static Schedule build(const Case& request, const Machine& machine);
};

Schedule SerialRules::build(const Case& request, const Machine& machine) {
  if (std::get<Serial>(request.schedule.family).gemm != GemmSource::library && op_of(request.workload) != "gemm")
    throw InputError("schedule.gemm", "expected library for an op that is no GEMM alone");
  return std::visit(
      Overloaded{
          [&](const GemmWorkload& gemm) { return build_gemm(request, gemm); },
          [&](const CollectiveWorkload& collective) { return build_collective(request, collective); },
          [&](const CopyWorkload& copy) { return build_copy(request, copy); },
          [&](const PairWorkload& pair) { return build_pair(request, pair); },
          [&](const ConcurrentPair& pair) { return build_both(request, pair); },
          [&](const LayerWorkload& layer) { return build_layer(request, layer); },
          [&](const AttentionWorkload& attention) { return build_serial_attention(request, attention, machine); },
          [&](const AttentionKernelWorkload& attention) { return build_lone_kernel(request, attention); },
          [&](const RowKernelWorkload& work) { return build_lone_kernel(request, work, machine); }},
      request.workload);
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Serial::rules =
    FamilyRules::of<Serial, families::SerialRules>();
