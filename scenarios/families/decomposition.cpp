// decomposition: c row chunks, so that the collective of one chunk runs beside the GEMM of another.
//
//   gemm+X           s0: gemm 0 | gemm 1 | …              s1: X i waits for gemm i
//   all_gather+gemm  s1: all_gather 0 | all_gather 1 | …  s0: gemm i waits for all_gather i
//
// The host launches chunk by chunk, the two operations of a chunk in the order of the data.
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/rank_rows.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::families {
namespace {

struct DecompositionRules {
  static constexpr std::string_view name = "decomposition";
  static constexpr std::string_view meaning = "the GEMM in chunks, each with its part of the collective";
  static std::string in_words(const Decomposition& choice) { return ", chunks " + std::to_string(choice.chunks); }
  static void add_pair(Program& program, const Case& request, const Machine& machine);

  static std::vector<Decomposition> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    std::vector<Decomposition> found;
    for (const int chunks : space.chunks)
      if (rows_to_cut(workload, gpus) % (std::int64_t{gpus} * chunks) == 0) found.push_back({chunks});
    return found;
  }

 private:
  /// Of what it has; 1, which no chunks divide, of everything else.
  static std::int64_t rows_to_cut(const Workload& workload, int gpus) {
    if (const auto* layer = std::get_if<LayerWorkload>(&workload); layer && gpus > 1) return layer->tokens;
    const auto* pair = std::get_if<PairWorkload>(&workload);
    return pair != nullptr && pair->op != PairOp::all_to_all_gemm ? pair->m : 1;
  }
};

void DecompositionRules::add_pair(Program& program, const Case& request, const Machine&) {
  const PairWorkload& workload = pair_of(request, {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter,
                                                   PairOp::gemm_all_to_all, PairOp::all_gather_gemm});
  const int chunks = std::get<Decomposition>(request.schedule.family).chunks;
  const bool collective_first = collective_comes_first(workload.op);
  const std::string collective_name(name_of(collective_of(workload.op)));

  const StreamId s1 = program.add_stream("s1", highest_priority);
  const PairOperands pair(program, workload,
                          rows_of_ranks(workload, request.gpus, std::int64_t{request.gpus} * chunks, "gpus x chunks"),
                          chunks, request.schedule.max_ctas);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const std::string suffix = " " + std::to_string(chunk);
    if (collective_first) {
      const OperationId arrived = program.add(s1, collective_name + suffix, pair.collective(chunk));
      program.add(main_stream, "gemm" + suffix, pair.gemm(chunk), {arrived});
    } else {
      const OperationId computed = program.add(main_stream, "gemm" + suffix, pair.gemm(chunk));
      program.add(s1, collective_name + suffix, pair.collective(chunk), {computed});
    }
  }
  program.set_meaning(pair.meaning());
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Decomposition::rules =
    FamilyRules::of<Decomposition, families::DecompositionRules>();
