#include "models/machine/program_file.hpp"

#include <dlfcn.h>

#include <system_error>

namespace weft {

namespace fs = std::filesystem;

fs::path program_file() {
  std::error_code error;
  Dl_info of_this_code{};
  // Of a program it is the name that it was called by; only that of a module is a path in any case.
  if (dladdr(reinterpret_cast<const void*>(&program_file), &of_this_code) != 0 && of_this_code.dli_fname != nullptr)
    if (const fs::path file = of_this_code.dli_fname; file.extension() == ".so") return fs::canonical(file, error);
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace weft
