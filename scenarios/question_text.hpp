// What `weft explore` is asked: a scenario, a model's config.json or its folder, or a few words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace weft {
struct Machine;
}

namespace weft::scenarios {

/// Of layers, instead of the scenario's: sequences that the tokens belong to and cached tokens of each, and sequences
/// that decode beside them and cached tokens of each. A model that is asked about with sequences and without sizes
/// decodes: each sequence has one new token.
struct AskedSequences {
  std::optional<std::int64_t> sequences = {}, prefix = {}, decoding = {}, decoding_prefix = {};
};

/// What the question leaves open, or what is asked instead.
struct QuestionOptions {
  std::optional<int> gpus = {};          ///< instead of the scenario's; else all of the machine's
  std::vector<std::int64_t> sizes = {};  ///< tokens, or rows, instead of the scenario's; else `usual_tokens`
  std::optional<int> machine_gpus = {};  ///< empty: no machine was named
  AskedSequences step = {};
};

/// Of a question that names none.
inline const std::vector<std::int64_t> usual_tokens{512, 1024, 2048, 4096, 8192, 16384};

/// Is what the field says said by the options, and not by the question?
bool is_given(const std::string& field, const QuestionOptions& options);

/// `what` is the path of a scenario, of a config.json or of its folder; or words, the keys of a scenario of plain
/// sizes: "m=4096,8192 n=8192 k=3584 op=gemm+all_reduce". A model is asked about in both forms. Throws InputError that
/// names the file and the field, a field alone that the options give, or the word; field "--machine" where neither a
/// machine nor GPUs are known.
Scenario read_question(const std::string& what, const QuestionOptions& options);

/// With bf16 GEMMs where the model's are fp8 and the machine's GPUs have none, which is said in `ignored`.
Scenario as_machine_computes(Scenario scenario, const Machine& machine);

}  // namespace weft::scenarios
