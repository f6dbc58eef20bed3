#include "calibration/evidence/ablation.hpp"

#include "calibration/evidence/progress_of_parts.hpp"
#include "sim/mechanisms.hpp"

namespace weft::calibration::evidence {

std::vector<Ablation> ablations(const std::vector<MeasuredCase>& measured, const Machine& machine,
                                const Progress& progress) {
  ProgressOfParts cases_done(progress, measured.size() * (1 + sim::named_mechanisms.size()));
  std::vector<Ablation> found;
  const auto add = [&](std::string_view name, const sim::Mechanisms& mechanisms) {
    std::size_t refused = 0;
    found.push_back(
        {name, accuracy_of(compare(measured, machine, refused, mechanisms, cases_done.next(measured.size())))});
  };
  add("none", {});
  for (const sim::NamedMechanism& mechanism : sim::named_mechanisms) {
    sim::Mechanisms mechanisms;
    mechanisms.*mechanism.is_on = false;
    add(mechanism.name, mechanisms);
  }
  return found;
}

}  // namespace weft::calibration::evidence
