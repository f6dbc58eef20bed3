#include "scenarios/study/sweep_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "models/base/failure_text.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "scenarios/case_json.hpp"

namespace weft::scenarios::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "weft.sweep_store/2";

/// Keys of workloads that have columns of their own, beside op.
constexpr std::array<std::string_view, 5> size_keys{"m", "n", "k", "bytes", "tokens"};

constexpr std::array tables{
    "CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE questions (question INTEGER PRIMARY KEY, machine TEXT, gpus INTEGER, condition TEXT, model TEXT, "
    "part TEXT, op TEXT, m INTEGER, n INTEGER, k INTEGER, bytes INTEGER, tokens INTEGER, dtype TEXT, workload TEXT)",
    "CREATE TABLE schedules (schedule INTEGER PRIMARY KEY, family TEXT, words TEXT, json TEXT)",
    "CREATE TABLE answers (case_number INTEGER PRIMARY KEY, question INTEGER, schedule INTEGER, time_us REAL, "
    "serial_us REAL, bound_us REAL, low_us REAL, high_us REAL, clock_MHz REAL, power_W REAL, limited_by TEXT, "
    "outside_calibration TEXT, runnable INTEGER, why_not TEXT, as_run TEXT, error TEXT)",
    "CREATE VIEW cases AS SELECT case_number, machine, gpus, condition, model, part, op, m, n, k, bytes, tokens, "
    "dtype, "
    "workload, family, words AS schedule, time_us, serial_us, serial_us / time_us AS speedup, bound_us, low_us, "
    "high_us, "
    "clock_MHz, power_W, limited_by, outside_calibration, runnable, why_not, coalesce(as_run, json) AS as_run, error "
    "FROM answers JOIN questions USING (question) JOIN schedules USING (schedule)"};

/// A null in place of "".
void bind_text(Statement& statement, int position, const std::string& text) {
  text.empty() ? statement.bind_null(position) : statement.bind(position, text);
}

}  // namespace

SweepStore::SweepStore(const fs::path& path, const Sweep& sweep) : sweep_(sweep) {
  const std::string checksum = checksum_of(sweep);
  require_writable(path);
  lock(path);
  try {
    database_.emplace(path, false);
    if (fs::file_size(path) > 0 || fs::exists(path.string() + "-journal")) require_own(path, checksum);
    if (fs::file_size(path) == 0) create(checksum);
    add_question_ = database_->prepare("INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add_schedule_ = database_->prepare("INSERT INTO schedules VALUES (?, ?, ?, ?)");
    add_answer_ = database_->prepare("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  } catch (...) {
    database_.reset();
    close(locked_);
    throw;
  }
}

/// Closed after the database: to close any descriptor of a file gives SQLite's own locks of it up.
SweepStore::~SweepStore() {
  add_question_.reset(), add_schedule_.reset(), add_answer_.reset();
  database_.reset();
  close(locked_);
}

void SweepStore::lock(const fs::path& path) {
  locked_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (locked_ < 0) throw InputError(path.string(), "expected a file that can be written" + reason_of(errno));
  if (flock(locked_, LOCK_EX | LOCK_NB) == 0) return;
  close(locked_);
  throw InputError(path.string(), "expected a store that no other sweep writes to now");
}

void SweepStore::create(const std::string& checksum) {
  database_->run("BEGIN IMMEDIATE");
  for (const char* table : tables) database_->run(table);
  Statement add = database_->prepare("INSERT INTO sweep VALUES (?, ?)");
  const std::array<std::pair<std::string, std::string>, 3> rows{
      {{"format", format}, {"weft", WEFT_VERSION}, {"belongs_to", checksum}}};
  for (const auto& [key, value] : rows) add.bind(1, key).bind(2, value).run();
  database_->run("COMMIT");
}

void SweepStore::require_own(const fs::path& path, const std::string& checksum) {
  Statement table = database_->prepare("SELECT count(*) FROM sqlite_master WHERE name = 'sweep'");
  table.step();
  if (table.integer(0) == 0) {
    table.reset();
    if (fs::file_size(path) == 0) return;  // killed before it was made
    throw InputError(path.string(), "expected a store that weft sweep wrote");
  }
  Statement own = database_->prepare("SELECT value FROM sweep WHERE key = 'belongs_to'");
  if (!own.step() || own.text(0) != checksum)
    throw InputError(
        path.string(),
        "expected a store of this very sweep, asked of the same profiles by the same version of weft: remove "
        "the file, or name another --store");
  Statement count = database_->prepare("SELECT count(*) FROM answers");
  count.step();
  cases_ = static_cast<std::size_t>(count.integer(0));
  Statement schedules = database_->prepare("SELECT json, schedule FROM schedules");
  while (schedules.step()) schedules_[schedules.text(0)] = schedules.integer(1);
}

void SweepStore::add_question(std::size_t position) {
  const SweepQuestion& question = sweep_.questions[position];
  const nlohmann::ordered_json workload = to_json(question.workload), condition = to_json(question.condition);
  Statement& row = *add_question_;
  row.bind(1, static_cast<std::int64_t>(position)).bind(2, sweep_.machines[question.machine]);
  row.bind(3, static_cast<std::int64_t>(question.gpus));
  row.bind(4, condition.is_string() ? condition.get<std::string>() : condition.dump());
  bind_text(row, 5, question.model);
  row.bind(6, question.part).bind(7, op_of(question.workload));
  int column = 8;
  for (const std::string_view key : size_keys) {
    if (const auto size = workload.find(key); size != workload.end())
      row.bind(column, size->get<std::int64_t>());
    else
      row.bind_null(column);
    ++column;
  }
  bind_text(row, column, workload.value("dtype", ""));
  row.bind(column + 1, workload.dump()).run();
}

std::int64_t SweepStore::schedule_of(const SweepAnswer& answer) {
  const auto [known, is_new] =
      schedules_.try_emplace(answer.schedule_json, static_cast<std::int64_t>(schedules_.size()));
  if (is_new)
    add_schedule_->bind(1, known->second)
        .bind(2, answer.family)
        .bind(3, answer.schedule_words)
        .bind(4, answer.schedule_json)
        .run();
  return known->second;
}

void SweepStore::add_answer(const SweepAnswer& answer) {
  Statement& row = *add_answer_;
  row.bind(1, static_cast<std::int64_t>(cases_)).bind(2, static_cast<std::int64_t>(answer.question));
  row.bind(3, schedule_of(answer));
  int column = 4;
  for (const double number : {answer.time_us, answer.serial_us, answer.bound_us, answer.low_us, answer.high_us,
                              answer.clock_MHz, answer.power_W}) {
    answer.error.empty() ? row.bind(column, number) : row.bind_null(column);
    ++column;
  }
  bind_text(row, column, answer.limited_by);
  bind_text(row, column + 1, answer.outside_calibration);
  answer.error.empty() ? row.bind(column + 2, std::int64_t{answer.runnable}) : row.bind_null(column + 2);
  bind_text(row, column + 3, answer.why_not);
  bind_text(row, column + 4, answer.as_run);
  bind_text(row, column + 5, answer.error);
  row.run();
  ++cases_;
}

void SweepStore::add(const SweepChunk& chunk, const std::vector<SweepAnswer>& answers) {
  database_->run("BEGIN IMMEDIATE");
  for (std::size_t i = 0; i < chunk.questions; ++i) add_question(chunk.first_question + i);
  for (const SweepAnswer& one : answers) add_answer(one);
  database_->run("COMMIT");
}

}  // namespace weft::scenarios::study
