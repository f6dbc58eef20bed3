#include "sim/meaning/meaning_report.hpp"

#include <cstdint>
#include <string_view>

#include "models/base/input_error.hpp"
#include "models/base/names.hpp"
#include "models/schedule/amounts.hpp"
#include "sim/meaning/in_units.hpp"
#include "sim/meaning/numerical_meaning.hpp"

namespace weft::sim::meaning {
namespace {

constexpr std::uint64_t runs = 4;  ///< with other durations and operands each

/// Larger schedules are computed in units, and not at all where those are as many: integers on one core would take
/// minutes or more memory than there is.
constexpr double most_flops = 1e10, most_elements = 5e7;

bool is_small(const Schedule& schedule) {
  double flops = 0, elements = 0;
  for (const Operation& operation : schedule.operations) flops += tensor_flops(operation.work, schedule.gpus);
  for (const Buffer& buffer : schedule.buffers) elements += static_cast<double>(buffer.rows * buffer.columns);
  return flops * schedule.gpus * runs <= most_flops && elements * schedule.gpus <= most_elements;
}

/// Results of one kernel alone, which the GPUs are held to and the integers are not.
bool is_of_one_kernel(std::string_view op) {
  return op == kind_of(Work(GroupedGemm{})) || find_name<MemoryKernel>(op).has_value();
}

/// Throws InputError, field "operations…", for an operation that means nothing in integers.
void require_meaning(const Schedule& schedule) {
  for (std::uint64_t seed = 0; seed < runs; ++seed)
    if (const auto wrong = check_meaning(schedule, seed)) throw InputError("meaning", describe(*wrong));
}

std::string after_check(const Schedule& schedule, std::string_view how) {
  try {
    require_meaning(schedule);
  } catch (const InputError& error) {
    if (!error.field().starts_with("operations")) throw;
    return "not computed in integers: " + std::string(error.what());
  }
  return "computes " + schedule.meaning->op + ", in integers, in " + std::to_string(runs) +
         " runs with random durations" + std::string(how);
}

}  // namespace

std::string meaning_in_words(const Schedule& schedule) {
  if (!schedule.meaning) return "says nothing of what it computes";
  if (schedule.meaning->layer)
    return "says that it computes whole layers, which weft measure compares with serial ones";
  if (is_of_one_kernel(schedule.meaning->op))
    return "says that it computes " + schedule.meaning->op + ", which weft run checks on GPUs";
  require_meaning_fits(schedule);
  if (is_small(schedule)) return after_check(schedule, "");
  const Schedule units = in_units(schedule).schedule;
  if (!is_small(units)) return "not checked: too large to compute " + schedule.meaning->op + " in integers";
  return after_check(units, ", where one row or column stands for all that are treated alike");
}

}  // namespace weft::sim::meaning
