#include "models/base/json_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"

namespace weft {
namespace {

constexpr std::size_t max_depth = 64;  // no file of ours is deeper; keeps recursive readers off hostile input

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

/// Builds the document of a text. nlohmann::json itself would silently keep the last of two equal keys.
class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  nlohmann::json document() && { return std::move(document_); }

  // What nlohmann::json::sax_parse calls; true lets it go on.
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Level& level = open_.back();
    auto& members = level.container->get_ref<nlohmann::json::object_t&>();
    const auto [member, is_new] = members.try_emplace(name, nullptr);
    if (!is_new) throw InputError(path(), "expected each key once, got \"" + shown_name(name) + "\" twice");
    level.member = &*member;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) const {
    const auto* bad = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    throw InputError("", "expected JSON, got " + reason_of(error) +
                             (bad == nullptr ? "" : " at " + line_and_column(text_, bad->byte)));
  }

 private:
  using Member = nlohmann::json::object_t::value_type;
  struct Level {
    nlohmann::json* container = nullptr;
    Member* member = nullptr;  ///< of an object, the one that was named last
  };

  bool add(nlohmann::json value) {
    place(std::move(value));
    return true;
  }
  bool open(nlohmann::json container) {
    if (open_.size() == max_depth)
      throw InputError("", "expected at most " + std::to_string(max_depth) + " levels of nesting, got more");
    open_.push_back({place(std::move(container)), nullptr});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  /// Puts the value where it belongs: behind the last key, at the end of a list, or at the top.
  nlohmann::json* place(nlohmann::json value) {
    if (open_.empty()) return &(document_ = std::move(value));
    const Level& level = open_.back();
    if (level.container->is_object()) return &(level.member->second = std::move(value));
    return &level.container->get_ref<nlohmann::json::array_t&>().emplace_back(std::move(value));
  }

  /// Keys on the way to the innermost open object, without positions in lists.
  std::string path() const {
    std::string text;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i)
      if (open_[i].member != nullptr) text += (text.empty() ? "" : ".") + shown_name(open_[i].member->first);
    return text;
  }

  std::string_view text_;
  nlohmann::json document_;
  std::vector<Level> open_;
};

bool is_leaf(const nlohmann::ordered_json& json) { return !json.is_structured() || json.empty(); }

/// With U+FFFD for bytes that are no UTF-8, such as those of a file's name.
std::string text_of_leaf(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string on_one_line(const nlohmann::ordered_json& json) {
  if (is_leaf(json)) return text_of_leaf(json);
  const bool is_object = json.is_object();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (is_object) text += text_of_leaf(key) + ": ";
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
    const std::string label = is_object ? text_of_leaf(key) + ": " : "";
    text += separator + inner + label;
    append(text, value, indent + 2, inner.size() + label.size() + 1, width);
    separator = ",\n";
  }
  text += "\n" + std::string(indent, ' ') + (is_object ? "}" : "]");
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  Builder builder(text);
  nlohmann::json::sax_parse(text, &builder);
  return std::move(builder).document();
}

nlohmann::json read_json_file(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
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

}  // namespace weft
