#include "models/schedule/amounts.hpp"

#include <numeric>

namespace weft {

bool has_no_rows(const Work& work, int rank, int gpus) {
  const auto is_empty = [&](const Slice& slice) { return row_count(slice.rows, rank, gpus) == 0; };
  return match(
      work, [&](const Gemm& gemm) { return is_empty(gemm.a); }, [&](const Copy& copy) { return is_empty(copy.source); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) { return false; });
}

double bytes_of_all(const std::vector<Slice>& slices, const Schedule& schedule) {
  double bytes = 0;
  for (const Slice& slice : slices) bytes += static_cast<double>(bytes_of(slice, schedule));
  return bytes;
}

Bytes pair_bytes(const GroupedExchange& exchange, int source, int destination, const Schedule& schedule) {
  const auto type_of = [&](const Slice& slice) {
    return schedule.buffers[static_cast<std::size_t>(slice.buffer)].dtype;
  };
  Bytes row_bytes = exchange.input.columns * bytes_of(type_of(exchange.input));
  if (const auto& sums = exchange.input_log_sum_exp) row_bytes += sums->columns * bytes_of(type_of(*sums));
  return exchange.rows[static_cast<std::size_t>(source)][static_cast<std::size_t>(destination)].count * row_bytes;
}

PortBytes busiest_port(const GroupedExchange& exchange, const Schedule& schedule) {
  PortBytes busiest;
  for (int rank = 0; rank < schedule.gpus; ++rank) {
    PortBytes port;
    for (int peer = 0; peer < schedule.gpus; ++peer) {
      if (peer == rank) continue;
      port.out += static_cast<double>(pair_bytes(exchange, rank, peer, schedule));
      port.in += static_cast<double>(pair_bytes(exchange, peer, rank, schedule));
    }
    if (port.most() > busiest.most()) busiest = port;
  }
  return busiest;
}

Bytes equal_all_to_all_bytes(const GroupedExchange& exchange, const Schedule& schedule) {
  const double once = busiest_port(exchange, schedule).most();
  return schedule.gpus > 1 ? static_cast<Bytes>(once * schedule.gpus / (schedule.gpus - 1)) : 0;
}

std::int64_t area(const AttentionPart& part) {
  return part.mask == AttentionMask::full ? part.queries * part.keys : part.queries * (part.queries + 1) / 2;
}

std::int64_t GroupedSize::rows() const {
  return std::accumulate(group_rows.begin(), group_rows.end(), std::int64_t{0});
}

GroupedSize size_of(const GroupedGemm& gemm, int gpus) {
  return {gemm.group_rows, row_count(gemm.b.rows, gpus) / static_cast<std::int64_t>(gemm.group_rows.size()),
          gemm.a.columns};
}

Flops flops_of(const Attention& attention, std::int64_t tokens) {
  const auto queries = static_cast<double>(tokens), own = queries / attention.sequences;
  return 4 * queries * (static_cast<double>(earlier_tokens(attention)) + own / 2) * attention.heads *
         attention.head_dim;
}

Flops flops_of(const PartialAttention& attention, int rank) {
  double seen = 0;
  for (const AttentionPart& part : attention.parts[static_cast<std::size_t>(rank)])
    seen += static_cast<double>(area(part));
  return 4.0 * seen * attention.heads * attention.head_dim;
}

Flops most_flops_of(const PartialAttention& attention) {
  Flops most = 0;
  for (int rank = 0; rank < static_cast<int>(attention.parts.size()); ++rank)
    most = std::max(most, flops_of(attention, rank));
  return most;
}

Flops tensor_flops(const Work& work, int gpus) {
  return match(
      work, [&](const Gemm& gemm) { return size_of(gemm, gpus).flops(); },
      [&](const GroupedGemm& gemm) { return size_of(gemm, gpus).flops(); },
      [&](const Attention& attention) { return flops_of(attention, row_count(attention.output.rows, gpus)); },
      [](const PartialAttention& attention) { return most_flops_of(attention); },
      [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Signal, Wait, Barrier,
                     Delay> auto&) { return Flops{0}; });
}

}  // namespace weft
