#include "scenarios/report/html_report.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/execution/trace_comparison.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/profile_grades.hpp"
#include "models/machine/profile_numbers.hpp"
#include "scenarios/study/odds.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

using nlohmann::ordered_json;

/// Stands once in the page, where the content goes.
constexpr std::string_view place_of_content = "{\"weft\": \"content\"}";

/// What the profile was measured with, where it was: "driver", "nccl", …
void add_measuring(ordered_json& rows, const std::filesystem::path& profile) {
  const nlohmann::json json = read_json_file(profile);
  const auto conditions = json.find("conditions");
  if (conditions == json.end() || !conditions->is_object()) return;
  std::string text;
  for (const auto& [key, value] : conditions->items())
    if (value.is_array() && !value.empty() && value.front().is_string())
      text += (text.empty() ? "" : ", ") + key + " " + value.front().get<std::string>();
    else if (value.is_string())
      text += (text.empty() ? "" : ", ") + key + " " + value.get<std::string>();
  if (!text.empty()) rows.push_back({"profile measured with", text});
}

ordered_json conditions_of(const study::AnswerReport& answer, const Machine& machine,
                           const std::filesystem::path& profile) {
  const Trace& fastest = answer.runs.front().timeline.trace;
  ordered_json rows = ordered_json::array();
  const auto add = [&](const char* what, const std::string& value) { rows.push_back({what, value}); };
  add("machine", machine.name + ": " + profile_description(profile));
  add("GPUs", std::to_string(answer.scenario.gpus));
  add("condition", std::string(name_of(machine.condition.condition)) +
                       (machine.condition.condition == Condition::sustained
                            ? ": iterations under load without a pause, as a server at work has them"
                            : ""));
  add("power limit", fixed(machine.power.limit_W, 0) + " W a GPU");
  add("clock of the fastest schedule", fixed(fastest.clock_MHz, 0) + " MHz of " + fixed(machine.gpu.max_clock_MHz, 0) +
                                           " MHz, " + fixed(fastest.power_W, 0) + " W on average");
  add_measuring(rows, profile);
  add("schedules simulated", std::to_string(answer.exploration.simulated));
  add("odds", study::is_measured(machine)
                  ? "from the errors of predicted speedups where both schedules were measured"
                  : "from the errors on measured machines, widened: nobody has measured this one");
  return rows;
}

/// Numbers by their source, the source of most numbers first.
ordered_json sources_of(const std::filesystem::path& profile) {
  std::map<std::string, std::vector<std::string>> numbers;
  for (const ProfileNumber& number : profile_numbers(read_json_file(profile)))
    if (!number.source.empty()) numbers[number.source].push_back(number.path);
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(numbers.begin(), numbers.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& one) { return one.second.size(); });
  ordered_json rows = ordered_json::array();
  for (const auto& [source, names] : sorted)
    rows.push_back({{"source", source}, {"grade", name_of(grade_of_source(source))}, {"numbers", names}});
  return rows;
}

/// Plain sizes have no name but their own.
std::string title_of(const ordered_json& answer, const scenarios::Scenario& scenario, const Report& printed) {
  if (!scenario.name.empty()) return printed.title;
  std::string title = answer["pair"];
  for (const char* key : {"n", "k", "dtype"})
    if (const auto value = answer["workload"].find(key); value != answer["workload"].end())
      title += std::string(", ") + key + " " + (value->is_string() ? value->get<std::string>() : value->dump());
  return title + ", " + printed.title;
}

ordered_json comparison_of(const std::vector<study::DrawnRun>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].timeline.trace.source != runs[i - 1].timeline.trace.source)
      return to_json(compare(runs[i - 1].timeline.trace, runs[i].timeline.trace));
  return nullptr;
}

}  // namespace

ordered_json html_content(const study::AnswerReport& answer, const Machine& machine, const Report& printed,
                          const std::filesystem::path& profile) {
  ordered_json content = to_json(answer, machine);
  content["title"] = title_of(content["exploration"]["answers"][answer.leading], answer.scenario, printed);
  content["verdict"] = printed.sections.front().notes;
  content["conditions"] = conditions_of(answer, machine, profile);
  content["sources"] = sources_of(profile);
  content["comparison"] = comparison_of(answer.runs);
  return content;
}

/// "<" could end the script that holds the content, or begin a comment; JSON may write it as an escape.
std::string html_report(const ordered_json& content, std::string_view page) {
  const std::size_t place = page.find(place_of_content);
  if (place == std::string_view::npos)
    throw InputError("page", "expected " + std::string(place_of_content) + ", where the content goes, got none");
  std::string text(page.substr(0, place));
  for (const char c : content.dump(-1, ' ', false, ordered_json::error_handler_t::replace))
    c == '<' ? text += "\\u003c" : text += c;
  return text.append(page.substr(place + place_of_content.size()));
}

std::string read_report_page(const std::string& field, const std::filesystem::path& share) {
  const std::filesystem::path page = report_page(share);
  if (page.empty())
    throw InputError(field,
                     "expected a weft built where npm is, which bundles the page's charts, got one without: "
                     "install nodejs and npm, then run cmake again");
  return read_text_file(page);
}

}  // namespace weft::scenarios::report
