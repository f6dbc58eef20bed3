#include "models/base/gzip_file.hpp"

#include <zlib.h>

#include <cstddef>
#include <memory>

#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"

namespace weft {
namespace {

struct Closing {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<gzFile_s, Closing>;

/// Whether the file is one of gzip and was whole as far as it was read: zlib hands out others as they are.
bool is_whole(const File& file) {
  int error = Z_OK;
  gzerror(file.get(), &error);
  return (error == Z_OK || error == Z_STREAM_END) && gzdirect(file.get()) == 0;
}

}  // namespace

bool is_compressed(const std::filesystem::path& path) { return path.extension() == ".gz"; }

std::string read_gzip_file(const std::filesystem::path& path, const std::string& contents) {
  constexpr unsigned bytes_at_once = 1 << 20;
  const File file(gzopen(path.c_str(), "rb"));
  std::string text;
  for (int got = file ? 1 : -1; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + bytes_at_once);
    got = gzread(file.get(), text.data() + before, bytes_at_once);
    text.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (text.size() > most_bytes_read)  // a few KB can become as much as one likes
      throw InputError(path.string(), "expected at most " + std::to_string(most_bytes_read >> 20) + " MB of " +
                                          contents + ", got more");
  }
  if (!file || !is_whole(file)) throw InputError(path.string(), "expected " + contents + " in a whole gzip file");
  return text;
}

}  // namespace weft
