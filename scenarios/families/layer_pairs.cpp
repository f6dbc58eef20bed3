#include "scenarios/families/layer_pairs.hpp"

#include <algorithm>

#include "scenarios/families/layer_program.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/pair_schedule.hpp"

namespace weft::scenarios::families {
namespace {

/// As questions() of a scenario has it.
PairWorkload pair_alone(LayerPair pair, const LayerWorkload& layer, int gpus) {
  const bool gathers = pair == LayerPair::qkv || pair == LayerPair::gate_up;
  const PairOp op = gathers                   ? PairOp::all_gather_gemm
                    : layer.sequence_parallel ? PairOp::gemm_reduce_scatter
                                              : PairOp::gemm_all_reduce;
  const std::int64_t heads = layer.heads / gpus, kv_heads = std::max<std::int64_t>(layer.kv_heads / gpus, 1);
  const std::int64_t width = layer.intermediate / gpus;
  const auto sized = [&](std::int64_t n, std::int64_t k) {
    return PairWorkload{
        .op = op, .m = layer.tokens, .n = n, .k = k, .dtype = layer.dtype, .weight_bits = layer.weight_bits};
  };
  switch (pair) {
    case LayerPair::qkv:
      return sized((heads + 2 * kv_heads) * layer.head_dim, layer.hidden);
    case LayerPair::o:
      return sized(layer.hidden, heads * layer.head_dim);
    case LayerPair::gate_up:
      return sized(2 * width, layer.hidden);
    case LayerPair::down:
      break;
  }
  return sized(layer.hidden, width);
}

/// What the pair may be, best first; one that leaves nothing open is what it is.
std::vector<PairSchedule> closed(const PairSchedule& pair, const Case& request, const PairWorkload& workload,
                                 const Machine& machine) {
  Case alone_case = request;
  alone_case.workload = workload;
  alone_case.schedule = alone(pair, request.schedule);
  const FamilyRules& rules = rules_of(alone_case.schedule.family);
  if (!rules.is_open(alone_case.schedule.family)) return {pair};
  std::vector<PairSchedule> found;
  for (const Family& family : rules.searched(alone_case, machine)) {
    alone_case.schedule.family = family;
    found.push_back(*inside_layer(alone_case.schedule));
  }
  return found;
}

/// A model of each pair alone ranks them; whole layers take longer to simulate than pairs.
constexpr std::size_t layers_worth_simulating = 3;

}  // namespace

std::vector<Family> searched_pairs(const Case& request, const Pairs& pairs, const Machine& machine) {
  const auto& layer = std::get<LayerWorkload>(request.workload);
  check_tensor_parallel(layer, request.gpus);
  std::vector<Pairs> found;
  for (const LayerPair pair : pairs_of(layer)) {
    const auto key = named_pairs[static_cast<std::size_t>(pair)].second;
    if (!(pairs.*key)) continue;
    const std::vector<PairSchedule> best =
        closed(*(pairs.*key), request, pair_alone(pair, layer, request.gpus), machine);
    while (found.size() < std::min(best.size(), layers_worth_simulating))
      found.push_back(found.empty() ? pairs : found.back());
    for (std::size_t i = 0; i < found.size(); ++i) found[i].*key = best[std::min(i, best.size() - 1)];
  }
  return {found.begin(), found.end()};
}

Pairs under_one_family(const Case& request) {
  Pairs pairs;
  for (const LayerPair pair : pairs_of(std::get<LayerWorkload>(request.workload)))
    pairs.*named_pairs[static_cast<std::size_t>(pair)].second = inside_layer(request.schedule);
  return pairs;
}

}  // namespace weft::scenarios::families
