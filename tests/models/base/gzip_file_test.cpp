#include "models/base/gzip_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "models/base/input_error.hpp"
#include "tests/compressed.hpp"
#include "tests/temporary_folder.hpp"

namespace weft {
namespace gzip_file_test {

class GzipFile : public testing::Test {
 protected:
  std::string read(const std::string& bytes) const {
    folder.write("a.gz", bytes);
    return read_gzip_file(folder.path() / "a.gz", "words");
  }
  tests::TemporaryFolder folder;
};

TEST_F(GzipFile, IsReadWhole) {
  const std::string long_text(3 << 20, 'a');
  EXPECT_EQ(read(tests::compressed(long_text)), long_text);
  EXPECT_EQ(read(tests::compressed("")), "");
}

TEST_F(GzipFile, IsRefusedWhereItIsCutOffOrPlain) {
  const std::string whole = tests::compressed("some words");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(read(whole.substr(0, bytes)), InputError) << bytes;
  EXPECT_THROW(read("some words"), InputError);
  EXPECT_THROW(read_gzip_file(folder.path() / "none.gz", "words"), InputError);
}

}  // namespace gzip_file_test
}  // namespace weft
