// Networks that a profile shares: "gemm": {"kernels": {"networks": NAME}} stands for all that the profile NAME beside
// it has learned of GEMMs and of the library's choices (gemm_networks.hpp): 130 KB of weights, which are written once
// so.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace weft {

/// Puts these weights in their place, NAME before their sources; a profile with weights of its own stays as it is.
/// `directory`: of the profile. Throws InputError where there is no profile of that name there, or one that has none.
void take_shared_networks(nlohmann::json& profile, const std::filesystem::path& directory);
void take_shared_networks(nlohmann::ordered_json& profile, const std::filesystem::path& directory);

}  // namespace weft
