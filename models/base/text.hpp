// Numbers and texts of others in a message of ours.
#pragma once

#include <string>
#include <vector>

namespace weft {

/// At most `most` bytes of UTF-8 text: whole characters, and "…" where something is left out.
std::string excerpt(const std::string& text, std::size_t most);

/// "a, b, c".
std::string joined(const std::vector<std::string>& words);

/// `value` with `decimals` decimals.
std::string fixed(double value, int decimals);

/// `ratio` as a signed percentage: 0.0312 is "+3.1 %".
std::string signed_percent(double ratio, int decimals = 1);

}  // namespace weft
