// TokenWeave's table: for each number of tokens the split and the CTAs that are the fastest.
//
// All candidates are run by the executor, on all cores. Each time is appended to a progress file as soon as it is
// known, so an interrupted search goes on where it stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/base/progress.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

struct TableQuestion {
  scenarios::LayerWorkload layer;    ///< with any number of tokens
  std::vector<std::int64_t> tokens;  ///< ascending, each once
  int gpus = 2;
  bool fused_norm = true;
  std::vector<int> ctas;  ///< of the fused kernel after attention and after the MLP; else of NCCL
  /// profile_checksum() of the machine's file; "" where nothing is kept for another search.
  std::string profile = {};
};

struct TableRow {
  std::int64_t tokens = 0;
  double serial_us = 0, bound_us = 0;
  scenarios::ScheduleChoice choice;  ///< the fastest token_split; of equally fast ones the first candidate
  double time_us = 0;
  double speedup() const { return serial_us / time_us; }
};

/// Serial and, for every split that token_split_search.hpp proposes, every pair of `ctas` (of NCCL one number, 0 being
/// the library's default). Throws InputError where the case cannot be built.
std::vector<scenarios::Case> table_candidates(const TableQuestion& question, std::int64_t tokens,
                                              const Machine& machine);

/// `progress`, where it is not empty, holds the times of an interrupted search for the same question, and gets those of
/// this one. Its first line says what it belongs to: the question, the machine's profile and the version of weft.
/// InputError where that is another, and for a line that this search cannot have written; the last one is computed
/// again where its end is missing. `report` is told of each new time, by one thread at a time.
std::vector<TableRow> token_split_table(const TableQuestion& question, const Machine& machine, Executor& executor,
                                        const std::filesystem::path& progress = {}, const Progress& report = {});

/// {"format": "weft.token_split_table/1", "model", "machine", "gpus", "rows": [{"tokens", "schedule", "time_us",
/// "serial_us", "bound_us", "speedup"}]}. `model`: where the layer comes from.
nlohmann::ordered_json to_json(const std::vector<TableRow>& rows, const TableQuestion& question,
                               const std::string& model, const Machine& machine);

}  // namespace weft::scenarios::study
