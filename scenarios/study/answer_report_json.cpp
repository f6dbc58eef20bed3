#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/base/text.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/answer_report.hpp"
#include "scenarios/study/exploration_json.hpp"
#include "scenarios/study/verdict_json.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_schedules = 14;  // of an answer, besides serial and what is advised
constexpr int steps_of_a_track = 1500;      // a picture has fewer pixels

/// Three decimals: nanoseconds of a time in us.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

ordered_json json_of(const Gain& gain) {
  return {{"pattern", gain.pattern},
          {"gpus", gain.gpus},
          {"size", gain.size},
          {"schedule", gain.schedule},
          {"time_us", rounded(gain.time_us)},
          {"serial_us", rounded(gain.serial_us)},
          {"odds", to_json(gain.odds)},
          {"best_of_20_gain", gain.best_gain},
          {"is_advised", gain.is_advised}};
}

/// Of the changes within a step the lowest, the highest and the last.
std::vector<TrackPoint> thinned(const std::vector<TrackPoint>& points, double step_us) {
  std::vector<TrackPoint> kept;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i + 1;
    while (end < points.size() && points[end].at_us < points[i].at_us + step_us) ++end;
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i),
               last = points.begin() + static_cast<std::ptrdiff_t>(end);
    const auto [low, high] =
        std::minmax_element(first, last, [](const TrackPoint& a, const TrackPoint& b) { return a.value < b.value; });
    std::vector<std::vector<TrackPoint>::const_iterator> chosen{low, high, last - 1};
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const auto& one : chosen) kept.push_back(*one);
    i = end;
  }
  return kept;
}

ordered_json json_of(const Track& track, double end_us) {
  ordered_json at = ordered_json::array(), values = ordered_json::array();
  for (const TrackPoint& point : thinned(track.points, end_us / steps_of_a_track)) {
    at.push_back(rounded(point.at_us));
    values.push_back(std::round(point.value * 10) / 10);
  }
  return {{"name", track.name}, {"unit", track.unit}, {"capacity", track.capacity}, {"at_us", at}, {"values", values}};
}

ordered_json json_of(const DrawnRun& run) {
  const Trace& trace = run.timeline.trace;
  ordered_json streams = ordered_json::array(), spans = ordered_json::array(), tracks = ordered_json::array(),
               edges = ordered_json::array();
  for (const Stream& stream : run.operations.streams) streams.push_back(stream.name);
  double end_us = 0;
  std::map<std::size_t, std::size_t> places;  // in `spans`, by those of the trace
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (span.gpu != 0) continue;
    auto stream = std::find(streams.begin(), streams.end(), ordered_json(span.stream));
    if (stream == streams.end()) {
      streams.push_back(span.stream);
      stream = streams.end() - 1;
    }
    places[i] = spans.size();
    spans.push_back({stream - streams.begin(), span.operation, span.kind, rounded(span.start_us), rounded(span.end_us),
                     span.detail, name_of(span.limit)});
    end_us = std::max(end_us, span.end_us);
  }
  for (const Track& track : run.timeline.tracks)
    if (track.gpu == 0) tracks.push_back(json_of(track, end_us));
  for (const Edge& edge : run.timeline.edges)
    if (places.contains(edge.from) && places.contains(edge.to))
      edges.push_back({places[edge.from], places[edge.to], rounded(edge.from_us), rounded(edge.to_us), edge.what});
  return {{"schedule", run.schedule},
          {"source", trace.source},
          {"time_us", rounded(trace.time_us)},
          {"clock_MHz", rounded(trace.clock_MHz)},
          {"power_W", rounded(trace.power_W)},
          {"iteration_parts", run.operations.repeats_per_iteration},
          {"streams", streams},
          {"spans", spans},
          {"tracks", tracks},
          {"edges", edges}};
}

/// As weft explore --json has them, with words, and without most of the slower schedules.
void shorten(ordered_json& json, const Answer& answer) {
  ordered_json schedules = ordered_json::array();
  for (std::size_t i = 0; i < answer.fastest_first.size(); ++i) {
    if (i >= most_schedules && i != answer.ranking.serial && i != answer.ranking.advised) continue;
    schedules.push_back(std::move(json["schedules"][i]));
    const Explored& one = answer.fastest_first[i];
    schedules.back()["words"] = words_of(one.candidate.request.schedule);
    schedules.back()["software"] = joined(one.other_software);
    schedules.back()["is_serial"] = i == answer.ranking.serial;
    schedules.back()["is_advised"] = i == answer.ranking.advised;
  }
  json["schedules_left_out"] = answer.fastest_first.size() - schedules.size();
  json["schedules"] = std::move(schedules);
}

}  // namespace

ordered_json to_json(const AnswerReport& report, const Machine& machine) {
  ordered_json exploration =
      to_json(report.exploration, report.scenario, machine, report.widths.crossovers, report.evidence);
  for (std::size_t i = 0; i < report.exploration.answers.size(); ++i)
    shorten(exploration["answers"][i], report.exploration.answers[i]);
  ordered_json gains = ordered_json::array(), runs = ordered_json::array(), causes;
  for (const Gain& gain : report.widths.gains) gains.push_back(json_of(gain));
  for (const DrawnRun& run : report.runs) runs.push_back(json_of(run));
  for (const auto& [cause, name] : NamesOf<Cause>::names) causes[std::string(name) + "_ps"] = text_of(cause);
  return {{"format", "weft.report/1"},
          {"size_word", report.scenario.model ? "tokens" : "rows"},
          {"leading", report.leading},
          {"causes", causes},
          {"exploration", std::move(exploration)},
          {"gains", gains},
          {"runs", runs}};
}

}  // namespace weft::scenarios::study
