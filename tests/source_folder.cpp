#include "tests/source_folder.hpp"

namespace weft::tests {

const std::string& source_folder() {
  static const std::string folder = WEFT_SOURCE_DIR;
  return folder;
}

}  // namespace weft::tests
