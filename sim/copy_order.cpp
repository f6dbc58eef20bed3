#include "sim/copy_order.hpp"

#include <algorithm>

namespace weft::sim {

bool crosses_ranks(const Work& work) {
  const auto* copy = std::get_if<Copy>(&work);
  return copy != nullptr && copy->path == CopyPath::copy_engine && copy->source.place != copy->destination.place;
}

std::vector<bool> keeps_copy_engine(const Schedule& schedule) {
  const std::vector<Operation>& operations = schedule.operations;
  std::vector<bool> keeps(operations.size());
  if (schedule.launch != Launch::graph) return keeps;
  const auto is_peer_copy = [&](const After& after) { return crosses_ranks(operations[after.operation].work); };
  std::vector<OperationId> last_on_stream(schedule.streams.size(), -1);
  for (OperationId id = 0; id < static_cast<OperationId>(operations.size()); ++id) {
    const Operation& operation = operations[id];
    const OperationId before = std::exchange(last_on_stream[operation.stream], id);
    if (before >= 0 && operation.after.empty() && crosses_ranks(operation.work) &&
        crosses_ranks(operations[before].work))
      keeps[before] = true;
  }
  for (const Operation& operation : operations)
    if (std::count_if(operation.after.begin(), operation.after.end(), is_peer_copy) == 1)
      keeps[std::find_if(operation.after.begin(), operation.after.end(), is_peer_copy)->operation] = false;
  return keeps;
}

}  // namespace weft::sim
