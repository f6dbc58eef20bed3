#include "models/machine/profile_checksum.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/gemm_choices_file.hpp"

namespace weft {
namespace {

const nlohmann::json::json_pointer table_of_profile("/gemm/kernels/file");

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path.string(), "expected a readable file with the GEMM library's kernels");
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace

std::string profile_checksum(const std::filesystem::path& path) {
  const nlohmann::json profile = read_json_file(path);
  std::string text = profile.dump();
  if (profile.contains(table_of_profile) && profile[table_of_profile].is_string())
    text += text_of(path.parent_path() / profile[table_of_profile].get<std::string>());
  return table_checksum(text);
}

}  // namespace weft
