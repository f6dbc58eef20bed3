// What is asked, and of which machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/library/open_profile.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/scenario.hpp"

namespace weft::scenarios::library {

struct AskedQuestion {
  std::string what = {};     ///< a scenario, a config.json or its folder, or words
  std::string machine = {};  ///< a profile's name or path; empty: the question's own
  std::optional<int> gpus = {};
  std::vector<std::int64_t> sizes = {};
  AskedSequences step = {};
};

struct OpenQuestion {
  Scenario scenario;
  std::shared_ptr<const OpenProfile> profile;
};

/// Is what the field says said beside the question, and not by it?
bool is_given(const std::string& field, const AskedQuestion& asked);

/// A machine that is named says how many GPUs a question has that does not. Throws InputError as
/// scenarios::read_question() and OpenProfile do, and where neither the question nor `machine` names a profile.
OpenQuestion read_question(const AskedQuestion& asked);

}  // namespace weft::scenarios::library
