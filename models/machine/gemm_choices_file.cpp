#include "models/machine/gemm_choices_file.hpp"

#include <xxhash.h>

#include <array>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/gemm_choices_text.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Smaller texts are read about as fast as their compiled forms.
constexpr std::size_t worth_compiling = 256 << 10;

constexpr auto file_of_compiled = ".gemm_kernels.bin";

/// A file's bytes, for as long as this or a copy lives.
class MappedFile {
 public:
  /// Of a file that cannot be read there are none, as of an empty one.
  explicit MappedFile(const fs::path& path) {
    using namespace boost::interprocess;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    try {
      region_ = std::make_shared<mapped_region>(file_mapping(path.c_str(), read_only), read_only);
    } catch (const interprocess_exception&) {
    }
  }

  std::string_view bytes() const {
    return region_ ? std::string_view(static_cast<const char*>(region_->get_address()), region_->get_size())
                   : std::string_view();
  }
  std::shared_ptr<const void> owner() const { return region_; }

 private:
  std::shared_ptr<const boost::interprocess::mapped_region> region_;
};

/// A compiled file is this, the kernels and the shapes of a GemmTable, in the byte order of the machine.
struct Header {
  std::array<char, 8> format{'w', 'e', 'f', 't', 'g', 'k', '/', '1'};
  std::uint64_t text_bytes = 0, text_hash = 0;  ///< which text it was made from
  std::uint64_t kernels = 0, shapes = 0;
  bool operator==(const Header&) const = default;
};
static_assert(std::has_unique_object_representations_v<Header> &&
              std::has_unique_object_representations_v<GemmTable::Kernel> &&
              std::has_unique_object_representations_v<GemmTable::Shape>);

std::uint64_t hash_of(std::string_view text) { return XXH64(text.data(), text.size(), 0); }

template <class Value>
std::string_view bytes_of(const Value* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(Value)};
}

std::string compiled(const GemmChoices& choices, std::string_view text) {
  const GemmTable& table = choices.table();
  Header header;
  header.text_bytes = text.size(), header.text_hash = hash_of(text);
  header.kernels = table.kernels.size(), header.shapes = table.shapes.size();
  std::string bytes(bytes_of(&header, 1));
  bytes += bytes_of(table.kernels.data(), table.kernels.size());
  bytes += bytes_of(table.shapes.data(), table.shapes.size());
  return bytes;
}

/// The answers in a compiled file, where it is one and was made from this text.
std::optional<GemmChoices> mapped(const fs::path& path, std::string_view text, std::uint64_t text_hash) {
  const MappedFile file(path);
  Header header, expected;
  if (file.bytes().size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.bytes().data(), sizeof header);
  expected.text_bytes = text.size(), expected.text_hash = text_hash;
  expected.kernels = header.kernels, expected.shapes = header.shapes;
  const std::size_t kernel_bytes = header.kernels * sizeof(GemmTable::Kernel);
  if (header != expected ||
      file.bytes().size() != sizeof header + kernel_bytes + header.shapes * sizeof(GemmTable::Shape))
    return std::nullopt;
  const char* const kernels = file.bytes().data() + sizeof header;
  return GemmChoices({.kernels = {reinterpret_cast<const GemmTable::Kernel*>(kernels), header.kernels},
                      .shapes = {reinterpret_cast<const GemmTable::Shape*>(kernels + kernel_bytes), header.shapes}},
                     file.owner());
}

/// share/weft/machines beside the folder of the running program: there the build and the installation put compiled
/// tables.
fs::path folder_of_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share/weft/machines";
}

/// Empty where the environment names none.
fs::path cache_folder() {
  const auto folder_in = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value != nullptr && fs::path(value).is_absolute() ? value : "";
  };
  if (const fs::path cache = folder_in("XDG_CACHE_HOME"); !cache.empty()) return cache / "weft";
  const fs::path home = folder_in("HOME");
  return home.empty() ? home : home / ".cache/weft";
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr};
}

/// Nothing depends on it: without the file the next start takes longer.
void try_to_write(const fs::path& path, std::string_view bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  try {
    write_text_file(path, bytes);
  } catch (const InputError&) {
  }
}

GemmChoices choices_in(std::string_view text, const fs::path& path) {
  try {
    return gemm_choices_from_text(text);
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

MappedFile text_of(const fs::path& path) {
  MappedFile text(path);
  if (text.bytes().empty()) throw InputError(path.string(), "expected a readable file with the GEMM library's kernels");
  return text;
}

}  // namespace

GemmChoices read_gemm_choices(const fs::path& path) {
  const MappedFile file = text_of(path);
  const std::string_view text = file.bytes();
  if (text.size() < worth_compiling) return choices_in(text, path);
  const std::uint64_t hash = hash_of(text);
  const fs::path beside = fs::path(path).replace_extension(".bin"), cache = cache_folder();
  const fs::path cached = cache.empty() ? cache : cache / (hexadecimal(hash) + file_of_compiled);
  for (const fs::path& place : {beside, folder_of_program() / beside.filename(), cached})
    if (auto choices = mapped(place, text, hash)) return *std::move(choices);
  GemmChoices choices = choices_in(text, path);
  if (!cached.empty()) try_to_write(cached, compiled(choices, text));
  return choices;
}

void compile_gemm_choices(const fs::path& text, const fs::path& to) {
  const MappedFile file = text_of(text);
  write_text_file(to, compiled(choices_in(file.bytes(), text), file.bytes()));
}

}  // namespace weft
