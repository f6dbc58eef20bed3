#include "models/check/memory_fit.hpp"

namespace weft {

double memory_GB(const Schedule& schedule) {
  double bytes = 0;
  for (const Buffer& buffer : schedule.buffers)
    bytes += static_cast<double>(bytes_of(buffer, buffer.rows * buffer.columns));
  return bytes * 1e-9;
}

bool fits_memory(const Schedule& schedule, const Machine& machine) {
  return machine.gpu.memory_GB <= 0 || memory_GB(schedule) <= machine.gpu.memory_GB;
}

}  // namespace weft
