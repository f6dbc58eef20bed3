// What a rank says to the program that takes turns with it, and what it makes of one that is late, wrong or gone.
#include "calibration/guest.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/execution/execution_error.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration {
namespace guest_test {

using std::chrono::milliseconds;

/// Listens from the start, says `answer` to each of the first `answers` lines, and then ends.
class Host {
 public:
  Host(std::filesystem::path path, std::string answer, int answers) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path_.string(), address.sun_path);
    listening_ = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listening_, 1), 0);
    thread_ = std::thread([this, answer, answers] { serve(answer, answers); });
  }
  ~Host() {
    if (thread_.joinable()) thread_.join();
    close(listening_);
    std::filesystem::remove(path_);
  }
  const std::vector<std::string>& heard() {
    thread_.join();
    return heard_;
  }

 private:
  void serve(const std::string& answer, int answers) {
    const int connection = accept(listening_, nullptr, nullptr);
    std::string text;
    std::array<char, 256> piece{};
    for (ssize_t count; (count = recv(connection, piece.data(), piece.size(), 0)) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(count));
      if (text.back() != '\n') continue;
      heard_.push_back(text.substr(0, text.size() - 1));
      text.clear();
      if (answers-- == 0) break;
      send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    close(connection);
  }

  std::filesystem::path path_;
  int listening_ = -1;
  std::vector<std::string> heard_;
  std::thread thread_;
};

class AGuest : public testing::Test {
 protected:
  /// What is thrown by a turn of a guest that answers so.
  std::string trouble(const std::string& answer, int answers) {
    Host host(folder.path() / "rank-3", answer, answers);
    Guest guest(folder.path(), 3, milliseconds(200));
    try {
      guest.turn();
      return "";
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }
  tests::TemporaryFolder folder;
};

TEST_F(AGuest, IsToldWhatToPrepareWhenToRunAndWhatCounts) {
  Host host(folder.path() / "rank-0", "done\n", 9);
  {
    Guest guest(folder.path(), 0, std::chrono::seconds(10));
    guest.prepare(R"({"gpus":2})");
    guest.turn();
    guest.end(30, 6);
  }
  EXPECT_EQ(host.heard(), (std::vector<std::string>{R"(mix {"gpus":2})", "turn", "end 30 6"}));
}

TEST_F(AGuest, ThatSaysNothingWrongThingsOrGoodbyeIsAnError) {
  EXPECT_EQ(trouble("done\n", 1), "");
  EXPECT_NE(trouble("don", 1).find("rank-3: the guest said nothing within its time limit"), std::string::npos);
  EXPECT_NE(trouble("no\n", 1).find("expected the guest to say \"done\", got \"no\""), std::string::npos);
  EXPECT_NE(trouble("", 0).find("rank-3: the guest has ended"), std::string::npos);
}

TEST_F(AGuest, ThatNeverCameIsAnError) { EXPECT_THROW(Guest(folder.path(), 1, milliseconds(120)), ExecutionError); }

}  // namespace guest_test
}  // namespace weft::calibration
