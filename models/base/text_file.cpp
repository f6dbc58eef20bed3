#include "models/base/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include "models/base/input_error.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t bytes_at_once = 64 << 10;

[[noreturn]] void fail(const fs::path& path) { throw std::system_error(errno, std::generic_category(), path.string()); }

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~OpenFile() {
    if (is_open()) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR) return false;
      text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
  }
  /// Appends what comes next to the text, at most so many bytes; false at the end, or where nothing can be read.
  bool read(std::string& text, std::size_t most) {
    const std::size_t before = text.size();
    text.resize(before + most);
    ssize_t size = 0;
    do size = ::read(descriptor_, text.data() + before, most);
    while (size < 0 && errno == EINTR);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return size > 0;
  }
  bool sync() { return ::fsync(descriptor_) == 0; }
  /// Some file systems tell only now that there was no room.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

void write_device(const fs::path& path, std::string_view text) {
  OpenFile file(path, O_WRONLY | O_APPEND);
  if (!file.is_open() || !file.write(text) || !file.close()) fail(path);
}

/// No other process or thread has the same.
std::string unique_word() {
  static std::atomic<unsigned> count = 0;
  return std::to_string(getpid()) + "." + std::to_string(++count);
}

/// A file that waits beside its place, and is gone unless it took it for good.
class Draft {
 public:
  Draft(const fs::path& path, std::string_view text)
      : path_(path), is_first_(!fs::exists(path)), draft_(path.string() + "." + unique_word() + ".tmp") {
    if (fs::is_directory(path)) errno = EISDIR, fail(path);
    OpenFile file(draft_, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open()) draft_.clear(), fail(path_);
    if (!file.write(text) || !file.sync() || !file.close()) remove_and_fail();
  }
  ~Draft() {
    if (!draft_.empty()) ::unlink(draft_.c_str());
    if (is_placed_ && is_first_) ::unlink(path_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  /// For good once `keep` is called; until then a file that nothing stood in the place of goes again.
  void take_place() {
    if (::rename(draft_.c_str(), path_.c_str()) != 0) fail(path_);
    draft_.clear();
    is_placed_ = true;
    sync_folder_of(path_);
  }
  void keep() { is_placed_ = false; }

 private:
  [[noreturn]] void remove_and_fail() {
    const int reason = errno;
    ::unlink(draft_.c_str());
    errno = reason;
    fail(path_);
  }

  fs::path path_;
  bool is_first_, is_placed_ = false;
  fs::path draft_;  ///< empty once it took its place
};

}  // namespace

bool is_device(const fs::path& path) {
  return fs::exists(path) && (!fs::is_regular_file(path) || path.parent_path() == "/dev");
}

std::string read_text_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw InputError(path.string(), "expected a file, found none");
  if (fs::is_directory(path, error)) throw InputError(path.string(), "expected a file, got a folder");
  errno = 0;
  OpenFile file(path, O_RDONLY);
  const std::size_t size =
      fs::is_regular_file(path, error) ? std::min<std::uintmax_t>(fs::file_size(path, error), most_bytes_read) : 0;
  std::string text;
  // One byte more than the file has tells its end; a stream, or what grew since, comes in pieces.
  while (file.is_open() && file.read(text, text.size() <= size ? size + 1 - text.size() : bytes_at_once))
    if (text.size() > most_bytes_read)
      throw InputError(path.string(), "expected at most " + std::to_string(most_bytes_read >> 20) + " MB, got more");
  if (errno != 0)
    throw InputError(path.string(), "expected a file that can be read: " + std::generic_category().message(errno));
  return text;
}

void write_text_files(const std::vector<TextFile>& files) {
  std::vector<std::unique_ptr<Draft>> drafts;
  for (const TextFile& file : files)
    if (!is_device(file.path)) drafts.push_back(std::make_unique<Draft>(file.path, file.text));
  for (const TextFile& file : files)
    if (is_device(file.path)) write_device(file.path, file.text);
  for (const auto& draft : drafts) draft->take_place();
  for (const auto& draft : drafts) draft->keep();
}

void sync_folder_of(const fs::path& path) { OpenFile(folder_of(path), O_RDONLY | O_DIRECTORY).sync(); }

void remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(path);
}

void write_text_file(const fs::path& path, std::string_view text) { write_text_files({{path, std::string(text)}}); }

void require_writable(const fs::path& path) {
  if (path.empty()) return;
  for (const fs::path& name : path)
    if (name.native().size() > NAME_MAX)
      throw InputError(path.string(), "expected names of at most " + std::to_string(NAME_MAX) + " bytes");
  if (fs::is_directory(path)) throw InputError(path.string(), "expected a file, got a folder");
  const fs::path folder = folder_of(path);
  if (!fs::is_directory(folder))
    throw InputError(path.string(), "expected a file in a folder that exists, found no " + folder.string());
  if (access(is_device(path) ? path.c_str() : folder.c_str(), W_OK) != 0) fail(path);
}

}  // namespace weft
