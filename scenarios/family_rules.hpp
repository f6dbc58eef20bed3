// The registry of schedule families: what weft knows of each. A family is a struct in schedule_choice.hpp with a place
// in `Family`, and a file families/NAME.cpp, which says in a class of its own
//
//   static constexpr std::string_view name      its word in a case
//   static constexpr std::string_view meaning   what it does, in one line
//   std::string in_words(choice)                what it leaves open, for people: ", chunks 4"
//   Schedule build(request, machine)            the program; InputError where it does not have the op
//   void add_pair(program, request, machine)    in place of build(), of a family of pairs: the pair of `request` added
//                                               to a program, alone or in a layer
//   std::vector<Choice> candidates(workload, gpus, space)   those worth asking about
//   bool runs_nccl(choice, workload)            whether limits of NCCL's CTAs change it; without it they do
//   bool is_open(choice), std::vector<Choice> searched(request, machine)
//                                               whether it has values to be searched, and the likely ones, best first
//
// and ends with `const FamilyRules Choice::rules = FamilyRules::of<Choice, Class>();`. The last three lines and
// candidates may be left out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json_object.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

struct SearchSpace;
namespace families {
class Program;
/// Of a family of pairs: the pair alone, or a layer with its pairs so.
Schedule build_pairs(const Case& request, const Machine& machine);
}  // namespace families

struct FamilyRules {
  std::string_view name, meaning;
  Family (*read)(JsonObject&) = nullptr;  ///< its keys besides `family`; throws InputError
  std::vector<Field> (*fields)(const Family&) = nullptr;
  Family (*defaults)() = nullptr;  ///< the family with nothing chosen
  std::string (*in_words)(const Family&) = nullptr;
  bool (*is_open)(const Family&) = nullptr;
  std::vector<Family> (*searched)(const Case&, const Machine&) = nullptr;       ///< never empty where it is_open
  Schedule (*build)(const Case&, const Machine&) = nullptr;                     ///< of a case that is not open
  void (*add_pair)(families::Program&, const Case&, const Machine&) = nullptr;  ///< null: no family of pairs
  std::vector<Family> (*candidates)(const Workload&, int gpus, const SearchSpace&) = nullptr;  ///< or null: no search
  bool (*runs_nccl)(const Family&, const Workload&) = nullptr;

  template <class Choice, class Rules>
  static constexpr FamilyRules of();
};

const FamilyRules& rules_of(const Family& family);

/// In the order of Family.
std::span<const FamilyRules* const> all_families();

/// Those that a scenario may name. Serial is always there; hybrids come by themselves where all families are looked at.
std::vector<std::string> searched_families();

template <class Choice, class Rules>
constexpr FamilyRules FamilyRules::of() {
  FamilyRules rules;
  rules.name = Rules::name;
  rules.meaning = Rules::meaning;
  rules.read = [](JsonObject& object) -> Family {
    Choice choice;
    FieldReader reader(object);
    Choice::describe(reader, choice);
    return choice;
  };
  rules.fields = [](const Family& family) { return fields_of(std::get<Choice>(family)); };
  rules.defaults = []() -> Family { return Choice{}; };
  rules.in_words = [](const Family& family) { return Rules::in_words(std::get<Choice>(family)); };
  if constexpr (requires { Rules::add_pair; })
    rules.build = families::build_pairs, rules.add_pair = Rules::add_pair;
  else
    rules.build = Rules::build;
  rules.is_open = [](const Family& family) {
    if constexpr (requires { Rules::is_open; })
      return Rules::is_open(std::get<Choice>(family));
    else
      return false;
  };
  rules.runs_nccl = [](const Family& family, const Workload& workload) {
    if constexpr (requires { Rules::runs_nccl; })
      return Rules::runs_nccl(std::get<Choice>(family), workload);
    else
      return true;
  };
  if constexpr (requires { Rules::searched; })
    rules.searched = [](const Case& request, const Machine& machine) {
      const auto choices = Rules::searched(request, machine);  // perhaps of another family, which can say more
      return std::vector<Family>(choices.begin(), choices.end());
    };
  if constexpr (requires { Rules::candidates; })
    rules.candidates = [](const Workload& workload, int gpus, const SearchSpace& space) {
      const std::vector<Choice> choices = Rules::candidates(workload, gpus, space);
      return std::vector<Family>(choices.begin(), choices.end());
    };
  return rules;
}

}  // namespace weft::scenarios
