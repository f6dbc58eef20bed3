// Who waits for whom, in words: the message of a deadlock.
#pragma once

#include <map>
#include <string>

namespace weft {

/// Somebody who cannot go on: `sentence` says who and why, `waits_for` is the key of the one who would have to go on
/// first, or -1 where nobody could help.
struct Blocked {
  std::string sentence;
  int waits_for = -1;
};

/// Follows `blocked` from the entry `start` to where it closes a cycle, and returns the sentences of that cycle, each
/// once, separated by "; ". Where it ends without one (somebody waits for what nobody gives), those from `start` to
/// that end. `start` must be a key; a `waits_for` that is no key ends the chain.
std::string describe_wait_chain(const std::map<int, Blocked>& blocked, int start);

}  // namespace weft
