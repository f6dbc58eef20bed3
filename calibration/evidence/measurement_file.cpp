#include "calibration/evidence/measurement_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "calibration/measurement_json.hpp"
#include "models/base/gzip_file.hpp"
#include "scenarios/case_json.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

/// Two cases with the same text measured the same.
std::string text_of(const scenarios::Case& request) { return scenarios::to_json(request).dump(); }

/// Six digits: no timer or sensor of a GPU tells more, and all those of a double would make the files a third larger.
double with_six_digits(double value) {
  std::array<char, 32> text{};
  const auto [end, failure] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  double kept = value;
  if (failure == std::errc{}) std::from_chars(text.data(), end, kept);
  return kept;
}

void keep_six_digits(ordered_json& json) {
  if (json.is_structured())
    for (ordered_json& part : json) keep_six_digits(part);
  else if (json.is_number_float())
    json = with_six_digits(json.get<double>());
}

class MeasurementFileReader {
 public:
  explicit MeasurementFileReader(const std::filesystem::path& path) : path_(path) {
    for_each_json_line(path, [&](const nlohmann::json& line, int number) { read(line, number); });
  }

  void add_kernels() {
    const std::filesystem::path path = kernel_file_of(path_);
    if (!std::filesystem::exists(path)) return;
    std::map<int, MeasuredCase*> by_line;
    for (MeasuredCase& one : cases_) by_line[one.line] = &one;
    for (CaseKernels& of : read_kernel_file(path)) {
      if (uncounted_lines_.contains(of.line)) continue;
      const auto found = by_line.find(of.line);
      if (found == by_line.end() || found->second->request.id != of.id)
        throw InputError(path.string(), "expected the case \"" + of.id + "\" in line " + std::to_string(of.line) +
                                            " of " + path_.string());
      found->second->kernels = std::move(of.kernels);
    }
  }

  std::vector<MeasuredCase> cases() && { return std::move(cases_); }

 private:
  void read(const nlohmann::json& json, int number) {
    JsonObject object(json);
    if (object.has("conditions")) {
      conditions_ = conditions_from(object.object("conditions"));
      ++runs_;
      return object.finish();
    }
    const scenarios::Case request = scenarios::case_from_json(object.at("case").json());
    if (object.has("error")) return;
    if (object.has("kernels"))
      throw InputError("kernels", "expected them in " + kernel_file_of(path_).filename().string() +
                                      ", where each launch is written once, got them in the line of their case");
    MeasuredCase one{measurement_from(object), request, conditions_, path_.string() + " " + std::to_string(runs_),
                     number};
    object.finish();
    if (one.gpus.is_held_back_by_surroundings())
      uncounted_lines_.insert(number);
    else
      add(std::move(one));
  }

  void add(MeasuredCase one) {
    const auto [known, is_new] = position_.try_emplace(text_of(one.request), cases_.size());
    if (is_new)
      cases_.push_back(std::move(one));
    else
      cases_[known->second] = std::move(one);
  }

  std::filesystem::path path_;
  Conditions conditions_;
  int runs_ = 0;
  std::set<int> uncounted_lines_;
  std::vector<MeasuredCase> cases_;
  std::map<std::string, std::size_t> position_;
};

/// Nothing is added to what is compressed.
const std::filesystem::path& plain(const std::filesystem::path& path) {
  if (is_compressed(path))
    throw InputError(path.string(), "expected a name without .gz: measurements are written plain");
  const auto kernels = std::filesystem::path(path).replace_extension(".kernels.gz");
  if (std::filesystem::exists(kernels))
    throw InputError(kernels.string(),
                     "expected no compressed kernels beside a file that measurements are added to: "
                     "decompress them (gunzip), or write measurements elsewhere");
  return path;
}

int count_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

}  // namespace

void require_distinct(const std::vector<std::filesystem::path>& files) {
  std::error_code error;  // of a file that is not there, which its reader reports
  for (auto file = files.begin(); file != files.end(); ++file)
    if (std::any_of(files.begin(), file,
                    [&](const auto& other) { return std::filesystem::equivalent(other, *file, error); }))
      throw InputError(file->string(), "expected each file once, since its cases would count twice");
}

std::vector<MeasuredCase> read_measurements(const std::filesystem::path& path) {
  return MeasurementFileReader(path).cases();
}

std::vector<MeasuredCase> read_measurements(const std::vector<std::string>& paths) {
  require_distinct({paths.begin(), paths.end()});
  std::vector<MeasuredCase> measured;
  for (const std::string& path : paths) std::ranges::move(read_measurements(path), std::back_inserter(measured));
  if (measured.empty()) throw InputError(paths.front(), "expected a measured case, got none");
  return measured;
}

std::vector<MeasuredCase> read_measurements_and_kernels(const std::filesystem::path& path) {
  MeasurementFileReader reader(path);
  reader.add_kernels();
  return std::move(reader).cases();
}

MeasurementFileWriter::MeasurementFileWriter(const std::filesystem::path& path, bool has_kernels)
    : has_kernels_(has_kernels), path_(path.string()), file_(plain(path), {"{\"case\":", "{\"conditions\":"}) {
  std::map<int, std::string> ids;
  if (file_.exists())
    for (const MeasuredCase& one : read_measurements(path)) {
      held_[text_of(one.request)] = {one.line, one.condition, !one.in_turn_with.empty()};
      ids[one.line] = one.request.id;
    }
  lines_ = file_.exists() ? count_lines(path) : 0;
  kernels_.emplace(kernel_file_of(path), lines_, ids);
}

void MeasurementFileWriter::require_measured_so(Condition condition, bool in_turn) const {
  const auto way = [](Condition of, bool with_others) {
    if (of != Condition::sustained) return "after a pause";
    return with_others ? "in turn" : "alone under load";
  };
  const Held* first = nullptr;  // in the file
  for (const auto& [request, held] : held_)
    if ((held.condition != condition || held.in_turn != in_turn) && (first == nullptr || held.line < first->line))
      first = &held;
  if (first != nullptr)
    throw InputError(path_ + ":" + std::to_string(first->line),
                     std::string("expected a case measured ") + way(condition, in_turn) + ", got one measured " +
                         way(first->condition, first->in_turn) + ": write to another file");
}

bool MeasurementFileWriter::holds(const scenarios::Case& request) const {
  const auto known = held_.find(text_of(request));
  return known != held_.end() && (!has_kernels_ || kernels_->holds(known->second.line));
}

void MeasurementFileWriter::add(const Conditions& conditions) {
  add_line(ordered_json{{"conditions", ordered_json(to_json(conditions))}}.dump());
}

void MeasurementFileWriter::add(const scenarios::Case& request, const Measurement& measurement) {
  ordered_json line{{"case", scenarios::to_json(request)}};
  ordered_json measured(to_json(measurement));
  keep_six_digits(measured);
  line.update(measured);
  add_line(line.dump());
  held_[text_of(request)] = {lines_, measurement.condition, !measurement.in_turn_with.empty()};
}

void MeasurementFileWriter::add_kernels(const scenarios::Case& request, const std::vector<KernelRecord>& kernels) {
  kernels_.value().add({held_.at(text_of(request)).line, request.id, kernels});
}

void MeasurementFileWriter::add_error(const scenarios::Case& request, const std::string& message) {
  add_line(ordered_json{{"case", scenarios::to_json(request)}, {"error", message}}.dump());
}

void MeasurementFileWriter::add_line(const std::string& text) {
  file_.add(text + '\n');
  file_.sync();
  ++lines_;
}

std::vector<scenarios::Case> read_cases(const std::filesystem::path& path) {
  std::vector<scenarios::Case> cases;
  for_each_json_line(path, [&](const nlohmann::json& line, int) { cases.push_back(scenarios::case_from_json(line)); });
  return cases;
}

std::string lines_of(const std::vector<scenarios::Case>& cases) {
  std::string lines;
  for (const scenarios::Case& one : cases) lines += scenarios::to_json(one).dump() + "\n";
  return lines;
}

}  // namespace weft::calibration::evidence
