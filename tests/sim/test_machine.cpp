#include "tests/sim/test_machine.hpp"

#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim {

const Machine& test_machine() {
  static const Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  return machine;
}

Gpu test_gpu(int gpcs, int sms_per_gpc) {
  Gpu gpu;
  gpu.gpc_sms.assign(static_cast<std::size_t>(gpcs), sms_per_gpc);
  gpu.registers_per_sm = 1024;
  gpu.shared_memory_per_sm = 1024;
  gpu.threads_per_sm = 1024;
  gpu.ctas_per_sm = 8;
  return gpu;
}

}  // namespace weft::sim
