// Traces in the trace-event form that Perfetto (ui.perfetto.dev) and chrome://tracing show.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <vector>

#include "models/execution/timeline.hpp"

namespace weft {

/// All of them in one picture: a process for each GPU of each trace, such as "predicted GPU 0", those of one GPU side
/// by side, a thread for each stream, a counter for each track, and an arrow for each edge.
void write_perfetto(const std::vector<Timeline>& timelines, std::ostream& out);
/// Into a file, as write_text_file() does.
void write_perfetto(const std::filesystem::path& path, const std::vector<Timeline>& timelines);

}  // namespace weft
