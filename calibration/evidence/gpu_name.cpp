#include "calibration/evidence/gpu_name.hpp"

#include <utility>

namespace weft::calibration::evidence {

bool is_of_maker(const std::string& gpu, const Machine& machine) {
  for (const auto& [maker, runtime] : {std::pair{"NVIDIA", Runtime::cuda}, std::pair{"AMD", Runtime::rocm}})
    if (gpu.starts_with(maker)) return machine.runtime == runtime;
  return true;
}

}  // namespace weft::calibration::evidence
