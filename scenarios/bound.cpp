#include "scenarios/bound.hpp"

#include <algorithm>

#include "scenarios/expert_rows.hpp"
#include "scenarios/families/attention_shards.hpp"
#include "scenarios/parts.hpp"
#include "scenarios/sequence_groups.hpp"
#include "scenarios/transfer_bound.hpp"

namespace weft::scenarios {
namespace {

constexpr std::int64_t finest_tile = 64;

double as_double(std::int64_t value) { return static_cast<double>(value); }

double tensor_us(Flops flops, DataType dtype, const Machine& machine) {
  return flops / machine.gpu.flops_per_us(dtype);
}

/// In the steady state, what the last iteration left in the L2 need not come from HBM again.
double hbm_us(Bytes bytes, const Machine& machine) {
  return as_double(std::max<Bytes>(0, bytes - machine.gpu.l2_bytes)) / bytes_per_us(machine.gpu.hbm_GBps);
}

/// As many bytes as others stream while our kernel of few queries, which is faster, reads so many of cached keys and
/// values.
Bytes as_streamed(Bytes cached_bytes, const Machine& machine) {
  const auto& own = machine.own_attention;
  const double faster = own && own->decode ? std::max(1.0, own->decode->hbm_share) : 1;
  return static_cast<Bytes>(as_double(cached_bytes) / faster);
}

template <class WithGemm>
double compute_us(const WithGemm& gemm, std::int64_t m, const Machine& machine) {
  const auto weights =
      static_cast<Bytes>(as_double(gemm.n * gemm.k) * stored_weight_bytes(gemm.weight_bits, gemm.dtype));
  const Bytes operands = m * gemm.k * bytes_of(gemm.dtype) + weights + m * gemm.n * bytes_of(DataType::bf16);
  return std::max(tensor_us(MatrixSize{m, gemm.n, gemm.k}.flops(), gemm.dtype, machine), hbm_us(operands, machine));
}

double shorter(double bound_us, const std::optional<double>& measured_us) {
  return std::min(bound_us, measured_us.value_or(bound_us));
}

/// Of the pair's collective, as transfer_bound_us().
double transfer_us_of(const PairWorkload& pair, int gpus, const Machine& machine) {
  const Bytes bytes = parts_of(pair)->collective.bytes;
  if (pair.imbalance == 1) return transfer_bound_us(machine.fabric, collective_of(pair.op), bytes, gpus);
  double longest_us = 0;
  for (int group = 1; group < gpus; ++group)
    longest_us = std::max(longest_us, uneven_transfer_us(machine.fabric, bytes, pair.imbalance, group, gpus));
  return longest_us;
}

/// In and out of the GPU with most rows.
double busiest_transfer_us(const PairWorkload& pair, int gpus, const Machine& machine) {
  if (pair.imbalance == 1) return transfer_us_of(pair, gpus, machine);  // the last wave is that of all GPUs
  return uneven_transfer_us(machine.fabric, parts_of(pair)->collective.bytes, pair.imbalance, 1, gpus);
}

double pair_us(const PairWorkload& pair, int gpus, const Machine& machine, const Measured& measured) {
  const auto m = static_cast<std::int64_t>(as_double(pair.m) * pair.imbalance);  // rows of the busiest GPU
  const bool transfers_input = collective_comes_first(pair.op);
  const double compute = shorter(compute_us(pair, m, machine), measured.gemm_us);
  const double transfer = shorter(transfer_us_of(pair, gpus, machine), measured.collective_us);
  const double of_busiest = shorter(busiest_transfer_us(pair, gpus, machine), measured.collective_us);

  const std::int64_t tile = std::min(m, finest_tile) * std::min(pair.n, finest_tile);
  const double tile_flops = 2 * as_double(tile) * as_double(pair.k);
  const double wave = std::min(compute, tile_flops / machine.gpu.flops_per_us_of_sm(pair.dtype));
  if (transfers_input) return std::max(compute, transfer + wave);
  const double share_of_last_wave =
      std::min(1.0, machine.gpu.sms() * as_double(tile) / as_double(m) / as_double(pair.n));
  return std::max(compute + share_of_last_wave * of_busiest, wave + transfer);
}

/// Experts whose weights are read; 1 of a dense layer.
double busy_experts(const LayerWorkload& layer) {
  if (layer.experts == 0) return 1;
  const std::vector<std::int64_t> rows = expert_rows(layer.tokens, layer);
  return as_double(std::count_if(rows.begin(), rows.end(), [](std::int64_t count) { return count > 0; }));
}

double layer_us(const LayerWorkload& layer, int gpus, const Machine& machine, const Measured& measured) {
  const double tokens = as_double(layer.tokens), hidden = as_double(layer.hidden);
  const double query_columns = as_double(layer.heads * layer.head_dim);
  const double attention_weights =
      hidden * (2 * query_columns + 2 * as_double(layer.kv_heads * layer.head_dim));  // q and o, k and v
  const double mlp_weights = 3 * hidden * as_double(layer.intermediate);              // gate, up, down
  const double shared_weights = 3 * hidden * as_double(layer.shared_intermediate);
  const double active = layer.experts > 0 ? as_double(layer.experts_per_token) : 1;
  Flops bf16_flops =
      2 * tokens * (attention_weights + active * mlp_weights + shared_weights) / machine.gpu.speedup(layer.dtype);
  // Causal attention: half of the two products of rows x rows x head_dim for each head and sequence, and all of those
  // with earlier tokens, in bf16.
  for (const SequenceGroup& group : sequence_groups(layer))
    bf16_flops += 2 * as_double(group.rows.count) * as_double(group.rows_of_each() + 2 * group.prefix) * query_columns;
  const double bytes_of_expert =
      stored_weight_bytes(layer.experts > 0 ? layer.expert_bits : layer.weight_bits, layer.dtype);
  const auto weight_bytes =
      static_cast<Bytes>(((attention_weights + shared_weights) * stored_weight_bytes(layer.weight_bits, layer.dtype) +
                          busy_experts(layer) * mlp_weights * bytes_of_expert) /
                         gpus);
  const std::int64_t kv_heads = std::max<std::int64_t>(layer.kv_heads / gpus, 1);
  const Bytes cached_bytes = cached_tokens(layer) * 2 * kv_heads * layer.head_dim * bytes_of(DataType::bf16);
  const auto one_us = [&](CollectiveKind kind, DataType dtype) {
    return transfer_bound_us(machine.fabric, kind, layer.tokens * layer.hidden * bytes_of(dtype), gpus);
  };
  const double transfer_us = layer.sequence_parallel ? one_us(CollectiveKind::reduce_scatter, DataType::bf16) +
                                                           one_us(CollectiveKind::all_gather, layer.dtype)
                                                     : one_us(CollectiveKind::all_reduce, DataType::bf16);
  return std::max({tensor_us(bf16_flops / gpus, DataType::bf16, machine),
                   hbm_us(weight_bytes + as_streamed(cached_bytes, machine), machine),
                   shorter(2 * transfer_us, measured.collective_us)});
}

/// Each rank has the same number of pairs of query and key. Whatever travels, a pair of ranks brings either its keys
/// and values or its results into the rank that has the queries.
double attention_us(const AttentionWorkload& attention, int gpus, const Machine& machine, const Measured& measured) {
  const families::AttentionShards shards(attention, gpus);
  const double seen =
      as_double(attention.tokens) *
      (attention.mask == AttentionMask::full ? as_double(attention.tokens) : as_double(attention.tokens + 1) / 2);
  const Flops flops = 4 * seen * as_double(attention.heads * attention.head_dim) / gpus;
  double busiest = 0;
  for (int rank = 0; rank < gpus; ++rank) {
    double bytes = 0;
    for (int peer = 0; peer < gpus; ++peer)
      if (peer != rank)
        bytes += as_double(bytes_of(DataType::bf16) * attention.head_dim) *
                 std::min(as_double(shards.needed_keys(peer, rank).count * 2 * attention.kv_heads),
                          as_double(shards.needed_queries(rank, peer).count * attention.heads));
    busiest = std::max(busiest, bytes);
  }
  const double into_one_us = busiest / bytes_per_us(cut_peak_GBps(machine.fabric, 1, gpus));
  return std::max(tensor_us(flops, DataType::bf16, machine), shorter(into_one_us, measured.collective_us));
}

double attention_kernel_us(const AttentionKernelWorkload& attention, const Machine& machine) {
  const double own = as_double(attention.tokens / attention.sequences);
  const double seen = as_double(attention.tokens) * (as_double(attention.prefix) + (own + 1) / 2);
  const Flops flops = 4 * seen * as_double(attention.heads * attention.head_dim);
  const Bytes cached_bytes =
      bytes_of(DataType::bf16) * attention.sequences * attention.prefix * 2 * attention.kv_heads * attention.head_dim;
  return std::max(tensor_us(flops, DataType::bf16, machine), hbm_us(as_streamed(cached_bytes, machine), machine));
}

/// Matrices of its result's size that it touches: a norm what it adds, the residual and its result, SwiGLU both halves
/// of what it reads and its result, rotary embedding the one that it changes in place.
std::int64_t matrices_of(RowKernel kernel) { return kernel == RowKernel::rotary ? 1 : 3; }

/// An all-reduce with the norm in it also writes the norm on every GPU, and its sums cross the links.
double row_kernel_us(const RowKernelWorkload& work, int gpus, const Machine& machine) {
  const Bytes bytes = work.m * work.n * bytes_of(DataType::bf16);
  if (work.kernel != RowKernel::all_reduce_norm) return hbm_us(matrices_of(work.kernel) * bytes, machine);
  return std::max(hbm_us(bytes, machine), transfer_bound_us(machine.fabric, CollectiveKind::all_reduce, bytes, gpus));
}

}  // namespace

double bound_us(const Workload& workload, int gpus, const Machine& machine, const Measured& measured) {
  return std::visit(
      Overloaded{[&](const GemmWorkload& gemm) { return compute_us(gemm, gemm.m, machine); },
                 [&](const CollectiveWorkload& collective) {
                   return shorter(transfer_bound_us(machine.fabric, collective.kind, collective.bytes, gpus),
                                  measured.collective_us);
                 },
                 [&](const CopyWorkload& copy) { return pull_bound_us(machine.fabric, copy, gpus); },
                 [&](const PairWorkload& pair) { return pair_us(pair, gpus, machine, measured); },
                 [&](const ConcurrentPair& pair) {
                   return std::max(
                       shorter(compute_us(pair, pair.m, machine), measured.gemm_us),
                       shorter(transfer_bound_us(machine.fabric, CollectiveKind::all_reduce, pair.bytes, gpus),
                               measured.collective_us));
                 },
                 [&](const LayerWorkload& layer) { return layer_us(layer, gpus, machine, measured); },
                 [&](const AttentionWorkload& attention) { return attention_us(attention, gpus, machine, measured); },
                 [&](const AttentionKernelWorkload& attention) { return attention_kernel_us(attention, machine); },
                 [&](const RowKernelWorkload& work) { return row_kernel_us(work, gpus, machine); }},
      workload);
}

}  // namespace weft::scenarios
