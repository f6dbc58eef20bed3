// Numbers and texts of others in a message of ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// At most `most` bytes of UTF-8 text: whole characters, and "…" where something is left out.
std::string excerpt(const std::string& text, std::size_t most);

/// A key or a name in a message.
inline std::string shown_name(const std::string& name) { return excerpt(name, 60); }

/// What may go to a terminal: control characters, those that turn text around and bytes that are no UTF-8 are written
/// as "\n", "\u001b" or "\xff".
std::string printable(std::string_view text);

/// "a, b, c".
std::string joined(const std::vector<std::string>& words);

/// `value` with `decimals` decimals.
std::string fixed(double value, int decimals);

/// `ratio` as a signed percentage: 0.0312 is "+3.1 %".
std::string signed_percent(double ratio, int decimals = 1);

}  // namespace weft
