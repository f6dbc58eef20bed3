// What is running: whatever else weft is made of lies around it.
#pragma once

#include <filesystem>

namespace weft {

/// The program, or the module of Python that this code was loaded with.
std::filesystem::path program_file();

}  // namespace weft
