// Why work failed, in words for a user.
#pragma once

#include <exception>
#include <string>

namespace weft {

/// What our own exceptions and those of the operating system say. What a library says of its own insides stays hidden:
/// memory that ran out is called that, and anything else an error of weft.
std::string failure_text(const std::exception& error);

/// The message as it may be shown: on one line, printable, and where it is longer than 600 bytes, such as one about a
/// file with a long name, without its middle.
std::string shown_message(std::string message);

/// ": No space left on device" of errno; "" where nothing is known.
std::string reason_of(int error);

}  // namespace weft
