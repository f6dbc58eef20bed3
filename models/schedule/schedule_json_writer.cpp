#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/schedule/schedule_fields.hpp"
#include "models/schedule/schedule_json.hpp"

namespace weft {
namespace {

using namespace schedule_file;

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
    match(work, [&](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound,
                                Attention, PartialAttention, Signal, Wait, Barrier, Delay> auto& kind) {
      json_[std::string(kind_of(work))] = written(kind);
    });
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

  nlohmann::ordered_json written_struct(const RowRange& range) const { return {range.first, range.count}; }

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
    if (const auto* ranges = std::get_if<RankRows>(&rows)) {
      auto all = nlohmann::ordered_json::array();
      for (const RowRange& range : ranges->of_rank) all.push_back({range.first, range.count});
      return {{"of_rank", all}};
    }
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

nlohmann::json to_json(const Schedule& schedule) { return ordered_json_of(schedule); }

void write_schedule(const std::filesystem::path& path, const Schedule& schedule) {
  write_json_file(path, ordered_json_of(schedule));
}

}  // namespace weft
