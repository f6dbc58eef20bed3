// Each struct's fields are listed once, in `describe`; a Reader or a Writer walks over them. So what is written can
// be read, and a default is said in one place.
#include "models/schedule_json.hpp"

#include <climits>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "models/json_object.hpp"
#include "models/validation.hpp"

namespace weft {
namespace {

constexpr const char* format_name = "weft.schedule/1";

/// T or const T, since a Writer sees constants.
template <class T, class Plain>
concept Like = std::same_as<std::remove_const_t<T>, Plain>;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

struct Range {
  std::int64_t least = 0, most = max_json_integer;
};
constexpr Range positive{1};
constexpr Range any_sign{-max_json_integer};

// --- The fields of every struct ----------------------------------------------------------------------------------
// required(key, value[, range]), optional(key, value, default[, range]), buffer/counter/stream(key, id).

void describe(auto& io, Like<TileOrder> auto& order) { io.optional("swizzle", order.swizzle, 1, positive); }

void describe(auto& io, Like<Layout> auto& layout) {
  io.required("kind", layout.kind);
  io.optional("rows", layout.rows, std::int64_t{0});
  io.optional("columns", layout.columns, std::int64_t{0});
  io.optional("tile_rows", layout.tile_rows, std::int64_t{0});
  io.optional("tile_columns", layout.tile_columns, std::int64_t{0});
  io.optional("order", layout.order, {});
  io.optional("group_tiles", layout.group_tiles, {}, positive);
}

void describe(auto& io, Like<Buffer> auto& buffer) {
  io.required("name", buffer.name);
  io.required("rows", buffer.rows, positive);
  io.required("columns", buffer.columns, positive);
  io.optional("dtype", buffer.dtype, DataType::bf16);
  io.optional("memory", buffer.memory, Memory::local);
  io.optional("layout", buffer.layout, {});
}

void describe(auto& io, Like<Stream> auto& stream) {
  io.required("name", stream.name);
  io.optional("priority", stream.priority, 0, any_sign);
}

void describe(auto& io, Like<Counter> auto& counter) {
  io.required("name", counter.name);
  io.optional("reset_by_wait", counter.reset_by_wait, false);
}

void describe(auto& io, Like<GemmKernel> auto& kernel) {
  io.required("tile_m", kernel.tile_m, positive);
  io.required("tile_n", kernel.tile_n, positive);
  io.required("tile_k", kernel.tile_k, positive);
  io.optional("cluster_m", kernel.cluster_m, 1, positive);
  io.optional("cluster_n", kernel.cluster_n, 1, positive);
  io.optional("stages", kernel.stages, 4, positive);
  io.optional("split_k", kernel.split_k, 1, positive);
  io.optional("scheduler", kernel.scheduler, TileScheduler::grid);
}

void describe(auto& io, Like<TileSignal> auto& signal) {
  io.required("tile_group", signal.tile_group);
  io.counter("counter", signal.counter);
  io.optional("place", signal.place, 0, any_sign);
}

void describe(auto& io, Like<TileWait> auto& wait) {
  io.required("tile_group", wait.tile_group);
  io.counter("counter", wait.counter);
  io.optional("value", wait.value, std::int64_t{1}, positive);
}

void describe(auto& io, Like<Gemm> auto& gemm) {
  io.required("a", gemm.a);
  io.required("b", gemm.b);
  io.required("c", gemm.c);
  io.optional("accumulate", gemm.accumulate, false);
  io.optional("kernel", gemm.kernel, std::nullopt);
  io.optional("max_sms", gemm.max_sms, 0);
  io.optional("order", gemm.order, {});
  io.optional("tile_groups", gemm.tile_groups, {}, positive);
  io.optional("signals", gemm.signals, {});
  io.optional("waits", gemm.waits, {});
}

void describe(auto& io, Like<Collective> auto& collective) {
  io.required("kind", collective.kind);
  io.required("input", collective.input);
  io.required("output", collective.output);
  io.optional("transport", collective.transport, Transport::nccl);
  io.optional("max_ctas", collective.max_ctas, 0);
}

void describe(auto& io, Like<Copy> auto& copy) {
  io.required("source", copy.source);
  io.required("destination", copy.destination);
  io.optional("path", copy.path, CopyPath::copy_engine);
}

void describe(auto& io, Like<MemoryBound> auto& work) {
  io.required("kernel", work.kernel);
  io.optional("reads", work.reads, {});
  io.optional("writes", work.writes, {});
}

void describe(auto& io, Like<Attention> auto& attention) {
  io.required("qkv", attention.qkv);
  io.required("output", attention.output);
  io.required("heads", attention.heads, positive);
  io.required("kv_heads", attention.kv_heads, positive);
  io.required("head_dim", attention.head_dim, positive);
  io.optional("prefix", attention.prefix, std::int64_t{0});
}

void describe(auto& io, Like<Signal> auto& signal) {
  io.counter("counter", signal.counter);
  io.optional("place", signal.place, 0, any_sign);
  io.optional("add", signal.add, std::int64_t{1}, positive);
  io.optional("path", signal.path, SignalPath::kernel);
}

void describe(auto& io, Like<Wait> auto& wait) {
  io.counter("counter", wait.counter);
  io.optional("value", wait.value, std::int64_t{1}, positive);
  io.optional("path", wait.path, WaitPath::spinning_kernel);
}

void describe(auto& io, Like<Barrier> auto& barrier) { io.optional("channel", barrier.channel, 0); }

void describe(auto& io, Like<Delay> auto& delay) { io.required("time_us", delay.time_us); }

void describe(auto& io, Like<Operation> auto& operation) {
  io.required("name", operation.name);
  io.stream("stream", operation.stream);
  io.optional("after", operation.after, {});
  io.work(operation.work);
}

void describe(auto& io, Like<Meaning> auto& meaning) {
  io.required("op", meaning.op);
  io.required("m", meaning.m, positive);
  io.required("n", meaning.n, positive);
  io.required("k", meaning.k, positive);
  io.buffer("a", meaning.a);
  io.buffer("b", meaning.b);
  io.buffer("result", meaning.result);
  io.optional("chunks", meaning.chunks, 1, positive);
}

/// Buffers, streams and counters stand before the operations that name them.
void describe(auto& io, Like<Schedule> auto& schedule) {
  io.required("name", schedule.name);
  io.optional("family", schedule.family, {});
  io.optional("machine", schedule.machine, {});
  io.required("gpus", schedule.gpus, positive);
  io.optional("launch", schedule.launch, Launch::graph);
  io.optional("repeats_per_iteration", schedule.repeats_per_iteration, 1, positive);
  io.required("buffers", schedule.buffers);
  io.required("streams", schedule.streams);
  io.optional("counters", schedule.counters, {});
  io.required("operations", schedule.operations);
  io.optional("meaning", schedule.meaning, std::nullopt);
}

// --- Reading -----------------------------------------------------------------------------------------------------

/// Ids of what has been read so far, by name.
class Ids {
 public:
  explicit Ids(std::string what) : what_(std::move(what)) {}
  void add(const JsonValue& value, const std::string& name) {
    if (!ids_.emplace(name, static_cast<int>(ids_.size())).second)
      throw InputError(value.path() + ".name", "expected a name of its own, got \"" + name + "\" a second time");
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
      slice.rows = read_shard(*rows, buffer);
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

// --- Writing -----------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(const Schedule& schedule) : schedule_(schedule), json_(nlohmann::ordered_json::object()) {}
  nlohmann::ordered_json& json() { return json_; }

  template <class T>
  void required(const char* key, const T& value, Range = {}) {
    json_[key] = written(value);
  }
  template <class T>
  void optional(const char* key, const T& value, const std::type_identity_t<T>& otherwise, Range = {}) {
    if (value != otherwise) json_[key] = written(value);
  }
  void buffer(const char* key, BufferId id) { json_[key] = name_in(schedule_.buffers, id); }
  void stream(const char* key, StreamId id) { json_[key] = name_in(schedule_.streams, id); }
  void counter(const char* key, CounterId id) { json_[key] = name_in(schedule_.counters, id); }
  void work(const Work& work) {
    std::visit([&](const auto& kind) { json_[std::string(kind_of(work))] = written(kind); }, work);
  }

 private:
  template <class T>
  static const std::string& name_in(const std::vector<T>& all, int id) {
    return all.at(static_cast<std::size_t>(id)).name;
  }

  template <class T>
  nlohmann::ordered_json written(const T& value) const {
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return name_of(value);
    } else if constexpr (is_optional<T>) {
      return written(*value);
    } else if constexpr (is_vector<T>) {
      auto list = nlohmann::ordered_json::array();
      for (const auto& item : value) list.push_back(written(item));
      return list;
    } else {
      return written_struct(value);
    }
  }

  template <class T>
  nlohmann::ordered_json written_struct(const T& value) const {
    Writer writer(schedule_);
    describe(writer, value);
    return std::move(writer.json());
  }

  nlohmann::ordered_json written_struct(const After& after) const {
    const std::string& name = name_in(schedule_.operations, after.operation);
    if (after.point == Point::end) return name;
    nlohmann::ordered_json json{{"operation", name}, {"point", name_of(after.point)}};
    if (after.point == Point::tile_group) json["tile_group"] = after.tile_group;
    return json;
  }

  nlohmann::ordered_json written_struct(const Slice& slice) const {
    const Buffer& buffer = schedule_.buffers.at(static_cast<std::size_t>(slice.buffer));
    nlohmann::ordered_json json{{"buffer", buffer.name}};
    if (slice.place != 0) json["place"] = slice.place;
    if (slice.rows != Rows{RowRange{0, buffer.rows}}) json["rows"] = written_rows(slice.rows, buffer);
    if (slice.first_column != 0 || slice.columns != buffer.columns)
      json["columns"] = {slice.first_column, slice.columns};
    return json.size() == 1 ? nlohmann::ordered_json(buffer.name) : json;
  }

  static nlohmann::ordered_json written_rows(const Rows& rows, const Buffer& buffer) {
    if (const auto* range = std::get_if<RowRange>(&rows)) return {range->first, range->count};
    const auto& shard = std::get<ShardRows>(rows);
    nlohmann::ordered_json json{{"shard", shard.rank_offset}};
    if (shard.chunk != 0) json["chunk"] = shard.chunk;
    if (shard.chunks != 1) json["chunks"] = shard.chunks;
    if (shard.first != 0) json["first"] = shard.first;
    if (shard.of_rows != buffer.rows - shard.first) json["of_rows"] = shard.of_rows;
    return json;
  }

  const Schedule& schedule_;
  nlohmann::ordered_json json_;
};

nlohmann::ordered_json ordered_json_of(const Schedule& schedule) {
  Writer writer(schedule);
  writer.json()["format"] = format_name;
  describe(writer, schedule);
  return std::move(writer.json());
}

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

Schedule read_schedule(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    Schedule schedule = schedule_from_json(json);
    validate(schedule);
    return schedule;
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

nlohmann::json to_json(const Schedule& schedule) { return ordered_json_of(schedule); }

void write_schedule(const std::filesystem::path& path, const Schedule& schedule) {
  write_json_file(path, ordered_json_of(schedule));
}

}  // namespace weft
