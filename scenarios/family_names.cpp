#include "scenarios/family_names.hpp"

#include <algorithm>

#include "models/base/text.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios {

std::vector<std::string> family_names(const JsonValue& words) {
  const std::vector<std::string> known = searched_families();
  std::vector<std::string> names;
  for (const JsonValue& word : words.list()) {
    names.push_back(word.string());
    if (std::find(known.begin(), known.end(), names.back()) == known.end()) word.fail("one of " + joined(known));
  }
  return names;
}

}  // namespace weft::scenarios
