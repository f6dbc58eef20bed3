// What the configuration classes of the transformers library take for keys that a config.json leaves out, as far as the
// sizes here depend on them.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::scenarios {

/// 0 where the class has no number of its own: the key is needed (heads), as many as heads (kv_heads), or the hidden
/// size over the heads (head_dim).
struct ModelDefaults {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
};

/// Of a model_type; of an unknown one, all 0.
ModelDefaults defaults_of(std::string_view model_type);

/// Whether layers of the type are known to be what is simulated: attention, then a gated MLP or experts.
bool is_known(std::string_view model_type);

/// Whether layers of the type normalise what a block adds before it is added, so that no all-reduce can be fused with
/// the norm that follows the sum.
bool has_norm_before_sum(std::string_view model_type);

/// Why layers of the type are not what is simulated; empty for those that are, and for unknown ones.
std::string_view why_not_modelled(std::string_view model_type);

}  // namespace weft::scenarios
