// Traces of one schedule as a picture: lanes above each other on one time axis.
#pragma once

#include <string>
#include <vector>

#include "models/execution/trace.hpp"

namespace weft::report {

/// An SVG document, 1000 px wide: what each trace has on `gpu`, a lane for each of its streams in the order
/// of their names, and a colour for each kind of operation. Each trace counts from its first span on that GPU.
/// Throws InputError where no trace has a span on that GPU.
std::string svg_picture(const std::vector<Trace>& traces, int gpu = 0);

}  // namespace weft::report
