#include "calibration/evidence/kernel_file.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "calibration/evidence/json_lines.hpp"
#include "calibration/measurement_json.hpp"
#include "models/base/gzip_file.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

constexpr double us_per_ns = 1e-3, ns_per_us = 1e3;

int whole(const JsonValue& value, int least, int most = INT_MAX) {
  return static_cast<int>(value.integer(least, most));
}

void require_size(const std::vector<JsonValue>& list, std::size_t size, const JsonValue& value,
                  const std::string& contents) {
  if (list.size() != size) value.fail(contents);
}

class KernelFileReader {
 public:
  void read(const nlohmann::json& json, int number) {
    number_ = number;
    JsonObject object(json);
    object.has("launch") ? read_launch(object) : read_case(object);
  }
  const std::vector<KernelLaunch>& launches() const { return launches_; }
  std::vector<CaseKernels> cases() && { return std::move(cases_); }
  /// The number of the first line with a case beyond `lines` of the measurement file; 0 where there is none.
  int first_beyond(int lines) const {
    const auto found = std::ranges::find_if(cases_, [&](const CaseKernels& one) { return one.line > lines; });
    return found == cases_.end() ? 0 : numbers_[static_cast<std::size_t>(found - cases_.begin())];
  }
  /// Cases where they were measured, and none elsewhere.
  bool belongs_to(const std::map<int, std::string>& ids) const {
    const auto is = [&](const CaseKernels& one, bool same) {
      const auto measured = ids.find(one.line);
      return measured != ids.end() && (measured->second == one.id) == same;
    };
    return std::ranges::any_of(cases_, [&](const CaseKernels& one) { return is(one, true); }) &&
           std::ranges::none_of(cases_, [&](const CaseKernels& one) { return is(one, false); });
  }

 private:
  void read_launch(JsonObject& object) {
    const int next = static_cast<int>(launches_.size());
    whole(object.at("launch"), next, next);
    launches_.push_back(launch_from(object));
  }

  void read_case(JsonObject& object) {
    CaseKernels one{whole(object.at("line"), 1), object.string("id"), {}};
    for (const JsonValue& entry : object.list("kernels")) read_entry(entry, one.kernels);
    object.finish();
    std::ranges::stable_sort(one.kernels, [](const KernelRecord& a, const KernelRecord& b) {
      return std::tie(a.gpu, a.start_us, a.end_us) < std::tie(b.gpu, b.start_us, b.end_us);
    });
    cases_.push_back(std::move(one));
    numbers_.push_back(number_);
  }

  void read_entry(const JsonValue& entry, std::vector<KernelRecord>& kernels) const {
    const std::vector<JsonValue> fields = entry.list();
    require_size(fields, 5, entry, "[operation, stream, launch, bytes, [[gpu, start_ns, end_ns], …]]");
    KernelRecord kernel;
    kernel.operation = fields[0].string();
    kernel.stream = fields[1].string();
    kernel.launch = launches_[static_cast<std::size_t>(whole(fields[2], 0, static_cast<int>(launches_.size()) - 1))];
    kernel.bytes = fields[3].integer(0);
    for (const JsonValue& run : fields[4].list()) {
      const std::vector<JsonValue> numbers = run.list();
      require_size(numbers, 3, run, "[gpu, start_ns, end_ns]");
      kernel.gpu = whole(numbers[0], 0);
      kernel.start_us = static_cast<double>(numbers[1].integer()) * us_per_ns;
      kernel.end_us = static_cast<double>(numbers[2].integer()) * us_per_ns;
      kernels.push_back(kernel);
    }
  }

  std::vector<KernelLaunch> launches_;
  std::vector<CaseKernels> cases_;
  std::vector<int> numbers_;  ///< of their lines in this file
  int number_ = 0;
};

KernelFileReader read_all(const std::filesystem::path& path) {
  KernelFileReader reader;
  for_each_json_line(path, [&](const nlohmann::json& line, int number) { reader.read(line, number); });
  return reader;
}

/// In bytes from the beginning of the file; `number` counts from 1.
std::size_t start_of_line(const std::filesystem::path& path, int number) {
  const std::unique_ptr<std::istream> file = open_lines(path, "JSON lines");
  std::string line;
  std::size_t start = 0;
  for (int before = 1; before < number && std::getline(*file, line); ++before) start += line.size() + 1;
  return start;
}

std::int64_t in_ns(double time_us) { return std::llround(time_us * ns_per_us); }

/// Whether `kernel` is another run of what `entry` says: all of its fields but those of a run.
bool is_of(const ordered_json& entry, const ordered_json& kernel) {
  return std::equal(kernel.begin(), kernel.end(), entry.begin());
}

}  // namespace

std::filesystem::path kernel_file_of(const std::filesystem::path& measurements) {
  std::filesystem::path name = is_compressed(measurements) ? measurements.stem() : measurements.filename();
  const std::filesystem::path plain = measurements.parent_path() / name.replace_extension(".kernels");
  const std::filesystem::path compressed = plain.string() + ".gz";
  return std::filesystem::exists(compressed) && !std::filesystem::exists(plain) ? compressed : plain;
}

std::vector<CaseKernels> read_kernel_file(const std::filesystem::path& path) { return read_all(path).cases(); }

KernelFileWriter::KernelFileWriter(const std::filesystem::path& path, int lines, const std::map<int, std::string>& ids)
    : file_(path, {"{\"launch\":", "{\"line\":"}) {
  if (!file_.exists()) return;
  KernelFileReader before = read_all(path);
  if (const int lost = before.first_beyond(lines); lost > 0) {
    if (!before.belongs_to(ids))
      throw InputError(path.string(),
                       "expected the kernels of measured cases, got those of others: remove the file, or "
                       "write measurements elsewhere");
    file_.cut(start_of_line(path, lost));
    before = read_all(path);
  }
  for (const KernelLaunch& launch : before.launches()) launches_.emplace(launch, launches_.size());
  for (const CaseKernels& one : std::move(before).cases()) lines_.insert(one.line);
}

void KernelFileWriter::add(const CaseKernels& one) {
  std::string text;
  const auto position_of = [&](const KernelLaunch& launch) {
    const auto [known, is_new] = launches_.try_emplace(launch, launches_.size());
    if (is_new) {
      ordered_json line{{"launch", known->second}};
      line.update(ordered_json(to_json(launch)));
      text += line.dump() + '\n';
    }
    return known->second;
  };
  ordered_json entries = ordered_json::array();
  for (const KernelRecord& kernel : one.kernels) {
    const ordered_json fields{kernel.operation, kernel.stream, position_of(kernel.launch), kernel.bytes};
    auto entry = std::ranges::find_if(entries, [&](const ordered_json& known) { return is_of(known, fields); });
    if (entry == entries.end()) {
      entries.push_back(fields);
      entry = std::prev(entries.end());
      entry->push_back(ordered_json::array());
    }
    entry->back().push_back({kernel.gpu, in_ns(kernel.start_us), in_ns(kernel.end_us)});
  }
  file_.add(text + ordered_json{{"line", one.line}, {"id", one.id}, {"kernels", entries}}.dump() + '\n');
  file_.sync();
  lines_.insert(one.line);
}

}  // namespace weft::calibration::evidence
