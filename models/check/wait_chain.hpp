// Who waits for whom, in words: the message of a deadlock.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace weft {

/// Somebody who cannot go on: `sentence` says who and why, `waits_for` is the key of the one who would have to go on
/// first, or -1 where nobody could help.
struct Blocked {
  std::string sentence;
  int waits_for = -1;
};

/// Who is asked about by key; empty for one that is not blocked.
using WhyBlocked = std::function<std::optional<Blocked>(int)>;

/// Follows who waits for whom from `start`, who must be blocked, to where that closes a cycle, and returns the
/// sentences of that cycle, each once, separated by "; ". Where it ends without one (somebody waits for what nobody
/// gives), those from `start` to that end. Of more than ten the first ten, and how many more there are.
std::string describe_wait_chain(const WhyBlocked& why, int start);

}  // namespace weft
