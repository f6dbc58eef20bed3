#include "scenarios/study/sweep_findings.hpp"

#include <algorithm>
#include <array>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"

namespace weft::scenarios::study {
namespace {

constexpr std::array known_axes{"m", "tokens", "bytes", "n", "k", "gpus"};

/// Of cases: those that have a time and may be chosen.
const std::string eligible = "time_us IS NOT NULL AND why_not IS NULL";

/// Each question with its fastest schedule: of columns that are not aggregated SQLite takes the row of the minimum.
const std::string fastest =
    "(SELECT machine, gpus, op, m, tokens, bytes, n, k, family, schedule, speedup, min(time_us) FROM "
    "(SELECT cases.*, answers.question AS question FROM cases JOIN answers USING (case_number)) "
    "WHERE " +
    eligible + " GROUP BY question)";

SweepGroup group_of(const Statement& row) {
  return {.machine = row.text(0), .op = row.text(2), .gpus = static_cast<int>(row.integer(1))};
}

bool beats(const ParetoPoint& one, const ParetoPoint& other) {
  const bool is_no_worse = one.time_us <= other.time_us && one.gpus <= other.gpus && one.energy_mJ <= other.energy_mJ;
  const bool is_better = one.time_us < other.time_us || one.gpus < other.gpus || one.energy_mJ < other.energy_mJ;
  return is_no_worse && is_better;
}

/// Of one work, by time: those that nothing before them beats.
void add_front(const std::vector<ParetoPoint>& points, std::vector<ParetoPoint>& front) {
  for (const ParetoPoint& one : points)
    if (std::ranges::none_of(points, [&](const ParetoPoint& other) { return beats(other, one); })) front.push_back(one);
}

Database opened(const std::filesystem::path& store) {
  if (!std::filesystem::is_regular_file(store)) throw InputError(store.string(), "expected a store of a sweep");
  Database database(store, true);
  Statement table = database.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'cases'");
  table.step();
  if (table.integer(0) == 0) throw InputError(store.string(), "expected a store that weft sweep wrote");
  return database;
}

}  // namespace

SweepFindings::SweepFindings(const std::filesystem::path& store) : database_(opened(store)) {}

std::int64_t SweepFindings::cases() {
  Statement count = database_.prepare("SELECT count(*) FROM answers");
  count.step();
  return count.integer(0);
}

SweepFindings::Errors SweepFindings::errors() {
  Statement each = database_.prepare(
      "SELECT count(*), error FROM answers WHERE error IS NOT NULL GROUP BY error ORDER BY count(*) DESC, error");
  Errors errors;
  while (each.step()) {
    if (errors.cases == 0) errors.most_common = each.text(1);
    errors.cases += each.integer(0);
  }
  return errors;
}

std::vector<SweepSummary> SweepFindings::summaries() {
  Statement row = database_.prepare(
      "SELECT machine, gpus, op, sum(count), sum(gains), sum(total) / sum(count), "
      "max(largest), max(family) FILTER (WHERE place = 1) FROM (SELECT machine, gpus, op, family, count(*) AS count, "
      "count(*) FILTER (WHERE family != 'serial' AND speedup > 1) AS gains, sum(speedup) AS total, max(speedup) AS "
      "largest, row_number() OVER (PARTITION BY machine, gpus, op ORDER BY "
      "count(*) DESC, family) AS place FROM " +
      fastest + " GROUP BY machine, gpus, op, family) GROUP BY machine, gpus, op ORDER BY machine, gpus, op");
  std::vector<SweepSummary> summaries;
  while (row.step())
    summaries.push_back({.group = group_of(row),
                         .questions = row.integer(3),
                         .gains = row.integer(4),
                         .mean_speedup = row.number(5),
                         .largest_speedup = row.number(6),
                         .usual_winner = row.text(7)});
  return summaries;
}

std::vector<std::string> SweepFindings::axes() {
  std::vector<std::string> found;
  for (const char* axis : known_axes) {
    Statement count = database_.prepare("SELECT count(DISTINCT " + std::string(axis) + ") FROM questions");
    count.step();
    if (count.integer(0) > 1) found.emplace_back(axis);
  }
  return found;
}

std::vector<HeatCell> SweepFindings::heat(const std::string& x, const std::string& y) {
  for (const auto& [option, key] : {std::pair{"--x", x}, std::pair{"--y", y}})
    if (std::ranges::find(known_axes, key) == known_axes.end())
      throw InputError(option, "expected one of " + joined({known_axes.begin(), known_axes.end()}) + ", got \"" +
                                   shown_name(key) + "\"");
  Statement row =
      database_.prepare("SELECT machine, " + std::string(x == "gpus" || y == "gpus" ? "0" : "gpus") + ", op, " + x +
                        ", " + y + ", max(speedup), schedule FROM " + fastest + " WHERE " + x + " IS NOT NULL AND " +
                        y + " IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5");
  std::vector<HeatCell> cells;
  while (row.step())
    cells.push_back({.group = group_of(row),
                     .x = row.text(3),
                     .y = row.text(4),
                     .speedup = row.number(5),
                     .schedule = row.text(6)});
  return cells;
}

std::vector<ParetoPoint> SweepFindings::pareto() {
  Statement row = database_.prepare(
      "SELECT machine, CASE WHEN model IS NULL THEN workload || ' on ' || gpus || ' GPUs' ELSE model || ', ' || part "
      "|| "
      "', ' || coalesce(tokens, m) || ' tokens' END || CASE condition WHEN 'sustained' THEN '' ELSE ', ' || condition "
      "END "
      "AS work, schedule, gpus, time_us, power_W * gpus * time_us / 1e3 "
      "FROM cases WHERE " +
      eligible + " ORDER BY machine, work, time_us, case_number");
  std::vector<ParetoPoint> front, of_work;
  while (row.step()) {
    ParetoPoint point{.machine = row.text(0),
                      .work = row.text(1),
                      .schedule = row.text(2),
                      .gpus = static_cast<int>(row.integer(3)),
                      .time_us = row.number(4),
                      .energy_mJ = row.number(5)};
    if (!of_work.empty() && (of_work.front().machine != point.machine || of_work.front().work != point.work)) {
      add_front(of_work, front);
      of_work.clear();
    }
    of_work.push_back(std::move(point));
  }
  add_front(of_work, front);
  return front;
}

}  // namespace weft::scenarios::study
