#include "models/base/gzip_file.hpp"

#include <zlib.h>

#include <algorithm>
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

/// Before anything is read: zlib hands out what is no gzip file as it is.
bool is_of_gzip(const File& file) { return file && gzdirect(file.get()) == 0; }

bool was_read_whole(const File& file) {
  int error = Z_OK;
  gzerror(file.get(), &error);
  return error == Z_OK || error == Z_STREAM_END;
}

}  // namespace

bool is_compressed(const std::filesystem::path& path) { return path.extension() == ".gz"; }

std::string read_gzip_file(const std::filesystem::path& path, const std::string& contents) {
  constexpr unsigned bytes_at_once = 1 << 20;
  const File file(gzopen(path.c_str(), "rb"));
  std::string text;
  const InputError not_whole(path.string(), "expected " + contents + " in a whole gzip file");
  if (!is_of_gzip(file)) throw not_whole;
  for (int got = 1; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + bytes_at_once);
    got = gzread(file.get(), text.data() + before, bytes_at_once);
    text.resize(before + static_cast<std::size_t>(std::max(got, 0)));
    if (text.size() > most_bytes_read)  // a few KB can become as much as one likes
      throw InputError(path.string(), "expected at most " + std::to_string(most_bytes_read >> 20) + " MB of " +
                                          contents + ", got more");
  }
  if (!was_read_whole(file)) throw not_whole;
  return text;
}

}  // namespace weft
