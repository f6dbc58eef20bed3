// Where the answers of a sweep are kept: a file of SQLite with plain tables, which pandas and the command sqlite3 open.
//
//   sweep      key, value: what the store belongs to
//   questions  a workload on some GPUs of a machine: sizes in columns of their own, all of it in `workload` (JSON)
//   schedules  each that was asked about: family, in words, in JSON
//   answers    a time of each question under each schedule, or an error
//   cases      all of these together: SELECT * FROM cases
//
// Each chunk is one transaction, and chunks are added in their order: so the bytes of a store do not depend on how
// often the sweep was killed and went on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/sqlite.hpp"
#include "scenarios/study/sweep_answers.hpp"

namespace weft::scenarios::study {

class SweepStore {
 public:
  /// A new store, or one of the same sweep, which goes on. Nothing else is changed: InputError for a file that is no
  /// store, for one of another sweep, other profiles or another version of weft, and where another sweep writes to it.
  /// `sweep` must outlive this.
  SweepStore(const std::filesystem::path& path, const Sweep& sweep);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  /// Cases that have answers: whole chunks, from the first on.
  std::size_t cases() const { return cases_; }
  /// Those that follow. Throws ExecutionError where they could not be written; then none of them are there.
  void add(const SweepChunk& chunk, const std::vector<SweepAnswer>& answers);

 private:
  void lock(const std::filesystem::path& path);
  void create(const std::string& checksum);
  void require_own(const std::filesystem::path& path, const std::string& checksum);
  void add_question(std::size_t question);
  std::int64_t schedule_of(const SweepAnswer& answer);
  void add_answer(const SweepAnswer& answer);

  const Sweep& sweep_;
  int locked_ = -1;
  std::optional<Database> database_;
  std::optional<Statement> add_question_, add_schedule_, add_answer_;
  std::map<std::string, std::int64_t> schedules_;  ///< by JSON
  std::size_t cases_ = 0;
};

}  // namespace weft::scenarios::study
