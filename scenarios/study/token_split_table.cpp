#include "scenarios/study/token_split_table.hpp"

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/appended_file.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/families/token_split_search.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;
using scenarios::Case;

constexpr std::size_t most_splits = 8;

/// Twelve days: no iteration takes as long.
constexpr double longest_us = 1e12;

std::string key_of(const Case& request) { return scenarios::to_json(request).dump(); }

/// The times of finished cases, by the text of the case; one line each after a line that says what they belong to.
class ProgressFile {
 public:
  /// `least_us`: what none of the cases can beat, by the text of the case.
  ProgressFile(const std::filesystem::path& path, const std::string& belongs_to, std::map<std::string, double> least_us)
      : path_(path), least_us_(std::move(least_us)) {
    if (path_.empty()) return;
    require_own(belongs_to);  // before anything is dropped that was cut off
    file_.emplace(path_, std::vector<std::string_view>{"{\"format\":", "{\"case\":"});
    std::ifstream before(path_, std::ios::binary);
    if (std::string first; std::getline(before, first))
      read_times(before);
    else
      file_->add(belongs_to + '\n');
  }

  const double* find(const std::string& key) const {
    const auto found = times_us_.find(key);
    return found == times_us_.end() ? nullptr : &found->second;
  }
  void add(const std::string& key, double time_us) {
    times_us_[key] = time_us;
    if (file_) file_->add(line(key, time_us));
  }

 private:
  static std::string line(const std::string& key, double time_us) {
    return ordered_json{{"case", ordered_json::parse(key)}, {"time_us", time_us}}.dump() + '\n';
  }

  void require_own(const std::string& belongs_to) const {
    std::ifstream file(path_, std::ios::binary);
    if (!file) return;
    std::string text;
    std::getline(file, text);
    if (file.eof() ? !belongs_to.starts_with(text) : text != belongs_to)
      throw InputError(path_.string(),
                       "expected the progress of this very question, asked of the same profile by the same version of "
                       "weft: remove the file, or name another --out");
  }

  void read_times(std::istream& file) {
    std::string text;
    for (int number = 2; std::getline(file, text); ++number) {
      try {
        read_line(parse_json(text));
      } catch (const InputError& error) {
        throw error.in_file(path_.string() + ": line " + std::to_string(number));
      }
    }
  }

  void read_line(const nlohmann::json& json) {
    JsonObject object(json);
    const JsonValue of = object.at("case");
    const std::string key = key_of(case_from_json(of.json()));
    const auto least_us = least_us_.find(key);
    if (least_us == least_us_.end()) of.fail("a case of this question");
    const double time_us = object.number("time_us", least_us->second, longest_us);
    object.finish();
    if (!times_us_.emplace(key, time_us).second) of.fail("each case once");
  }

  std::filesystem::path path_;
  std::optional<AppendedFile> file_;
  std::map<std::string, double> least_us_, times_us_;
};

ordered_json belongs_to(const TableQuestion& question, const Machine& machine) {
  return {{"format", "weft.token_split_progress/1"},
          {"weft", WEFT_VERSION},
          {"machine", machine.name},
          {"profile", question.profile},
          {"workload", scenarios::to_json(scenarios::Workload(question.layer))},
          {"tokens", question.tokens},
          {"gpus", question.gpus},
          {"ctas", question.ctas},
          {"fused_norm", question.fused_norm}};
}

/// What none of `cases` can beat, by the text of the case.
std::map<std::string, double> bounds_of(const std::vector<const Case*>& cases, const Machine& machine) {
  std::map<std::string, double> bounds_us;
  for (const Case* request : cases)
    bounds_us[key_of(*request)] = scenarios::bound_us(request->workload, request->gpus, machine);
  return bounds_us;
}

double time_us_of(const Case& request, const Machine& machine, Executor& executor) {
  return predict(request, machine, executor, {.serial = false}).time_us;
}

TableRow row_of(const std::vector<Case>& cases, const ProgressFile& times, const Machine& machine) {
  TableRow row;
  for (const Case& request : cases) {
    const double time_us = *times.find(key_of(request));
    const bool is_serial = &request == &cases.front();
    if (is_serial) row.serial_us = time_us;
    if (is_serial || (row.time_us > 0 && time_us >= row.time_us)) continue;
    row.time_us = time_us;
    row.choice = request.schedule;
  }
  const auto& layer = std::get<scenarios::LayerWorkload>(cases.front().workload);
  row.tokens = layer.tokens;
  row.bound_us = scenarios::bound_us(layer, cases.front().gpus, machine);
  return row;
}

}  // namespace

std::vector<Case> table_candidates(const TableQuestion& question, std::int64_t tokens, const Machine& machine) {
  scenarios::LayerWorkload layer = question.layer;
  layer.tokens = tokens;
  scenarios::check_sizes(layer, question.gpus);
  std::vector<Case> cases;
  const auto add = [&](const scenarios::ScheduleChoice& choice) {
    cases.push_back({.id = scenarios::describe(choice),
                     .gpus = question.gpus,
                     .workload = layer,
                     .schedule = choice,
                     .measured = {}});
  };
  add({});
  const auto firsts = families::first_candidates(layer, question.gpus, question.fused_norm, machine, most_splits);
  for (const std::int64_t first : firsts)
    for (const int attention_ctas : question.ctas) {
      scenarios::TokenSplit split;
      split.first = first;
      split.fused_norm = question.fused_norm;
      if (!question.fused_norm) {
        add({split, attention_ctas});
        continue;
      }
      split.comm_ctas = attention_ctas;
      for (const int mlp_ctas : question.ctas) {
        split.mlp_comm_ctas = mlp_ctas;
        add({split});
      }
    }
  families::build(cases.back(), machine);  // refuses what none of them could do
  return cases;
}

std::vector<TableRow> token_split_table(const TableQuestion& question, const Machine& machine, Executor& executor,
                                        const std::filesystem::path& progress, const Progress& report) {
  require_gpus(question.gpus, machine);
  std::vector<std::vector<Case>> cases;  // by tokens
  std::vector<const Case*> all, open;
  for (const std::int64_t tokens : question.tokens) cases.push_back(table_candidates(question, tokens, machine));
  for (const std::vector<Case>& of_tokens : cases)
    for (const Case& request : of_tokens) all.push_back(&request);
  ProgressFile times(progress, belongs_to(question, machine).dump(), bounds_of(all, machine));
  for (const Case* request : all)
    if (times.find(key_of(*request)) == nullptr) open.push_back(request);

  std::mutex writing;
  std::size_t done = all.size() - open.size();
  for_each_index(open.size(), [&](std::size_t i) {
    const double time_us = time_us_of(*open[i], machine, executor);
    const std::lock_guard lock(writing);
    times.add(key_of(*open[i]), time_us);
    if (report) report(++done, all.size());
  });

  std::vector<TableRow> rows;
  for (const std::vector<Case>& of_tokens : cases) rows.push_back(row_of(of_tokens, times, machine));
  return rows;
}

ordered_json to_json(const std::vector<TableRow>& rows, const TableQuestion& question, const std::string& model,
                     const Machine& machine) {
  ordered_json table = ordered_json::array();
  for (const TableRow& row : rows)
    table.push_back({{"tokens", row.tokens},
                     {"schedule", to_json(row.choice)},
                     {"time_us", row.time_us},
                     {"serial_us", row.serial_us},
                     {"bound_us", row.bound_us},
                     {"speedup", row.speedup()}});
  return {{"format", "weft.token_split_table/1"},
          {"model", model},
          {"machine", machine.name},
          {"gpus", question.gpus},
          {"rows", table}};
}

}  // namespace weft::scenarios::study
