// Schedules as files, `"format": "weft.schedule/1"`. Buffers, streams, counters and operations are referred to by name;
// what has its default value is left out. docs/ and tests/schedules/ show the form; in short:
//
//   slice      "C", or {"buffer": "C", "place": 1, "rows": [first, count], "columns": [first, count]}; left out: all
//   shard rows "rows": {"shard": rank offset, "chunk": 0, "chunks": 1, "first": 0, "of_rows": the rows from first on}
//   operation  {"name": …, "stream": …, "after": ["x", {"operation": "y", "point": "tile_group", "tile_group": 2}],
//               "gemm": {…}}, where the last key is the kind of work
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Throws InputError for what is no schedule: unknown keys, names and words, wrong types. Does not validate.
Schedule schedule_from_json(const nlohmann::json& json);

/// Reading it back gives an equal schedule. Ids must be in range.
nlohmann::json to_json(const Schedule& schedule);

/// Never leaves a file half-written. Throws InputError where the file cannot be written.
void write_schedule(const std::filesystem::path& path, const Schedule& schedule);

}  // namespace weft
