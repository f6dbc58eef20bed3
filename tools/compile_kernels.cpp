// compile_kernels TEXT COMPILED: a table of the GEMM library's kernels, made ready to be mapped into memory.
#include <exception>
#include <iostream>

#include "models/machine/gemm_choices_file.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " TEXT COMPILED\n";
    return 2;
  }
  try {
    weft::compile_gemm_choices(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return 2;
  }
}
