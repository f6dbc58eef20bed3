// A trace with what stands beside its spans: what the units of each GPU did meanwhile, and which operation let which
// begin.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/execution/trace.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// From `at_us` on, until the next point of its track.
struct TrackPoint {
  double at_us = 0, value = 0;
  bool operator==(const TrackPoint&) const = default;
};

/// One quantity of one GPU over the traced iteration. Times count as those of spans do.
struct Track {
  std::string name;  ///< "SMs busy"
  std::string unit;  ///< of the values: "SMs", "GB/s", "copies", "W"
  int gpu = 0;
  double capacity = 0;  ///< the most that there is of it
  std::vector<TrackPoint> points;
};

/// `to` waited for something of `from`. Both are positions in the trace's spans.
struct Edge {
  std::size_t from = 0, to = 0;
  double from_us = 0, to_us = 0;  ///< within their spans
  std::string what;               ///< the point that is followed ("end"), or the counter's name
};

struct Timeline {
  Trace trace;
  std::vector<Track> tracks = {};  ///< simulated runs have them
  std::vector<Edge> edges = {};
};

/// What `schedule` says of order beyond its streams: operations that others follow, and counters. For any trace of it,
/// measured ones too: where a span does not tell when what it was waited for happened (a group of tiles), that is as
/// late as its follower allows. Operations that have no span have no edges.
std::vector<Edge> edges_of(const Schedule& schedule, const Trace& trace);

}  // namespace weft
