// concurrent: a GEMM on s0 and an independent all-reduce on s1. Both are ready at once, so it matters which of the two
// the host launches first (in a graph: whose node was made first).
#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"

namespace weft::scenarios::families {

Schedule build_concurrent(const Case& request) {
  const auto* workload = std::get_if<ConcurrentPair>(&request.workload);
  if (!workload)
    throw InputError("schedule.family", "expected the op that concurrent has (gemm||all_reduce), got " +
                                            std::string(op_of(request.workload)));
  Program program(request);
  const StreamId s1 = program.add_stream("s1", highest_priority);
  const ConcurrentOperands pair = add_concurrent_operands(program, *workload, request.gpus, request.schedule.max_ctas);
  const bool collective_first = std::get<Concurrent>(request.schedule.family).first == FirstLaunched::collective;
  if (collective_first) program.add(s1, "all_reduce", pair.all_reduce);
  program.add(main_stream, "gemm", pair.gemm);
  if (!collective_first) program.add(s1, "all_reduce", pair.all_reduce);
  program.set_meaning(pair.meaning);
  return std::move(program).finish();
}

}  // namespace weft::scenarios::families
