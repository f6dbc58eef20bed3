#include "models/check/wait_chain.hpp"

#include <algorithm>
#include <vector>

namespace weft {

std::string describe_wait_chain(const std::map<int, Blocked>& blocked, int start) {
  std::vector<int> chain;
  for (int next = start; blocked.contains(next); next = blocked.at(next).waits_for) {
    const auto closes = std::find(chain.begin(), chain.end(), next);
    if (closes != chain.end()) {
      chain.erase(chain.begin(), closes);
      break;
    }
    chain.push_back(next);
  }
  std::string text;
  for (const int one : chain) text += (text.empty() ? "" : "; ") + blocked.at(one).sentence;
  return text;
}

}  // namespace weft
