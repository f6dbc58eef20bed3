// concurrent: a GEMM on s0 and an independent all-reduce on s1. Both are ready at once, so it matters which of the two
// the host launches first (in a graph: whose node was made first).
#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios::families {
namespace {

struct ConcurrentRules {
  static constexpr std::string_view name = "concurrent";
  static constexpr std::string_view meaning = "both at once";
  static std::string in_words(const Concurrent& choice) { return ", first " + std::string(name_of(choice.first)); }
  static Schedule build(const Case& request, const Machine& machine);

  static std::vector<Concurrent> candidates(const Workload& workload, int, const SearchSpace&) {
    if (!std::holds_alternative<ConcurrentPair>(workload)) return {};
    return {{FirstLaunched::collective}, {FirstLaunched::gemm}};
  }
};

Schedule ConcurrentRules::build(const Case& request, const Machine&) {
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

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Concurrent::rules =
    FamilyRules::of<Concurrent, families::ConcurrentRules>();
