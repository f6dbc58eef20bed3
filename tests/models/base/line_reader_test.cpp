#include "models/base/line_reader.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/models/error_of.hpp"

namespace weft {
namespace line_reader_test {

using testing::ElementsAre;
using testing::IsEmpty;

/// Hands out one piece after the other, as a pipe does; `asked` counts how often more was waited for.
class Pieces : public std::streambuf {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::size_t asked() const { return next_; }

 protected:
  int_type underflow() override {
    if (next_ == pieces_.size()) return traits_type::eof();
    std::string& piece = pieces_[next_++];
    setg(piece.data(), piece.data(), piece.data() + piece.size());
    return traits_type::to_int_type(piece.front());
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

TEST(LineReader, HandsOutWholeLinesBeforeItWaitsForTheRest) {
  Pieces pieces({"a\nb\nbe", "gun\n", "last"});
  std::istream in(&pieces);
  LineReader reader(in);
  EXPECT_THAT(reader.next(10), ElementsAre("a", "b"));
  EXPECT_EQ(pieces.asked(), 1u);
  EXPECT_THAT(reader.next(10), ElementsAre("begun"));
  EXPECT_THAT(reader.next(10), ElementsAre("last"));
  EXPECT_THAT(reader.next(10), IsEmpty());
}

TEST(LineReader, WaitsForTheEndOfALine) {
  Pieces pieces({"l", "on", "g\n"});
  std::istream in(&pieces);
  EXPECT_THAT(LineReader(in).next(10), ElementsAre("long"));
}

TEST(LineReader, TakesNoMoreThanItIsAsked) {
  std::istringstream in("a\n\nc\n");
  LineReader reader(in);
  EXPECT_THAT(reader.next(2), ElementsAre("a", ""));
  EXPECT_THAT(reader.next(2), ElementsAre("c"));
  EXPECT_THAT(reader.next(2), IsEmpty());
}

TEST(LineReader, GathersWhatIsThere) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line\n";
  std::istringstream in(text);
  EXPECT_EQ(LineReader(in).next(100'000).size(), 100'000u);
}

TEST(LineReader, RefusesALineWithoutAnEnd) {
  std::ifstream in("/dev/zero");
  LineReader reader(in);
  EXPECT_EQ(error_of([&] { reader.next(1); }), "expected lines of at most 16 MB, got a longer one");
}

}  // namespace line_reader_test
}  // namespace weft
