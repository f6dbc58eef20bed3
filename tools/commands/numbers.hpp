// Numbers that an option takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

#include "models/base/json_object.hpp"

namespace weft::tools::commands {

/// From `least` to `most`; whole ones where both are integers. The line of a refusal says so.
template <class Number>
CLI::Validator numbers(Number least, Number most) {
  const CLI::Range range(least, most);
  const std::string kind = std::is_integral_v<Number> ? "a whole number" : "a number";
  const std::string expected =
      "expected " + kind + " from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most) + ", got ";
  return CLI::Validator([range, expected](std::string& text) { return range(text).empty() ? "" : expected + text; },
                        range.get_description());
}

/// Of what is drawn.
inline CLI::Validator seeds() { return numbers<std::uint64_t>(0, std::uint64_t{max_json_integer}); }

/// Of one schedule on GPUs, in seconds.
inline CLI::Validator time_limits() { return numbers(1.0, 3600.0); }

}  // namespace weft::tools::commands
