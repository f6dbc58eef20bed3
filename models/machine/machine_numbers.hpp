// The numbers of a machine one by one, by the names that its profile gives them.
#pragma once

#include <string>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft {

/// {"gemm", "kernel_overhead", 2.1, 0, 1e4, "us", "once a kernel", false}. Of a section in a section both are named,
/// "fabric.host".
struct MachineNumber {
  std::string section, key;
  double value = 0;
  double least = 0, most = 0;  ///< of what a profile may say
  std::string unit, meaning;
  bool may_be_left_out = false;  ///< in a profile: then the value is that of a mechanism that is off
};

/// "gemm.kernel_overhead".
inline std::string full_name(const MachineNumber& number) { return number.section + "." + number.key; }

/// All single numbers of the sections, in the order of a profile; lists, flags, curves and protocols are none.
std::vector<MachineNumber> machine_numbers(const Machine& machine);

/// Throws InputError, field "SECTION.KEY", where a machine has no such number or it is an integer.
double& number_of(Machine& machine, const std::string& section, const std::string& key);

}  // namespace weft
