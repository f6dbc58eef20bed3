// A library to preload: lets one operation on the files of a folder fail, as a full or a broken disk would, or ends the
// process there. tools/faults sets these variables:
//   WEFT_FAULT_FOLDER  the folder; all other files are left alone
//   WEFT_FAULT_AT      which operation, from 1; 0: none
//   WEFT_FAULT_KIND    once: that one fails; full: it and all that follow, where they write; kill: SIGKILL instead of
//                      it. Of a write half is written before.
//   WEFT_FAULT_LOG     file that gets a line "OPERATION FILE" for each operation
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_watched(const std::string& path) {
  static const std::string folder = variable("WEFT_FAULT_FOLDER") + "/";
  char whole[PATH_MAX];
  const std::string parent = path.substr(0, path.rfind('/') + 1);
  return folder.size() > 1 && realpath(parent.empty() ? "." : parent.c_str(), whole) != nullptr &&
         (std::string(whole) + "/").starts_with(folder);
}

/// Pipes have names that are no paths.
std::string path_of(int descriptor) {
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return size > 0 && path[0] == '/' ? std::string(path, static_cast<std::size_t>(size)) : "/dev/null";
}

void log(const std::string& line) {
  static const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, variable("WEFT_FAULT_LOG").c_str(),
                                                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file >= 0) syscall(SYS_write, file, line.data(), line.size());
}

/// Whether the operation on `path` that begins now is to fail.
bool fails(const std::string& operation, const std::string& path, const std::function<void()>& before_the_end) {
  static std::atomic<int> count = 0;
  static const int at = std::atoi(variable("WEFT_FAULT_AT").c_str());
  static const std::string kind = variable("WEFT_FAULT_KIND");
  if (!is_watched(path)) return false;
  log(operation + " " + path.substr(path.rfind('/') + 1) + "\n");
  const int number = ++count;
  const bool is_full = kind == "full" && operation == "write";
  if (at == 0 || number < at || (kind == "full" && !is_full) || (kind != "full" && number > at)) return false;
  if (number == at) before_the_end();
  if (kind == "kill") kill(getpid(), SIGKILL);
  return true;
}

bool fails(const char* operation, const std::string& path, int reason) {
  const bool result = fails(operation, path, [] {});
  if (result) errno = reason;
  return result;
}

int open_file(const char* path, int flags, mode_t mode) {
  if ((flags & O_ACCMODE) != O_RDONLY && fails("open", path, EACCES)) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

mode_t mode_of(int flags, va_list arguments) { return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0; }

std::FILE* open_stream(const char* name, const char* path, const char* mode) {
  if (*mode != 'r' && fails("open", path, EACCES)) return nullptr;
  return next<std::FILE*(const char*, const char*)>(name)(path, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

ssize_t write(int file, const void* data, size_t size) {
  const auto half = [&] { syscall(SYS_write, file, data, size / 2); };
  if (fails("write", path_of(file), half)) return errno = ENOSPC, -1;
  return syscall(SYS_write, file, data, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  const auto half = [&] { syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2); };
  if (fails("write", path_of(file), half)) return errno = ENOSPC, -1;
  return syscall(SYS_writev, file, parts, count);
}

int fsync(int file) {
  if (fails("sync", path_of(file), EIO)) return -1;
  return static_cast<int>(syscall(SYS_fsync, file));
}

int ftruncate(int file, off_t size) noexcept {
  if (fails("cut", path_of(file), EIO)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename", to, EACCES)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int remove(const char* path) noexcept {
  if (fails("remove", path, EACCES)) return -1;
  return next<int(const char*)>("remove")(path);
}

int unlink(const char* path) noexcept {
  if (fails("remove", path, EACCES)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
