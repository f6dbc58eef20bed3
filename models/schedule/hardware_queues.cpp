#include "models/schedule/hardware_queues.hpp"

namespace weft {

std::vector<OperationId> queued_behind(const Schedule& schedule, int queues) {
  std::vector<OperationId> behind(schedule.operations.size(), -1);
  if (queues == 0) return behind;
  std::vector<OperationId> last(static_cast<std::size_t>(queues), -1);
  for (std::size_t id = 0; id < behind.size(); ++id) {
    const StreamId stream = schedule.operations[id].stream;
    OperationId& before = last[static_cast<std::size_t>(stream % queues)];
    if (before >= 0 && schedule.operations[static_cast<std::size_t>(before)].stream != stream) behind[id] = before;
    before = static_cast<OperationId>(id);
  }
  return behind;
}

}  // namespace weft
