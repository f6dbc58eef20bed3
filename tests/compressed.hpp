// What gzip makes of a text.
#pragma once

#include <string>

namespace weft::tests {

std::string compressed(const std::string& text);

}  // namespace weft::tests
