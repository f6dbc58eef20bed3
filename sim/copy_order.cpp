#include "sim/copy_order.hpp"

#include <algorithm>
#include <optional>

#include "models/schedule/facts.hpp"
#include "models/schedule/hardware_queues.hpp"

namespace weft::sim {

bool is_peer_copy(const Work& work) {
  const Facts of_work = facts(work);
  const bool goes_to_peer =
      of_work.role == Role::communication || (of_work.role == Role::synchronisation && of_work.crosses_ranks);
  return of_work.runs_on_copy_engine && goes_to_peer && !of_work.is_collective;
}

std::vector<bool> peer_copies(const Schedule& schedule) {
  std::vector<bool> are_copies;
  for (const Operation& operation : schedule.operations) are_copies.push_back(is_peer_copy(operation.work));
  return are_copies;
}

std::vector<bool> keeps_copy_engine(const Schedule& schedule) {
  const std::vector<Operation>& operations = schedule.operations;
  std::vector<bool> keeps(operations.size());
  if (schedule.launch != Launch::graph || branches_share_queue(schedule)) return keeps;
  const auto follows_copy = [&](const After& after) { return is_peer_copy(operations[after.operation].work); };
  std::vector<OperationId> last_on_stream(schedule.streams.size(), -1);
  std::vector<bool> copies_itself(schedule.streams.size());
  std::optional<StreamId> first_branch;  // of copies that a kernel waits for
  bool is_kept = false;                  // and does it go on all the same?
  for (OperationId id = 0; id < static_cast<OperationId>(operations.size()); ++id) {
    const Operation& operation = operations[id];
    const OperationId before = std::exchange(last_on_stream[operation.stream], id);
    if (before >= 0 && operation.after.empty() && is_peer_copy(operation.work) && is_peer_copy(operations[before].work))
      keeps[before] = true;
    const auto first = std::find_if(operation.after.begin(), operation.after.end(), follows_copy);
    if (facts(operation.work).runs_on_copy_engine && !is_peer_copy(operation.work))
      copies_itself[operation.stream] = true;
    if (first == operation.after.end() || first_branch) continue;
    first_branch = operations[first->operation].stream;
    is_kept = before >= 0 && facts(operations[before].work).role == Role::matrix && !copies_itself[operation.stream];
  }
  for (const Operation& operation : operations) {
    const auto first = std::find_if(operation.after.begin(), operation.after.end(), follows_copy);
    if (first == operation.after.end()) continue;
    const bool goes_on = is_kept && operations[first->operation].stream == first_branch;
    if (!goes_on) keeps[first->operation] = false;
  }
  return keeps;
}

}  // namespace weft::sim
