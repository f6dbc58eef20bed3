#include <climits>
#include <map>
#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
#include "models/schedule/schedule_fields.hpp"
#include "models/schedule/schedule_json.hpp"

namespace weft {
namespace {

using namespace schedule_file;

/// Ids of what has been read so far, by name.
class Ids {
 public:
  explicit Ids(std::string what) : what_(std::move(what)) {}
  void add(const JsonValue& value, const std::string& name) {
    if (!ids_.emplace(name, static_cast<int>(ids_.size())).second)
      throw InputError(value.path() + ".name",
                       "expected a name of its own, got \"" + shown_name(name) + "\" a second time");
  }
  int at(const JsonValue& value) const {
    const auto found = ids_.find(value.string());
    if (found == ids_.end()) value.fail("the name of " + what_);
    return found->second;
  }

 private:
  std::string what_;
  std::map<std::string, int> ids_;
};

struct Names {
  Ids buffers{"a buffer"}, streams{"a stream"}, counters{"a counter"}, operations{"an earlier operation"};
};

class Reader {
 public:
  Reader(JsonObject object, Names& names, Schedule& schedule)
      : object_(std::move(object)), names_(names), schedule_(schedule) {}

  template <class T>
  void required(std::string_view key, T& value, Range range = {}) {
    read(object_.at(key), value, range);
  }
  template <class T>
  void optional(std::string_view key, T& value, const std::type_identity_t<T>& otherwise, Range range = {}) {
    const auto found = object_.find(key);
    if (found) {
      read(*found, value, range);
    } else {
      value = otherwise;
    }
  }
  void buffer(std::string_view key, BufferId& id) { id = names_.buffers.at(object_.at(key)); }
  void stream(std::string_view key, StreamId& id) { id = names_.streams.at(object_.at(key)); }
  void counter(std::string_view key, CounterId& id) { id = names_.counters.at(object_.at(key)); }

  void work(Work& work) {
    int found = 0;
    std::string kinds;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (work_of<std::variant_alternative_t<I, Work>>(work, found, kinds), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Work>>{});
    if (found != 1)
      throw InputError(object_.path(), "expected exactly one of " + kinds + ", got " + std::to_string(found));
  }
  void finish() const { object_.finish(); }

 private:
  template <class Kind>
  void work_of(Work& work, int& found, std::string& kinds) {
    const auto kind = kind_of(Work{Kind{}});
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
    if (const auto value = object_.find(kind)) {
      Kind read_kind;
      read(*value, read_kind, {});
      work = read_kind;
      ++found;
    }
  }

  template <class T>
  void read(const JsonValue& json, T& value, Range range) {
    if constexpr (std::same_as<T, bool>) {
      value = json.boolean();
    } else if constexpr (std::integral<T>) {
      const std::int64_t limit = sizeof(T) == sizeof(int) ? INT_MAX : max_json_integer;
      value = static_cast<T>(json.integer(std::max(range.least, -limit), std::min(range.most, limit)));
    } else if constexpr (std::same_as<T, double>) {
      value = json.number(0, 1e9);
    } else if constexpr (std::same_as<T, std::string>) {
      value = json.string();
    } else if constexpr (std::is_enum_v<T>) {
      value = json.word<T>();
    } else if constexpr (is_optional<T>) {
      read(json, value.emplace(), range);
    } else if constexpr (is_vector<T>) {
      value.clear();
      for (const JsonValue& item : json.list()) {
        read(item, value.emplace_back(), range);
        remember(item, value.back());
      }
    } else {
      read_struct(json, value);
    }
  }

  template <class T>
  void read_struct(const JsonValue& json, T& value) {
    Reader reader(json.object(), names_, schedule_);
    describe(reader, value);
    reader.finish();
  }

  void read_struct(const JsonValue& json, After& after) {
    if (json.is_string()) {
      after = {names_.operations.at(json)};
      return;
    }
    JsonObject object = json.object();
    after.operation = names_.operations.at(object.at("operation"));
    after.point = object.word_or("point", Point::end);
    after.tile_group =
        after.point == Point::tile_group ? static_cast<int>(object.integer("tile_group", 0, INT_MAX)) : 0;
    object.finish();
  }

  void read_struct(const JsonValue& json, RowRange& range) {
    const auto values = json.list();
    if (values.size() != 2) json.fail("[first, count]");
    range = {values[0].integer(0), values[1].integer(0)};
  }

  void read_struct(const JsonValue& json, Slice& slice) {
    if (json.is_string()) {
      slice.buffer = names_.buffers.at(json);
      slice.place = 0;
      read_extent(std::nullopt, std::nullopt, slice);
      return;
    }
    JsonObject object = json.object();
    slice.buffer = names_.buffers.at(object.at("buffer"));
    slice.place = static_cast<int>(object.integer_or("place", 0, -INT_MAX, INT_MAX));
    read_extent(object.find("rows"), object.find("columns"), slice);
    object.finish();
  }

  void read_extent(const std::optional<JsonValue>& rows, const std::optional<JsonValue>& columns, Slice& slice) {
    const Buffer& buffer = schedule_.buffers[static_cast<std::size_t>(slice.buffer)];
    if (rows && rows->is_object()) {
      slice.rows = rows->object().has("of_rank") ? Rows{read_rank_rows(*rows)} : Rows{read_shard(*rows, buffer)};
    } else {
      slice.rows = read_range(rows, buffer.rows);
    }
    const RowRange range = read_range(columns, buffer.columns);
    slice.first_column = range.first;
    slice.columns = range.count;
  }

  static RowRange read_range(const std::optional<JsonValue>& json, std::int64_t all) {
    if (!json) return {0, all};
    const auto values = json->list();
    if (values.size() != 2) json->fail("[first, count]");
    return {values[0].integer(0), values[1].positive_integer()};
  }

  RankRows read_rank_rows(const JsonValue& json) {
    JsonObject object = json.object();
    RankRows rows;
    for (const JsonValue& range : object.list("of_rank")) read_struct(range, rows.of_rank.emplace_back());
    object.finish();
    return rows;
  }

  static ShardRows read_shard(const JsonValue& json, const Buffer& buffer) {
    JsonObject object = json.object();
    ShardRows shard;
    shard.rank_offset = static_cast<int>(object.integer("shard", -INT_MAX, INT_MAX));
    shard.chunk = static_cast<int>(object.integer_or("chunk", 0, 0, INT_MAX));
    shard.chunks = static_cast<int>(object.integer_or("chunks", 1, 1, INT_MAX));
    shard.first = object.integer_or("first", 0, 0);
    shard.of_rows = object.integer_or("of_rows", buffer.rows - shard.first, 1);
    object.finish();
    return shard;
  }

  template <class T>
  void remember(const JsonValue& json, const T& value) {
    if constexpr (std::same_as<T, Buffer>) names_.buffers.add(json, value.name);
    if constexpr (std::same_as<T, Stream>) names_.streams.add(json, value.name);
    if constexpr (std::same_as<T, Counter>) names_.counters.add(json, value.name);
    if constexpr (std::same_as<T, Operation>) names_.operations.add(json, value.name);
  }

  JsonObject object_;
  Names& names_;
  Schedule& schedule_;
};

}  // namespace

Schedule schedule_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  const JsonValue format = object.at("format");
  if (format.string() != format_name) format.fail("\"" + std::string(format_name) + "\"");
  Schedule schedule;
  Names names;
  Reader reader(std::move(object), names, schedule);
  describe(reader, schedule);
  reader.finish();
  return schedule;
}

}  // namespace weft
