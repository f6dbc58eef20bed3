// best: the fastest of the other families, found by whoever can tell how long each takes (study/settle.hpp).
#include "models/base/input_error.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios::families {
namespace {

struct BestRules {
  static constexpr std::string_view name = "best";
  static constexpr std::string_view meaning = "the fastest of the families that the op has";
  static std::string in_words(const Best& choice) {
    std::string text = choice.runnable ? " that runs" : "";
    for (const std::string& family : choice.among) text += (&family == choice.among.data() ? ", among " : " ") + family;
    return text;
  }
  static bool is_open(const Best&) { return true; }
  static std::vector<Best> searched(const Case&, const Machine&) {
    throw InputError("schedule.family", "expected a family other than best, which is found by comparing the others");
  }
  static Schedule build(const Case&, const Machine&) { return {}; }  // never asked, since it is open
};

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Best::rules =
    FamilyRules::of<Best, families::BestRules>();
