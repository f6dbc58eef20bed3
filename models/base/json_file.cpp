#include "models/base/json_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"

namespace weft {
namespace {

constexpr int max_depth = 64;  // no file of ours is deeper; keeps recursive readers off hostile input

/// Watches the parser: nlohmann::json itself would silently keep the last of two equal keys.
class KeyCheck {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > max_depth)
      throw InputError("", "expected at most " + std::to_string(max_depth) + " levels of nesting, got more");
    if (event == Event::object_start || event == Event::array_start) {
      levels_.resize(static_cast<std::size_t>(depth) + 1);
      levels_.back() = {};
    } else if (event == Event::key) {
      levels_.resize(static_cast<std::size_t>(depth));
      const auto& key = parsed.get_ref<const std::string&>();
      const std::string object = path();
      levels_.back().last_key = key;
      if (!levels_.back().keys.insert(key).second)
        throw InputError(object, "expected each key once, got \"" + key + "\" twice");
    }
    return true;
  }

 private:
  struct Level {
    std::set<std::string> keys;
    std::string last_key;
  };
  /// Keys on the way to the innermost open object, without positions in lists.
  std::string path() const {
    std::string text;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i)
      if (!levels_[i].last_key.empty()) text += (text.empty() ? "" : ".") + levels_[i].last_key;
    return text;
  }
  std::vector<Level> levels_;
};

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_start = before.rfind('\n');
  const auto column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// nlohmann's texts read "[json.exception.…] parse error at line 1, column 2: reason; last read: 'bytes'". What was
/// last read may end inside a character, or be no text at all.
std::string reason_of(const nlohmann::json::exception& error) {
  constexpr std::size_t longest = 200;
  std::string text = error.what();
  const auto column = text.find(", column ");
  const auto start = column != std::string::npos ? text.find(": ", column) : text.find("] ");
  if (start != std::string::npos) text.erase(0, start + 2);
  const auto is_ascii = [](char one) { return static_cast<unsigned char>(one) < 0x80; };
  if (!std::all_of(text.begin(), text.end(), is_ascii)) text.erase(std::min(text.find("; last read"), text.size()));
  return excerpt(text, longest);
}

bool is_leaf(const nlohmann::ordered_json& json) { return !json.is_structured() || json.empty(); }

std::string on_one_line(const nlohmann::ordered_json& json) {
  if (is_leaf(json)) return json.dump();
  const bool is_object = json.is_object();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (is_object) text += nlohmann::json(key).dump() + ": ";
    text += on_one_line(value);
  }
  return is_object ? "{" + text + "}" : "[" + text + "]";
}

/// Appends `json`; the current line of `text` already holds `used` columns.
void append(std::string& text, const nlohmann::ordered_json& json, std::size_t indent, std::size_t used,
            std::size_t width) {
  std::string line = on_one_line(json);
  if (is_leaf(json) || used + line.size() < width) {
    text += line;
    return;
  }
  const bool is_object = json.is_object();
  const std::string inner(indent + 2, ' ');
  text += is_object ? "{" : "[";
  std::string separator = "\n";
  for (const auto& [key, value] : json.items()) {
    const std::string label = is_object ? nlohmann::json(key).dump() + ": " : "";
    text += separator + inner + label;
    append(text, value, indent + 2, inner.size() + label.size() + 1, width);
    separator = ",\n";
  }
  text += "\n" + std::string(indent, ' ') + (is_object ? "}" : "]");
}

/// No other process or thread has the same.
std::string unique_word() {
  static std::atomic<unsigned> count = 0;
  return std::to_string(getpid()) + "." + std::to_string(++count);
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text, KeyCheck{});
  } catch (const nlohmann::json::parse_error& error) {
    throw InputError("", "expected JSON, got " + reason_of(error) + " at " + line_and_column(text, error.byte));
  } catch (const nlohmann::json::exception& error) {
    throw InputError("", "expected JSON, got " + reason_of(error));
  }
}

nlohmann::json read_json_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw InputError(path.string(), "expected a file, found none");
  if (std::filesystem::is_directory(path, error)) throw InputError(path.string(), "expected a file, got a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path.string(), "expected a file that can be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return parse_json(text);
  } catch (const InputError& bad) {
    throw bad.in_file(path.string());
  }
}

std::string to_text(const nlohmann::ordered_json& json, int width) {
  std::string text;
  append(text, json, 0, 0, static_cast<std::size_t>(width));
  return text + "\n";
}

void write_json_file(const std::filesystem::path& path, const nlohmann::ordered_json& json) {
  write_text_file(path, to_text(json));
}

void require_writable(const std::filesystem::path& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(path)) throw InputError(path.string(), "expected a file, got a folder");
  if (!std::filesystem::is_directory(folder))
    throw InputError(path.string(), "expected a file in a folder that exists, found no " + folder.string());
  const bool is_special = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);  // /dev/stdout
  if (access(is_special ? path.c_str() : folder.c_str(), W_OK) != 0)
    throw InputError(path.string(), "expected a file that can be written");
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  const bool is_special = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);  // /dev/stdout
  const std::filesystem::path target =
      is_special ? path : std::filesystem::path(path.string() + "." + unique_word() + ".tmp");
  std::ofstream file(target, std::ios::binary);
  file << text << std::flush;
  const bool is_written = static_cast<bool>(file);
  file.close();
  std::error_code error;
  if (is_written && !is_special) std::filesystem::rename(target, path, error);
  if (is_written && !error) return;
  std::error_code ignored;
  if (!is_special) std::filesystem::remove(target, ignored);
  throw InputError(path.string(), "expected a file that can be written");
}

}  // namespace weft
