#include "calibration/evidence/json_lines.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "tests/compressed.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace json_lines_test {

class JsonLines : public testing::Test {
 protected:
  std::vector<nlohmann::json> read(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    for_each_json_line(folder.path() / name, [&](const nlohmann::json& line, int) { lines.push_back(line); });
    return lines;
  }
  std::string error_of(const std::string& bytes) const {
    folder.write("file.gz", bytes);
    try {
      read("file.gz");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const tests::TemporaryFolder folder;
  const std::string text = "{\"a\": 1}\n\n{\"a\": \"two\"}\n[3]";
  const std::string no_gzip_file = (folder.path() / "file.gz").string() + ": expected JSON lines in a whole gzip file";
};

TEST_F(JsonLines, AreTheSameCompressed) {
  folder.write("file", text);
  folder.write("file.gz", tests::compressed(text));
  EXPECT_EQ(read("file").size(), 3u);
  EXPECT_EQ(read("file.gz"), read("file"));
}

TEST_F(JsonLines, OfSeveralCompressedPiecesStandInARow) {
  folder.write("file.gz", tests::compressed("1\n") + tests::compressed("2\n"));
  EXPECT_EQ(read("file.gz"), (std::vector<nlohmann::json>{1, 2}));
}

TEST_F(JsonLines, AreRefusedWhereverACompressedFileIsCutOff) {
  const std::string whole = tests::compressed(text);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_EQ(error_of(whole.substr(0, bytes)), no_gzip_file) << bytes;
}

TEST_F(JsonLines, AreRefusedWhereTheirCompressedBytesHaveChanged) {
  const std::string whole = tests::compressed(text);
  const std::size_t header = 10, length = 4;  // Boost does not read the length at the end: the checksum before it tells
  for (std::size_t at = header; at < whole.size() - length; ++at) {
    std::string bytes = whole;
    bytes[at] ^= 4;
    EXPECT_EQ(error_of(bytes), no_gzip_file) << at;
  }
}

TEST_F(JsonLines, AreRefusedWhereACompressedFileIsPlain) { EXPECT_EQ(error_of(text), no_gzip_file); }

TEST_F(JsonLines, AreRefusedWhereAFewCompressedBytesWouldFillTheMemory) {
  EXPECT_THAT(error_of(tests::compressed(std::string(most_bytes_read + 1, '\n'))),
              testing::HasSubstr("file.gz: expected at most 128 MB of JSON lines, got more"));
}

TEST_F(JsonLines, NameTheLineOfACompressedFile) {
  EXPECT_THAT(error_of(tests::compressed("{}\n{")), testing::HasSubstr("file.gz: line 2: "));
}

}  // namespace json_lines_test
}  // namespace weft::calibration::evidence
