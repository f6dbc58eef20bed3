#include "models/machine/profile_checksum.hpp"

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text_file.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/profile_networks.hpp"

namespace weft {
namespace {

const nlohmann::json::json_pointer table_of_profile("/gemm/kernels/file");

}  // namespace

std::string profile_checksum(const std::filesystem::path& path) {
  nlohmann::json profile = read_json_file(path);
  try {
    take_shared_networks(profile, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
  std::string text = profile.dump();
  if (profile.contains(table_of_profile) && profile[table_of_profile].is_string())
    text += read_text_file(path.parent_path() / profile[table_of_profile].get<std::string>());
  return table_checksum(text);
}

}  // namespace weft
