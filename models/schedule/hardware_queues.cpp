#include "models/schedule/hardware_queues.hpp"

#include "models/schedule/facts.hpp"

namespace weft {
namespace {

/// The engines have queues of their own, where no kernel stands. A copy that stays on its GPU starts as a kernel does.
bool stands_in_no_queue(const Work& work) {
  const Facts of_work = facts(work);
  return of_work.runs_on_copy_engine && of_work.crosses_ranks && !of_work.is_collective;
}

}  // namespace

std::vector<OperationId> queued_behind(const Schedule& schedule, int queues) {
  std::vector<OperationId> behind(schedule.operations.size(), -1);
  if (queues == 0 || schedule.launch == Launch::graph) return behind;
  std::vector<OperationId> last(static_cast<std::size_t>(queues), -1);
  for (std::size_t id = 0; id < behind.size(); ++id) {
    if (stands_in_no_queue(schedule.operations[id].work)) continue;
    const StreamId stream = schedule.operations[id].stream;
    OperationId& before = last[static_cast<std::size_t>(stream % queues)];
    if (before >= 0 && schedule.operations[static_cast<std::size_t>(before)].stream != stream) behind[id] = before;
    before = static_cast<OperationId>(id);
  }
  return behind;
}

bool branches_share_queue(const Schedule& schedule) {
  return schedule.launch == Launch::graph && schedule.max_connections > 0 &&
         schedule.max_connections <= connections_of_shared_queue;
}

}  // namespace weft
