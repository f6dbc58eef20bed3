#include "scenarios/parts.hpp"

namespace weft::scenarios {

std::optional<Parts> parts_of(const Workload& workload) {
  if (const auto* pair = std::get_if<PairWorkload>(&workload)) {
    const bool sends_input = collective_comes_first(pair->op);
    const Bytes bytes =
        sends_input ? pair->m * pair->k * bytes_of(pair->dtype) : pair->m * pair->n * bytes_of(DataType::bf16);
    return Parts{{pair->m, pair->n, pair->k, pair->dtype, pair->weight_bits}, {collective_of(pair->op), bytes}};
  }
  if (const auto* pair = std::get_if<ConcurrentPair>(&workload))
    return Parts{{pair->m, pair->n, pair->k, pair->dtype, pair->weight_bits},
                 {CollectiveKind::all_reduce, pair->bytes}};
  return std::nullopt;
}

}  // namespace weft::scenarios
