#include "scenarios/study/prediction_lines.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <string_view>

#include "models/base/failure_text.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/line_reader.hpp"
#include "models/base/text.hpp"
#include "models/check/schedule_file.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/in_turn.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/prediction_json.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;

/// Lines that are worked on together: enough for all cores, few enough that results appear soon.
constexpr std::size_t lines_at_once = 256;

struct ResultLine {
  std::string text;
  bool failed = false;
};

/// The case's id where the line is an object that has one, else null.
ordered_json id_of(const nlohmann::json& line) {
  return line.is_object() && line.contains("id") ? ordered_json(line["id"]) : ordered_json(nullptr);
}

/// The line with null for every number that is too large to be one.
std::string without_overflows(std::string_view line) {
  constexpr std::string_view of_numbers = "0123456789+-.eE";
  std::string text;
  bool in_string = false;
  while (!line.empty()) {
    const std::size_t number = in_string ? 0 : std::min(line.find_first_not_of(of_numbers), line.size());
    const std::size_t taken = number > 0                            ? number
                              : in_string && line.starts_with('\\') ? std::min<std::size_t>(2, line.size())
                                                                    : 1;
    const std::string token(line.substr(0, taken));
    if (token == "\"") in_string = !in_string;
    text += number > 0 && std::isinf(std::strtod(token.c_str(), nullptr)) ? "null" : token;
    line.remove_prefix(taken);
  }
  return text;
}

/// Of a line that parse_json() refuses, though all that is wrong with it may be a number or a key that stands twice. A
/// list or an object, which may be nested without end, is no id of such a line.
ordered_json id_of_refused(std::string_view line) {
  const auto members_alone = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= 1; };
  const ordered_json id = id_of(nlohmann::json::parse(without_overflows(line), members_alone, false));
  return id.is_structured() ? ordered_json(nullptr) : id;
}

/// An answer without an id says in which line its question stands.
ResultLine failed(ordered_json id, std::size_t number, const std::string& error) {
  ordered_json answer{{"id", std::move(id)}};
  if (answer["id"].is_null()) answer["line"] = number;
  answer["error"] = shown_message(error);
  return {answer.dump(), true};
}

/// What the parser says of the one line that it was given, which has another number here.
std::string without_line_number(std::string error) {
  constexpr std::string_view number = "line 1, ";
  if (const std::size_t place = error.find(number); place != std::string::npos) error.erase(place, number.size());
  return error;
}

/// Throws InputError for an id that names no file of that folder.
std::filesystem::path schedule_path(const std::filesystem::path& folder, const std::string& id) {
  if (id.empty() || id.find('/') != std::string::npos || id.find('\0') != std::string::npos)
    throw InputError("id", "expected a file's name without a folder, for its schedule, got \"" + shown_name(id) + "\"");
  return folder / (id + ".json");
}

ResultLine result_of(const std::string& line, std::size_t number, const Machine& machine, Executor& executor,
                     const LineOptions& options) {
  nlohmann::json parsed;
  try {
    parsed = parse_json(line);
  } catch (const InputError& error) {
    return failed(id_of_refused(line), number, without_line_number(error.what()));
  }
  try {
    const Case request = case_from_json(parsed);
    const Prediction prediction = predict(request, machine, executor);
    if (!options.schedules.empty()) write_checked(schedule_path(options.schedules, request.id), prediction.schedule);
    ordered_json answer = to_json(request.id, prediction);
    if (options.grades)
      answer["grade"] = name_of(grade_of(prediction.schedule, prediction.time_us, machine, *options.grades));
    return {answer.dump(), false};
  } catch (const std::exception& error) {  // of this case; the others go on
    return failed(id_of(parsed), number, failure_text(error));
  }
}

/// Two cases of one id would write one file, and the thread that comes last would decide what it holds.
class Ids {
 public:
  /// Lines in their order: the refusal of one that has the id of a line before it, else an empty result.
  ResultLine refuse_repeated(const std::string& line) {
    const ordered_json id = id_in(line);
    if (id.is_null() || known_.insert(id.dump()).second) return {};
    return failed(id, 0, "id: expected each once, for its schedule's file, got " + id.dump() + " again");
  }

 private:
  /// Null for a line that is refused for another reason.
  static ordered_json id_in(const std::string& line) {
    try {
      return id_of(parse_json(line));
    } catch (const InputError&) {
      return nullptr;
    }
  }

  std::set<std::string> known_;
};

std::vector<std::string> all_of(LineReader& reader) {
  std::vector<std::string> all;
  for (std::vector<std::string> some; !(some = reader.next(lines_at_once)).empty();)
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace

bool predict_lines(std::istream& in, std::ostream& out, const Machine& machine, Executor& executor,
                   const LineOptions& options) {
  bool all_answered = true;
  LineReader reader(in);
  Ids ids;
  std::size_t before = 0;
  const auto next = [&] {
    if (!options.clock_of_mix_MHz) return reader.next(lines_at_once);
    return lines_in_turn(all_of(reader), machine, executor, options.clock_of_mix_MHz);
  };
  for (std::vector<std::string> lines; !(lines = next()).empty(); before += lines.size()) {
    std::vector<ResultLine> results(lines.size());
    if (!options.schedules.empty())
      std::ranges::transform(lines, results.begin(), [&](const std::string& one) { return ids.refuse_repeated(one); });
    const auto answer = [&](std::size_t i) {
      if (!results[i].failed && lines[i].find_first_not_of(" \t\r") != std::string::npos)
        results[i] = result_of(lines[i], before + i + 1, machine, executor, options);
      if (options.on_answer) options.on_answer();
    };
    if (lines.size() == 1)
      answer(0);  // threads take longer to start
    else
      tbb::parallel_for(std::size_t{0}, lines.size(), answer);
    std::string text;
    for (const ResultLine& one : results) {
      if (!one.text.empty()) text += one.text + '\n';
      all_answered = all_answered && !one.failed;
    }
    out << text << std::flush;  // at once: a run that ends here leaves whole lines
  }
  return all_answered;
}

}  // namespace weft::scenarios::study
