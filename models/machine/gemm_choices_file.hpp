// Files of the GEMM library's answers: a text that people read and compare, compressed by gzip where its name ends in
// .gz, and its compiled form, which is mapped into memory as it is, so that a program starts without reading the text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "models/machine/gemm_choices.hpp"

namespace weft {

/// 16 hexadecimal digits that tell the bytes of one table's file from those of another's (XXH64).
std::string table_checksum(std::string_view text);

/// The answers in a text file (gemm_choices_text.hpp), from the compiled form of exactly this text where one is found:
/// beside the text, among the built or installed profiles (share/weft/machines beside the folder of the program), or in
/// the user's cache ($XDG_CACHE_HOME/weft, else ~/.cache/weft). One whose kernels are damaged counts as none; a
/// damaged shape is an error of who asks for it (gemm_choices.hpp). Where there is
/// none, a large table is compiled into that cache if it can be written. Throws InputError "FILE: line N: expected …",
/// and "FILE: expected …" for a text with another checksum than `checksum`, where that is given.
GemmChoices read_gemm_choices(const std::filesystem::path& path, const std::string& checksum = "");

/// Writes the compiled form of a text, never half. Throws InputError "FILE: expected …".
void compile_gemm_choices(const std::filesystem::path& text, const std::filesystem::path& compiled);

}  // namespace weft
