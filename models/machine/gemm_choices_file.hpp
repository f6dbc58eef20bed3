// Files of the GEMM library's answers: a text that people read and compare, and its compiled form, which is mapped into
// memory as it is, so that a program starts without reading the text.
#pragma once

#include <filesystem>

#include "models/machine/gemm_choices.hpp"

namespace weft {

/// The answers in a text file (gemm_choices_text.hpp), from the compiled form of exactly this text where one is found:
/// beside the text, among the built or installed profiles (share/weft/machines beside the folder of the program), or in
/// the user's cache ($XDG_CACHE_HOME/weft, else ~/.cache/weft). Where there is none, a large table is compiled into
/// that cache if it can be written. Throws InputError "FILE: line N: expected …".
GemmChoices read_gemm_choices(const std::filesystem::path& path);

/// Writes the compiled form of a text, never half. Throws InputError "FILE: expected …".
void compile_gemm_choices(const std::filesystem::path& text, const std::filesystem::path& compiled);

}  // namespace weft
