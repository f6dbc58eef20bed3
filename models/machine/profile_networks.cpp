#include "models/machine/profile_networks.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/machine/gemm_networks.hpp"

namespace weft {
namespace {

constexpr const char* networks = "networks";
const std::string name_of_owner = "gemm.kernels.networks";

std::vector<std::string> keys_of_weights() {
  std::vector<std::string> keys{"weights"};
  const MeasuredGemmNetworks measured;
  for_each_network(measured, [&](const char* key, const NetworkWeights&, const NetworkSize&) { keys.push_back(key); });
  return keys;
}

/// Null where it has none, or is no profile, which its reader will say.
auto* kernels_of(auto& profile) {
  decltype(&profile) at = &profile;
  for (const char* const key : {"gemm", "kernels"}) {
    if (!at->is_object() || !at->contains(key)) return static_cast<decltype(at)>(nullptr);
    at = &(*at)[key];
  }
  return at->is_object() && at->contains(networks) ? at : nullptr;
}

nlohmann::json read_owner(const std::string& name, const std::filesystem::path& directory) {
  const std::filesystem::path file = name + ".json";
  if (name.empty() || file.has_parent_path() || !exists(directory / file))
    throw InputError(name_of_owner, "expected the name of a profile in the same folder, got " + shown_name(name));
  try {
    return read_json_file(directory / file);
  } catch (const InputError& error) {
    throw InputError(name_of_owner, error.what());
  }
}

void take(auto& profile, const std::filesystem::path& directory) {
  auto* const kernels = kernels_of(profile);
  if (kernels == nullptr) return;
  if (!(*kernels)[networks].is_string()) throw InputError(name_of_owner, "expected a string");
  const auto name = (*kernels)[networks].template get<std::string>();
  const nlohmann::json owner = read_owner(name, directory);
  const nlohmann::json of_owner = owner.value(nlohmann::json::json_pointer("/gemm/kernels"), nlohmann::json::object());
  kernels->erase(networks);
  bool has_any = false;
  for (const std::string& key : keys_of_weights()) {
    if (kernels->contains(key))
      throw InputError("gemm.kernels." + key, "expected no weights beside networks of another profile");
    if (!of_owner.contains(key)) continue;
    (*kernels)[key] = of_owner[key];
    (*kernels)[key]["source"] = name + ": " + of_owner[key].value("source", "");
    has_any = true;
  }
  if (!has_any) throw InputError(name_of_owner, "expected a profile with weights of its own, got " + shown_name(name));
}

}  // namespace

void take_shared_networks(nlohmann::json& profile, const std::filesystem::path& directory) { take(profile, directory); }

void take_shared_networks(nlohmann::ordered_json& profile, const std::filesystem::path& directory) {
  take(profile, directory);
}

}  // namespace weft
