// token_split, as TokenWeave does it: a prefix of the sequence (split 1) and the rest (split 2) take turns, so that one
// is computed while the partial sums of the other are reduced and normed.
//
//   s0: attention 1          | attention 2      | MLP 1            | MLP 2
//   s1: F of the MLP 2 before | F of attention 1 | F of attention 2 | F of MLP 1
//
// F = all_reduce | add + norm, or with fused_norm both in one kernel (AllReduceNorm) of comm_ctas CTAs; then each GPU
// norms its share of a split's rows, and the last rows are padded to a multiple of the GPUs.
//
// Each step begins with both streams at one point and ends when both are done. Attention 2 reads the keys and values of
// split 1. The first F of an iteration takes what the last layer of the iteration before has left.
#include <optional>

#include "models/base/input_error.hpp"
#include "models/cost/all_reduce_norm_model.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/layer_program.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/token_split_search.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"
#include "scenarios/sequence_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// The estimate that ranks the candidates knows nothing of the reductions beside the GEMMs.
constexpr std::size_t splits_worth_simulating = 4;

const LayerWorkload& split_layer_of(const Case& request) {
  const LayerWorkload& layer = layer_of(request);
  if (request.gpus < 2)
    throw InputError("gpus", "expected at least 2 for a reduction to overlap, got " + std::to_string(request.gpus));
  if (layer.sequence_parallel)
    throw InputError("workload.sequence_parallel", "expected false: token_split overlaps all-reduces");
  check_tensor_parallel(layer, request.gpus);
  return layer;
}

std::int64_t checked_first(std::int64_t first, const LayerWorkload& layer) {
  if (first >= layer.tokens)
    throw InputError("schedule.first", "expected fewer than the " + std::to_string(layer.tokens) + " tokens, got " +
                                           std::to_string(first));
  if (!leaves_sequences_whole(layer, first))
    throw InputError("schedule.first",
                     "expected whole sequences, " +
                         (layer.decoding > 0 ? "which begin at row " + std::to_string(layer.decoding) + ", " : "") +
                         "a multiple of " + std::to_string(sequence_groups(layer).back().rows_of_each()) +
                         " tokens, got " + std::to_string(first));
  return first;
}

int checked_ctas(int ctas, const std::string& field, const Machine& machine) {
  if (ctas > machine.gpu.sms())
    throw InputError("schedule." + field, "expected at most the " + std::to_string(machine.gpu.sms()) + " SMs of " +
                                              machine.name + ", got " + std::to_string(ctas));
  return ctas;
}

/// Empty where F is a collective and a norm.
std::optional<FusedReduction> fused_reduction(const TokenSplit& split, DataType dtype, const Machine& machine,
                                              int gpus) {
  if (!split.fused_norm) return std::nullopt;
  if (dtype != DataType::bf16)
    throw InputError("schedule.fused_norm", "expected false: the fused kernel stores bf16, which GEMMs of " +
                                                std::string(name_of(dtype)) + " cannot read");
  const FusedReduction fused{
      .transport = all_reduce_norm_transport(machine),
      .attention_ctas = checked_ctas(split.comm_ctas, "comm_ctas", machine),
      .mlp_ctas = checked_ctas(split.mlp_comm_ctas.value_or(split.comm_ctas), "mlp_comm_ctas", machine)};
  if (*split.first % gpus != 0)
    throw InputError("schedule.first", "expected a multiple of gpus = " + std::to_string(gpus) +
                                           ", since each GPU norms its share of the rows, got " +
                                           std::to_string(*split.first));
  try {
    time_all_reduce_norm(machine, fused.transport, fused.attention_ctas, gpus, 1);
  } catch (const InputError& error) {
    throw InputError("schedule.fused_norm", error.expected());
  }
  return fused;
}

}  // namespace

std::vector<TokenSplit> best_token_splits(const Case& request, const Machine& machine) {
  const LayerWorkload& layer = split_layer_of(request);
  auto split = std::get<TokenSplit>(request.schedule.family);
  std::vector<TokenSplit> best;
  for (const std::int64_t first :
       first_candidates(layer, request.gpus, split.fused_norm, machine, splits_worth_simulating)) {
    split.first = first;
    best.push_back(split);
  }
  return best;
}

namespace {

struct TokenSplitRules {
  static constexpr std::string_view name = "token_split";
  static constexpr std::string_view meaning = "two splits of the tokens, one computed while the other is reduced";
  static std::string in_words(const TokenSplit& choice) {
    std::string words = ", first " + (choice.first ? std::to_string(*choice.first) : "searched") + ", comm_ctas " +
                        std::to_string(choice.comm_ctas);
    if (choice.mlp_comm_ctas) words += ", mlp_comm_ctas " + std::to_string(*choice.mlp_comm_ctas);
    if (choice.fused_norm) words += ", fused norm";
    return words;
  }
  /// `first` is filled in. Multicast is used where the switch of `machine` has it.
  static Schedule build(const Case& request, const Machine& machine);
  static bool is_open(const TokenSplit& choice) { return !choice.first; }
  static std::vector<TokenSplit> searched(const Case& request, const Machine& machine) {
    return best_token_splits(request, machine);
  }
  static bool runs_nccl(const TokenSplit& choice, const Workload&) { return !choice.fused_norm; }

  /// Splits are searched when the schedule is built.
  static std::vector<TokenSplit> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    const auto* layer = std::get_if<LayerWorkload>(&workload);
    if (layer == nullptr || gpus < 2 || layer->tokens < 2 || layer->sequence_parallel) return {};
    std::vector<TokenSplit> splits{{}};
    if (whole_sequences_up_to(*layer, layer->tokens - 1, gpus) == 0 || layer->dtype != DataType::bf16)
      return splits;  // no fused norm
    for (const int ctas : space.fused_norm_ctas) {
      TokenSplit& split = splits.emplace_back();
      split.fused_norm = true;
      split.comm_ctas = ctas;
    }
    return splits;
  }
};

Schedule TokenSplitRules::build(const Case& request, const Machine& machine) {
  const LayerWorkload& workload = split_layer_of(request);
  const auto& split = std::get<TokenSplit>(request.schedule.family);
  const std::int64_t first = checked_first(*split.first, workload);
  const TokenRange one{{0, first}, " of split 1"}, two{{first, workload.tokens - first}, " of split 2"};

  LayerProgram layer(request, workload, fused_reduction(split, workload.dtype, machine, request.gpus));
  Program& program = layer.program();
  const StreamId s1 = program.add_stream("s1", highest_priority);
  const auto step = [&](const auto& reduce, const auto& compute) {
    program.wait(s1, main_stream);
    reduce();
    compute();
    program.wait(main_stream, s1);
  };
  for (int index = 0; index < layers_per_iteration; ++index) {
    step([&] { layer.add_mlp_reduction(s1, two); },
         [&] {
           layer.begin_layer(index);
           layer.add_attention(one);
         });
    step([&] { layer.add_attention_reduction(s1, one); }, [&] { layer.add_attention(two); });
    step([&] { layer.add_attention_reduction(s1, two); }, [&] { layer.add_mlp(one); });
    step([&] { layer.add_mlp_reduction(s1, one); }, [&] { layer.add_mlp(two); });
  }
  return std::move(layer).finish();
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::TokenSplit::rules =
    FamilyRules::of<TokenSplit, families::TokenSplitRules>();
