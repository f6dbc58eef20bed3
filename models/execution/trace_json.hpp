// Traces as files: our own form, and the trace-event form that Perfetto (ui.perfetto.dev) and chrome://tracing show.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/execution/trace.hpp"

namespace weft {

/// All traces in one picture: a process for each GPU of each trace, such as "predicted GPU 0", the traces of one GPU
/// side by side, and a thread for each stream.
void write_perfetto(const std::vector<Trace>& traces, std::ostream& out);
/// Into a file, as write_text_file() does.
void write_perfetto(const std::filesystem::path& path, const std::vector<Trace>& traces);

/// `"format": "weft.trace/1"`, times in microseconds. Reading it back gives an equal trace.
nlohmann::json to_json(const Trace& trace);

/// Throws InputError for what is no trace.
Trace trace_from_json(const nlohmann::json& json);

/// Throws InputError "FILE: FIELD: …".
Trace read_trace(const std::filesystem::path& path);

/// As write_text_file() does.
void write_trace(const std::filesystem::path& path, const Trace& trace);

}  // namespace weft
