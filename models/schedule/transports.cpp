#include "models/schedule/transports.hpp"

#include "models/schedule/facts.hpp"
#include "models/schedule/footprint.hpp"

namespace weft {

bool does(Transport transport, CollectiveKind kind) {
  const bool is_moved_only = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  switch (transport) {
    case Transport::nccl_nvls:
    case Transport::one_shot:
      return kind == CollectiveKind::all_reduce;
    case Transport::nccl_symmetric:
      return kind != CollectiveKind::all_to_all;
    case Transport::nccl_copy_engine:
      return is_moved_only;
    case Transport::nccl:
    case Transport::pull:
    case Transport::push:
    case Transport::peer_kernel:
    case Transport::multicast:
      break;
  }
  return true;
}

std::vector<bool> buffers_in_windows(const Schedule& schedule) {
  std::vector<bool> in_window(schedule.buffers.size(), false);
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const Collective& collective) {
          if (needs_window(collective.transport))
            in_window[collective.input.buffer] = in_window[collective.output.buffer] = true;
        },
        [](const OneOf<Gemm, GroupedGemm, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Signal, Wait, Barrier, Delay> auto&) {});
  return in_window;
}

std::vector<BufferId> reached_on_peers(const Schedule& schedule, const Operation& operation) {
  std::vector<BufferId> reached;
  match(
      operation.work,
      [&](const Collective& collective) {
        if (!facts(collective).by_library) reached = {collective.input.buffer, collective.output.buffer};
      },
      [&](const GroupedExchange& exchange) {
        if (facts(exchange).by_library) return;
        reached = {exchange.input.buffer};
        if (exchange.input_log_sum_exp) reached.push_back(exchange.input_log_sum_exp->buffer);
      },
      [&](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait,
                      Barrier, Delay> auto&) {
        const Footprint touched = footprint(schedule, operation);
        for (const std::vector<Slice>* slices : {&touched.reads, &touched.writes})
          for (const Slice& slice : *slices)
            if (slice.place != 0) reached.push_back(slice.buffer);
      });
  return reached;
}

}  // namespace weft
