#include "calibration/guest.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "models/execution/execution_error.hpp"

namespace weft::calibration {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw ExecutionError(path + ": expected a path of fewer than " + std::to_string(sizeof address.sun_path) +
                         " letters");
  std::ranges::copy(path, address.sun_path);
  return address;
}

/// -1: nobody listens there yet.
int connected(const sockaddr_un& address) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw ExecutionError(std::string("socket: ") + std::strerror(errno));
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  close(socket);
  return -1;
}

}  // namespace

Guest::Guest(const std::filesystem::path& folder, int rank, std::chrono::duration<double> limit)
    : path_(folder / ("rank-" + std::to_string(rank))), limit_(limit) {
  const sockaddr_un address = address_of(path_);
  const auto until = Clock::now() + limit_;
  while ((socket_ = connected(address)) < 0) {
    if (Clock::now() > until) throw ExecutionError(path_ + ": no guest listens there");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Guest::~Guest() { close(socket_); }

void Guest::prepare(const std::string& one_case) { ask("mix " + one_case); }

void Guest::turn() { ask("turn"); }

void Guest::end(int turns, int periods) { ask("end " + std::to_string(turns) + " " + std::to_string(periods)); }

void Guest::ask(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw ExecutionError(path_ + ": the guest has ended");
    sent += static_cast<std::size_t>(count);
  }
  if (const std::string said = answer(); said != "done")
    throw ExecutionError(path_ + ": expected the guest to say \"done\", got \"" + said + "\"");
}

std::string Guest::answer() {
  std::string line;
  for (const auto until = Clock::now() + limit_; line.empty() || line.back() != '\n';) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? poll(&readable, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) throw ExecutionError(path_ + ": the guest said nothing within its time limit");
    std::array<char, 64> piece{};
    const ssize_t count = ready < 0 ? -1 : recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) throw ExecutionError(path_ + ": the guest has ended");
    line.append(piece.data(), static_cast<std::size_t>(count));
  }
  line.pop_back();
  return line;
}

}  // namespace weft::calibration
