// Where the files of the tree lie that a test reads.
#pragma once

#include <string>

namespace weft::tests {

/// The tree's folder, as the build knows it. One object file holds it, so that the others are the same in every clone
/// and a compiler cache serves them all.
const std::string& source_folder();

}  // namespace weft::tests
