#include "models/base/appended_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"

namespace weft {
namespace {

/// What a power failure may cost where no line is waited for.
constexpr std::chrono::seconds between_syncs{1};

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

/// Anything else is not ours to drop: the file may be of another kind.
bool is_cut_off_line(std::string_view text, const std::vector<std::string_view>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) {
    const std::size_t size = std::min(text.size(), beginning.size());
    return text.substr(0, size) == beginning.substr(0, size);
  });
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path, const std::vector<std::string_view>& beginnings)
    : path_(std::move(path)) {
  require_writable(path_);
  if (!std::filesystem::exists(path_)) return;
  open(0);
  const std::string text = content_of(path_);
  const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  if (whole == text.size()) return;
  if (!is_cut_off_line(std::string_view(text).substr(whole), beginnings))
    throw InputError(path_.string(), "expected lines that weft wrote, got \"" + excerpt(text.substr(whole), 40) +
                                         "\" and no end of a line");
  cut(whole);
}

AppendedFile::~AppendedFile() {
  if (!exists()) return;
  ::flock(descriptor_, LOCK_UN);  // a process that was forked meanwhile may have it open still
  ::close(descriptor_);
}

void AppendedFile::open(int flags) {
  descriptor_ = ::open(path_.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
  if (!exists() && errno == EEXIST) throw InputError(path_.string(), "expected no other run to write it");
  if (!exists() && (flags & O_CREAT) != 0) fail();
  if (!exists())
    throw InputError(path_.string(),
                     "expected a file that can be written, got " + std::generic_category().message(errno));
  lock();
}

/// Not every file system can; those that cannot do not say that it would have to wait.
void AppendedFile::lock() {
  if (!std::filesystem::is_regular_file(path_)) return;
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(std::exchange(descriptor_, -1));
  throw InputError(path_.string(), "expected no other run to write it");
}

void AppendedFile::cut(std::size_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail();
}

void AppendedFile::add(std::string_view lines) {
  if (!exists()) {
    open(O_CREAT | O_EXCL);
    sync_folder_of(path_);
  }
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  if (!write(lines)) {
    const int reason = errno;
    [[maybe_unused]] const int is_cut = ::ftruncate(descriptor_, before);  // else the next run drops what is left
    errno = reason;
    fail();
  }
  if (std::chrono::steady_clock::now() - synced_ > between_syncs) sync();
}

bool AppendedFile::write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written < 0 && errno != EINTR) return false;
    lines.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return true;
}

/// A pipe has no disk to be on.
void AppendedFile::sync() {
  if (exists() && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail();
  synced_ = std::chrono::steady_clock::now();
}

void AppendedFile::fail() const { throw std::system_error(errno, std::generic_category(), path_.string()); }

}  // namespace weft
