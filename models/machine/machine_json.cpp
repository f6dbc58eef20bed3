#include "models/machine/machine_json.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/json_object.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/machine_fields.hpp"
#include "models/machine/machine_relations.hpp"
#include "models/machine/profile_networks.hpp"
#include "models/schedule/kernel_sizes.hpp"
#include "models/schedule/transports.hpp"

namespace weft {
namespace {

using machine_file::describe;
using machine_file::Quantity;

/// Reads {"value", "unit", "source"} and checks the unit.
JsonValue quantity(JsonObject entry, const std::string& unit) {
  const JsonValue value = entry.at("value");
  if (entry.string("unit") != unit) entry.at("unit").fail("\"" + unit + "\"");
  entry.string("source");
  entry.string_or("note", "");
  entry.finish();
  return value;
}

/// Fills a struct from the object of its section; machine_fields.hpp has what it is asked.
class NumberReader {
 public:
  explicit NumberReader(JsonObject& object) : object_(object) {}

  template <class Number>
  void number(std::string_view key, Number& number, const Quantity& what, double share = 1) {
    read(object_.object(key), number, what);
    number = static_cast<Number>(number * share);
  }
  template <class Number>
  void optional(std::string_view key, Number& number, const Quantity& what) {
    if (const auto entry = object_.find(key)) read(entry->object(), number, what);
  }
  void list(std::string_view key, std::vector<int>& values, const Quantity& what) {
    for (const JsonValue& value : quantity(object_.object(key), what.unit).list())
      values.push_back(static_cast<int>(
          value.integer(static_cast<std::int64_t>(what.range.least), static_cast<std::int64_t>(what.range.most))));
  }
  void flag(std::string_view key, bool& flag, const char*) { flag = quantity(object_.object(key), "flag").boolean(); }
  template <class Enum>
  void word(std::string_view key, Enum& word) {
    word = object_.word<Enum>(key);
  }
  /// `others`: keys of the section that are no numbers.
  template <class Section>
  void section(std::string_view key, Section&& section, std::initializer_list<const char*> others = {}) {
    JsonObject object = object_.object(key);
    NumberReader reader(object);
    if constexpr (std::is_invocable_v<Section, NumberReader&>)
      section(reader);
    else
      describe(reader, section);
    for (const char* other : others) object.find(other);
    object.finish();
  }
  template <class Section>
  void optional_section(std::string_view key, std::optional<Section>& section) {
    if (object_.has(key)) this->section(key, section.emplace());
  }

 private:
  static void read(JsonObject entry, double& number, const Quantity& what) {
    number = quantity(std::move(entry), what.unit).number(what.range.least, what.range.most);
  }
  template <std::integral Integer>
  static void read(JsonObject entry, Integer& number, const Quantity& what) {
    number = static_cast<Integer>(
        quantity(std::move(entry), what.unit)
            .integer(static_cast<std::int64_t>(what.range.least), static_cast<std::int64_t>(what.range.most)));
  }

  JsonObject& object_;
};

constexpr std::size_t most_bytes_of_name = 256;

/// 0 where it is not known.
double alone_us_from(const JsonValue& value) {
  const double time_us = value.number(0, longest_collective_us);
  if (time_us > 0 && time_us < shortest_collective_us) value.fail("0, or at least 0.01 us");
  return time_us;
}

/// {"collective", "gpus", "max_ctas", "ctas", "cluster", "source", "change_bytes", "points": [[bytes, kernel_us,
/// alone_us, CTAs], …]}
CollectiveCurve curve_from(JsonObject object, Transport transport = Transport::nccl) {
  CollectiveCurve curve{.transport = transport};
  curve.kind = object.word<CollectiveKind>("collective");
  curve.gpus = static_cast<int>(object.integer("gpus", 2, 1024));
  curve.max_ctas = static_cast<int>(object.integer_or("max_ctas", 0, 0, 1024));
  curve.ctas = static_cast<int>(object.integer("ctas", transport == Transport::nccl_copy_engine ? 0 : 1, 1024));
  curve.cluster = static_cast<int>(object.integer_or("cluster", 1, 1, 16));
  curve.change_bytes = object.integer_or("change_bytes", 0, 0);
  object.string("source");
  for (const JsonValue& point : object.list("points")) {
    const std::vector<JsonValue> numbers = point.list();
    if (numbers.size() != 3 && numbers.size() != 4) point.fail("[bytes, kernel_us, alone_us] or with CTAs");
    const auto ctas = numbers.size() == 4 ? static_cast<int>(numbers[3].integer(1, 1024)) : 0;
    curve.points.push_back({numbers[0].integer(1), numbers[1].number(shortest_collective_us, longest_collective_us),
                            alone_us_from(numbers[2]), ctas});
  }
  if (curve.points.size() < 2) object.at("points").fail("at least two points");
  object.finish();
  return curve;
}

/// The same with "transport".
CollectiveCurve symmetric_curve_from(JsonObject object) {
  const auto transport = object.word<Transport>("transport");
  if (!needs_window(transport)) object.at("transport").fail("nccl_symmetric or nccl_copy_engine");
  CollectiveCurve curve = curve_from(object, transport);
  if (!does(transport, curve.kind))
    object.at("collective").fail("one that " + std::string(name_of(transport)) + " does");
  return curve;
}

CollectiveProtocol protocol_from(JsonObject object) {
  CollectiveProtocol protocol;
  protocol.name = object.string("name");
  protocol.algorithm = object.word<CollectiveAlgorithm>("algorithm");
  NumberReader reader(object);
  describe(reader, protocol);
  object.finish();
  return protocol;
}

std::vector<CollectiveProtocol> protocols_from(JsonObject& object) {
  std::vector<CollectiveProtocol> protocols;
  for (const JsonValue& protocol : object.list_or_empty("collective_protocols"))
    protocols.push_back(protocol_from(protocol.object()));
  for (const auto algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::direct})
    if (!protocols.empty() && std::none_of(protocols.begin(), protocols.end(), [&](const CollectiveProtocol& protocol) {
          return protocol.algorithm == algorithm;
        }))
      object.at("collective_protocols").fail("a protocol of algorithm " + std::string(name_of(algorithm)));
  return protocols;
}

/// {"condition", "growth", "source", "bands": [{"stratum", "from_us", "low", "high"}, …]}
ErrorBands bands_from(JsonObject object) {
  ErrorBands errors;
  errors.condition = object.word<Condition>("condition");
  errors.growth = object.number("growth", 1, 4);
  object.string("source");
  for (const JsonValue& value : object.list("bands")) {
    JsonObject band = value.object();
    errors.bands.push_back(
        {band.string("stratum"), band.number("from_us", 0), band.number("low", -1, 10), band.number("high", -1, 10)});
    band.finish();
  }
  object.finish();
  return errors;
}

/// Under which conditions the profile was measured, for its reader: no model uses them.
void check_conditions(JsonObject object) {
  for (const char* key : {"first_run", "last_run"}) object.string(key);
  for (const char* key : {"gpu", "driver", "cuda", "nccl", "cublaslt"})
    for (const JsonValue& value : object.list(key)) value.string();
  const auto check_numbers = [&](const char* key, const char* unit) {
    for (const JsonValue& value : quantity(object.object(key), unit).list()) value.number(0);
  };
  check_numbers("max_sm_clock", "MHz");
  check_numbers("power_limit", "W");
  if (object.has("sm_clock")) check_numbers("sm_clock", "MHz");
  if (object.has("repeat_noise")) check_numbers("repeat_noise", "ratio");
  object.finish();
}

/// {"scheduler", "candidates": [[tile_m, tile_n, tile_k, cluster_m, cluster_n, stages, split_k], …]}
std::vector<GemmKernel> candidates_from(JsonObject& object) {
  const auto scheduler = object.word<TileScheduler>("scheduler");
  std::vector<GemmKernel> kernels;
  for (const JsonValue& candidate : object.list("candidates")) {
    const std::vector<JsonValue> numbers = candidate.list();
    if (numbers.size() != kernel_sizes.size()) candidate.fail("seven integers");
    GemmKernel& kernel = kernels.emplace_back();
    kernel.scheduler = scheduler;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      kernel.*kernel_sizes[i].size = static_cast<int>(numbers[i].integer(1, kernel_sizes[i].most));
  }
  if (kernels.empty()) object.at("candidates").fail("at least one kernel");
  return kernels;
}

/// `table`: the answers in the file of that name with that checksum, "" where the profile says none.
Machine machine_from(const nlohmann::json& json,
                     const std::function<GemmChoices(const std::string& file, const std::string& checksum)>& table) {
  JsonObject object(json);
  if (object.string("format") != "weft.machine/1") object.at("format").fail("\"weft.machine/1\"");
  Machine machine;
  machine.name = object.string("name");
  if (machine.name.size() > most_bytes_of_name)
    object.at("name").fail("a name of at most " + std::to_string(most_bytes_of_name) + " bytes");
  object.string("description");
  machine.gpus = static_cast<int>(object.integer("gpus", 1, 1024));
  machine.runtime = object.word<Runtime>("runtime");
  machine.architecture = object.word_or("architecture", Architecture::other);
  if (object.has("conditions")) check_conditions(object.object("conditions"));
  NumberReader reader(object);
  describe(reader, machine);
  if (machine.fabric.multicast && machine.fabric.kind != FabricKind::nvswitch)
    object.object("fabric").at("multicast").fail("false where there is no switch");
  JsonObject gemm = object.object("gemm");
  JsonObject kernels = gemm.object("kernels");
  kernels.string("source");
  if (kernels.has("candidates"))
    machine.gemm_candidates = candidates_from(kernels);
  else
    machine.gemm_choices = table(kernels.string("file"), kernels.string_or("checksum", ""));
  const auto read_weights = [&](const char* key, NetworkWeights& weights) {
    if (!kernels.has(key)) return;
    const JsonValue text = quantity(kernels.object(key), "ratio");
    const std::optional<NetworkWeights> read = weights_from_text(text.string());
    if (!read) text.fail("a text of numbers with a space between two");
    weights = *read;
  };
  read_weights("weights", machine.kernel_weights);
  for_each_network(machine.gemm_networks,
                   [&](const char* key, NetworkWeights& weights, const NetworkSize&) { read_weights(key, weights); });
  kernels.finish();
  for (const JsonValue& curve : object.list("collectives")) machine.collectives.push_back(curve_from(curve.object()));
  for (const JsonValue& curve : object.list_or_empty("symmetric_collectives"))
    machine.symmetric_collectives.push_back(symmetric_curve_from(curve.object()));
  machine.collective_protocols = protocols_from(object);
  for (const JsonValue& value : object.list_or_empty("errors")) machine.errors.push_back(bands_from(value.object()));
  for (const JsonValue& value : object.list_or_empty("calibrated")) {
    JsonObject range = value.object();
    machine.calibrated.push_back({range.string("quantity"), range.number("low", 0), range.number("high", 0)});
    range.finish();
  }
  object.finish();
  check_relations(machine);
  return machine;
}

/// `json` gets what it shares with another profile.
Machine machine_beside_tables(nlohmann::json& json, const std::filesystem::path& directory) {
  take_shared_networks(json, directory);
  return machine_from(json, [&](const std::string& file, const std::string& checksum) {
    try {
      return read_gemm_choices(directory / file, checksum);
    } catch (const InputError& error) {
      throw InputError("gemm.kernels.file", error.what());
    }
  });
}

}  // namespace

Machine machine_from_json(const nlohmann::json& json, const std::filesystem::path& directory) {
  nlohmann::json whole = json;
  return machine_beside_tables(whole, directory);
}

Machine machine_from_json(const nlohmann::json& json, const GemmChoices& table) {
  return machine_from(json, [&](const std::string&, const std::string&) { return table; });
}

Machine read_machine(const std::filesystem::path& path) {
  nlohmann::json profile = read_json_file(path);
  return read_machine(path, profile);
}

Machine read_machine(const std::filesystem::path& path, nlohmann::json& profile) {
  try {
    return machine_beside_tables(profile, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft
