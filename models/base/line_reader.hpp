// Lines of a stream as they arrive: a program that asks one question at a time gets its answer before it asks the next.
#pragma once

#include <deque>
#include <iosfwd>
#include <string>
#include <vector>

namespace weft {

class LineReader {
 public:
  /// `in` must outlive this.
  explicit LineReader(std::istream& in) : in_(in) {}

  /// Waits for a whole line or the end of the stream; then takes along what can be had without waiting, at most `most`
  /// lines in all. The last line may lack its newline. Empty only at the end. Throws InputError for a line of more than
  /// 16 MB, as of a device that has no end.
  std::vector<std::string> next(std::size_t most);

 private:
  bool read_what_is_there();

  std::istream& in_;
  std::deque<std::string> whole_;
  std::string begun_;  ///< the line whose end has not arrived
};

}  // namespace weft
