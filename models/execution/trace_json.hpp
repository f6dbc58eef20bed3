// Traces as files in our own form (perfetto.hpp has the one for people).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/execution/trace.hpp"

namespace weft {

/// `"format": "weft.trace/1"`, times in microseconds. Reading it back gives an equal trace.
nlohmann::json to_json(const Trace& trace);

/// Throws InputError for what is no trace.
Trace trace_from_json(const nlohmann::json& json);

/// Throws InputError "FILE: FIELD: …".
Trace read_trace(const std::filesystem::path& path);

/// As write_text_file() does.
void write_trace(const std::filesystem::path& path, const Trace& trace);

}  // namespace weft
