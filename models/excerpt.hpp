// Text of others in a message of ours.
#pragma once

#include <string>

namespace weft {

/// At most `most` bytes of UTF-8 text: whole characters, and "…" where something is left out.
std::string excerpt(const std::string& text, std::size_t most);

}  // namespace weft
