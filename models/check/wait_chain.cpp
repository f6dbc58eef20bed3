#include "models/check/wait_chain.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t most_links = 10;  // that one reads

}  // namespace

std::string describe_wait_chain(const WhyBlocked& why, int start) {
  std::vector<std::string> sentences;
  std::unordered_map<int, std::size_t> places;  // of sentences, by key
  std::size_t begin = 0;
  int next = start;
  for (std::optional<Blocked> one; (one = why(next)); next = one->waits_for) {
    const auto [known, is_new] = places.emplace(next, sentences.size());
    if (!is_new) {
      begin = known->second;
      break;
    }
    sentences.push_back(std::move(one->sentence));
  }
  const std::size_t links = sentences.size() - begin;
  std::string text;
  for (std::size_t i = 0; i < std::min(links, most_links); ++i) text += (i > 0 ? "; " : "") + sentences[begin + i];
  return links > most_links ? text + "; and " + std::to_string(links - most_links) + " more" : text;
}

}  // namespace weft
