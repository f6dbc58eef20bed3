#include "models/machine/machine_numbers.hpp"

#include <functional>
#include <optional>

#include "models/base/input_error.hpp"
#include "models/machine/machine_fields.hpp"

namespace weft {
namespace {

/// Calls `visit(section, key, number, quantity, may be left out)` for each number.
template <class Visit>
class NumberWalk {
 public:
  NumberWalk(std::string section, Visit& visit) : section_(std::move(section)), visit_(visit) {}

  template <class Number>
  void number(std::string_view key, Number& number, const machine_file::Quantity& what, double = 1) {
    visit_(section_, key, number, what, false);
  }
  template <class Number>
  void optional(std::string_view key, Number& number, const machine_file::Quantity& what) {
    visit_(section_, key, number, what, true);
  }
  template <class List>
  void list(std::string_view, List&, const machine_file::Quantity&) {}
  template <class Flag>
  void flag(std::string_view, Flag&, const char*) {}
  template <class Enum>
  void word(std::string_view, Enum&) {}
  template <class Section>
  void section(std::string_view key, Section&& section, std::initializer_list<const char*> = {}) {
    NumberWalk walk(section_.empty() ? std::string(key) : section_ + "." + std::string(key), visit_);
    if constexpr (std::is_invocable_v<Section, NumberWalk&>)
      section(walk);
    else
      machine_file::describe(walk, section);
  }
  template <class Section>
  void optional_section(std::string_view key, Section& section) {
    if (section) this->section(key, *section);
  }

 private:
  std::string section_;
  Visit& visit_;
};

template <class AnyMachine, class Visit>
void walk(AnyMachine& machine, Visit visit) {
  NumberWalk<Visit> walk("", visit);
  machine_file::describe(walk, machine);
}

}  // namespace

std::vector<MachineNumber> machine_numbers(const Machine& machine) {
  std::vector<MachineNumber> numbers;
  walk(machine, [&](const std::string& section, std::string_view key, const auto& number,
                    const machine_file::Quantity& what, bool may_be_left_out) {
    numbers.push_back({.section = section,
                       .key = std::string(key),
                       .value = static_cast<double>(number),
                       .least = what.range.least,
                       .most = what.range.most,
                       .unit = what.unit,
                       .meaning = what.meaning,
                       .may_be_left_out = may_be_left_out});
  });
  return numbers;
}

double& number_of(Machine& machine, const std::string& section, const std::string& key) {
  double* found = nullptr;
  walk(machine, [&](const std::string& in, std::string_view name, auto& number, const machine_file::Quantity&, bool) {
    if constexpr (std::is_same_v<decltype(number), double&>)
      if (in == section && name == key) found = &number;
  });
  if (found == nullptr) throw InputError(section + "." + key, "expected a number of a machine profile");
  return *found;
}

}  // namespace weft
