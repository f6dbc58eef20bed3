// compile_kernels TEXT COMPILED: a table of the GEMM library's kernels, made ready to be mapped into memory.
// compile_kernels --checksum TEXT: the checksum by which profiles know that table.
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

#include "models/machine/gemm_choices_file.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " TEXT COMPILED, or --checksum TEXT\n";
    return 2;
  }
  try {
    if (argv[1] == std::string_view("--checksum")) {
      std::ifstream text(argv[2], std::ios::binary);
      std::cout << weft::table_checksum(std::string{std::istreambuf_iterator<char>(text), {}}) << '\n';
    } else {
      weft::compile_gemm_choices(argv[1], argv[2]);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return 2;
  }
}
