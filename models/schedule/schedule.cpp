#include "models/schedule/schedule.hpp"

namespace weft {

std::string_view kind_of(const Work& work) {
  return std::visit(Overloaded{[](const Gemm&) { return std::string_view{"gemm"}; },
                               [](const GroupedGemm&) { return std::string_view{"grouped_gemm"}; },
                               [](const Collective&) { return std::string_view{"collective"}; },
                               [](const AllReduceNorm&) { return std::string_view{"all_reduce_norm"}; },
                               [](const GroupedExchange&) { return std::string_view{"grouped_exchange"}; },
                               [](const Copy&) { return std::string_view{"copy"}; },
                               [](const MemoryBound&) { return std::string_view{"memory_bound"}; },
                               [](const Attention&) { return std::string_view{"attention"}; },
                               [](const PartialAttention&) { return std::string_view{"partial_attention"}; },
                               [](const Signal&) { return std::string_view{"signal"}; },
                               [](const Wait&) { return std::string_view{"wait"}; },
                               [](const Barrier&) { return std::string_view{"barrier"}; },
                               [](const Delay&) { return std::string_view{"delay"}; }},
                    work);
}

}  // namespace weft
