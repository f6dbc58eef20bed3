#include "models/machine/gemm_choices_file.hpp"

#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "models/base/gzip_file.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "models/machine/program_file.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Smaller texts are read about as fast as their compiled forms.
constexpr std::size_t worth_compiling = 256 << 10;

constexpr auto file_of_compiled = ".gemm_kernels.bin";

/// A file's bytes, for as long as this or a copy lives.
class MappedFile {
 public:
  /// Of a file that cannot be read there are none, as of an empty one. `how`: MAP_POPULATE where all of it will be
  /// read.
  explicit MappedFile(const fs::path& path, boost::interprocess::map_options_t how) {
    using namespace boost::interprocess;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    try {
      region_ = std::make_shared<mapped_region>(file_mapping(path.c_str(), read_only), read_only, 0, 0, nullptr, how);
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
  std::array<char, 8> format{'w', 'e', 'f', 't', 'g', 'k', '/', '4'};
  std::uint64_t text_bytes = 0, text_hash = 0;  ///< which text it was made from
  std::uint64_t kernels = 0, shapes = 0;
  std::uint64_t kernels_hash = 0;  ///< of the kernels' bytes (XXH3); each shape holds its own check
  bool operator==(const Header&) const = default;
};
static_assert(std::has_unique_object_representations_v<Header> &&
              std::has_unique_object_representations_v<GemmTable::Kernel> &&
              std::has_unique_object_representations_v<GemmTable::Shape>);

std::uint64_t hash_of(std::string_view text) { return XXH64(text.data(), text.size(), 0); }

std::uint64_t hash_of_kernels(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

template <class Value>
std::string_view bytes_of(const Value* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(Value)};
}

std::string compiled(const GemmChoices& choices, std::string_view text) {
  const GemmTable& table = choices.table();
  const std::string_view kernels = bytes_of(table.kernels.data(), table.kernels.size());
  Header header;
  header.text_bytes = text.size(), header.text_hash = hash_of(text);
  header.kernels = table.kernels.size(), header.shapes = table.shapes.size();
  header.kernels_hash = hash_of_kernels(kernels);
  std::string bytes(bytes_of(&header, 1));
  bytes += kernels;
  bytes += bytes_of(table.shapes.data(), table.shapes.size());
  return bytes;
}

/// The table behind the header of a compiled file that was made from this text; none where the file is anything else,
/// or its header or kernels are damaged: a changed byte would be a wrong kernel without a word.
std::optional<GemmTable> table_in(std::string_view bytes, std::string_view text, std::uint64_t text_hash) {
  Header header, expected;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  if (std::max(header.kernels, header.shapes) > bytes.size()) return std::nullopt;  // so products cannot overflow
  const std::size_t kernel_bytes = header.kernels * sizeof(GemmTable::Kernel);
  if (bytes.size() != kernel_bytes + header.shapes * sizeof(GemmTable::Shape)) return std::nullopt;
  expected.text_bytes = text.size(), expected.text_hash = text_hash;
  expected.kernels = header.kernels, expected.shapes = header.shapes;
  expected.kernels_hash = hash_of_kernels(bytes.substr(0, kernel_bytes));
  if (header != expected) return std::nullopt;
  return GemmTable{.kernels = {reinterpret_cast<const GemmTable::Kernel*>(bytes.data()), header.kernels},
                   .shapes = {reinterpret_cast<const GemmTable::Shape*>(bytes.data() + kernel_bytes), header.shapes}};
}

std::optional<GemmChoices> mapped(const fs::path& path, std::string_view text, std::uint64_t text_hash) {
  const MappedFile file(path, boost::interprocess::default_map_options);
  const std::optional<GemmTable> table = table_in(file.bytes(), text, text_hash);
  return table ? std::optional(GemmChoices(*table, file.owner())) : std::nullopt;
}

/// A compiled table as the build and the installation put it around the running program; "" where there is none.
fs::path around_the_program(const fs::path& name) {
  std::error_code error;
  for (fs::path folder = program_file().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (const fs::path file = folder / "share/weft/machines" / name; fs::exists(file, error)) return file;
  return "";
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

/// 16 digits.
std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(digits.size() - text.size(), '0') + text;
}

/// Nothing depends on it: without the file the next start takes longer.
void try_to_write(const fs::path& path, std::string_view bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  try {
    write_text_file(path, bytes);
  } catch (const std::system_error&) {
  }
}

GemmChoices choices_in(std::string_view text, const fs::path& path) {
  try {
    return gemm_choices_from_text(text);
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

/// `bytes`: what the file holds.
GemmChoices choices_of(std::string_view bytes, const fs::path& path) {
  return is_compressed(path) ? choices_in(read_gzip_file(path, "the GEMM library's kernels"), path)
                             : choices_in(bytes, path);
}

/// Where a table's compiled form stands beside it.
fs::path compiled_beside(fs::path table) {
  if (is_compressed(table)) table.replace_extension();
  return table.replace_extension(".bin");
}

MappedFile text_of(const fs::path& path) {
  MappedFile text(path, MAP_POPULATE);
  if (text.bytes().empty()) throw InputError(path.string(), "expected a readable file with the GEMM library's kernels");
  return text;
}

}  // namespace

std::string table_checksum(std::string_view text) { return hexadecimal(hash_of(text)); }

GemmChoices read_gemm_choices(const fs::path& path, const std::string& checksum) {
  const MappedFile file = text_of(path);
  const std::string_view text = file.bytes();
  const std::uint64_t hash = hash_of(text);
  if (!checksum.empty() && checksum != hexadecimal(hash))
    throw InputError(path.string(), "expected a table with the checksum " + excerpt(checksum, 40) + ", got one with " +
                                        hexadecimal(hash));
  if (text.size() < worth_compiling) return choices_of(text, path);
  const fs::path beside = compiled_beside(path), cache = cache_folder();
  const fs::path cached = cache.empty() ? cache : cache / (hexadecimal(hash) + file_of_compiled);
  for (const fs::path& place : {beside, around_the_program(beside.filename()), cached})
    if (auto choices = mapped(place, text, hash)) return *std::move(choices);
  GemmChoices choices = choices_of(text, path);
  if (!cached.empty()) try_to_write(cached, compiled(choices, text));
  return choices;
}

void compile_gemm_choices(const fs::path& text, const fs::path& to) {
  const MappedFile file = text_of(text);
  write_text_file(to, compiled(choices_of(file.bytes(), text), file.bytes()));
}

}  // namespace weft
