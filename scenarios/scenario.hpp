// A scenario file: what a person wants to know, without writing cases.
//
//   {"format": "weft.scenario/1", "model": "models/llama-3.3-70b.config.json", "tokens": [1024, 2048], "gpus": 4,
//    "form": "all_reduce"}                     the pairs of one layer, tensor-parallel over 4 GPUs; without "form"
//    those
//                                              of both
//   {"format": "weft.scenario/1", "op": "gemm+reduce_scatter", "m": [4096, 8192], "n": 8192, "k": 3584, "gpus": 4}
//                                              one pair; "m" may be one number, and then "measured" may have the
//                                              times of its parts, as in a case
//
//   {"format": "weft.scenario/1", "op": "distributed_attention", "tokens": [65536], "heads": 64, "kv_heads": 8,
//    "head_dim": 128, "mask": "causal", "gpus": 8}
//   {"format": "weft.scenario/1", "op": "transformer_layer", "tokens": [4096], "hidden": 8192, "heads": 64,
//    "kv_heads": 8, "head_dim": 128, "intermediate": 28672, "gpus": 8}
//
// A model's question may have "sequences" that its tokens belong to and a "prefix" of earlier, cached tokens of each:
// "tokens": [64], "sequences": 64, "prefix": 4096 is a step of decoding. "decoding": 64, "decoding_prefix": 4096 are
// sequences that decode beside the others, with one of the tokens each.
//
// All may carry "name", "source" (where the numbers come from), "machine" (the profile for those who name none),
// "families", "chunks", "stages", "max_ctas" and "launch".
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/names.hpp"
#include "scenarios/model_config.hpp"
#include "scenarios/search.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// How the layers of a tensor-parallel model exchange: an all-reduce after each block, or a reduce-scatter after it and
/// an all-gather before the next.
enum class LayerForm { all_reduce, sequence_parallel };

struct Scenario {
  std::string name, source;
  std::string machine;  ///< empty: the caller must say
  int gpus = 1;
  SearchSpace space;
  std::optional<ModelConfig> model;  ///< empty: plain sizes
  std::vector<LayerForm> forms;      ///< of the model's layers; empty: plain sizes
  std::vector<std::int64_t> sizes;   ///< tokens of the model, or the values of m; ascending, each once
  /// Of a model's step, as LayerWorkload has them.
  std::int64_t sequences = 1, prefix = 0, decoding = 0, decoding_prefix = 0;
  std::vector<Workload> plain;  ///< one for each size, where there is no model
  Measured measured;            ///< of the only size's parts, where they are known
};

/// One pair of a layer (or the one that the file gives).
struct Question {
  std::string name;  ///< "attention output projection", with the form where both are asked about; plain: the op
  Workload workload;
  std::optional<LayerForm> form = {};  ///< empty: plain
};

/// For people: "sequence parallel".
std::string_view words_of(LayerForm form);

/// Throws InputError: unknown keys, a size that is impossible or cannot be split over the GPUs, a missing file. Paths
/// of models are relative to the scenario's folder.
Scenario scenario_from_json(const nlohmann::json& json, const std::filesystem::path& folder);
Scenario read_scenario(const std::filesystem::path& path);

/// An error about one of the scenario's workloads with the field as the file has it: "m" for "workload.m", "tokens"
/// where the rows are those of a model.
InputError as_written(const InputError& error, const Scenario& scenario);

/// The pairs at the size `scenario.sizes[index]`, in the order of the layer, with m, n, k as the GEMM kernel sees them.
/// For a model with hidden size h, `a` = heads x head_dim, `g` = kv_heads x head_dim, MLP width i, over W GPUs:
///   all_reduce         gemm+all_reduce [tokens, h, a/W] and [tokens, h, i/W]
///   sequence_parallel  all_gather+gemm [tokens, (a + 2 g)/W, h], gemm+reduce_scatter [tokens, h, a/W],
///                      all_gather+gemm [tokens, 2 i/W, h],       gemm+reduce_scatter [tokens, h, i/W]
/// Keys and values are replicated on GPUs beyond their number: g/W is then head_dim. A model with experts has no pairs
/// in its MLP. With latent attention a is heads x value_dim, and what is gathered goes through one GEMM down to the
/// ranks, which every GPU does whole.
std::vector<Question> questions(const Scenario& scenario, std::size_t index);

/// The whole layer at that size in each form, for what a pair's gain means in it; none for plain sizes, nor of a model
/// whose layers are not simulated (latent attention).
std::vector<LayerWorkload> layers(const Scenario& scenario, std::size_t index);
LayerForm form_of(const LayerWorkload& layer);

/// The pairs of a layer, which it may overlap inside, as those of a model's in its form. Throws InputError where they
/// cannot be split over so many GPUs.
std::vector<Question> pairs_of(const LayerWorkload& layer, int gpus);

/// Throws InputError where the pairs of some size cannot be split over the scenario's GPUs, or are impossible.
void check_questions(const Scenario& scenario);

}  // namespace weft::scenarios

namespace weft {

template <>
struct NamesOf<scenarios::LayerForm> {
  using enum scenarios::LayerForm;
  static constexpr std::array names{std::pair{all_reduce, std::string_view{"all_reduce"}},
                                    std::pair{sequence_parallel, std::string_view{"sequence_parallel"}}};
};

}  // namespace weft
