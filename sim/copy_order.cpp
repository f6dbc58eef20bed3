#include "sim/copy_order.hpp"

#include <optional>
#include <utility>

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

CopyStreams copy_streams(const Schedule& schedule) {
  const std::size_t streams = schedule.streams.size();
  std::vector<bool> has_gemms(streams), has_peer_copies(streams), has_others(streams);
  CopyStreams found{.begin_by_copy = std::vector<bool>(streams)};
  int peer_copies = 0;
  for (const Operation& one : schedule.operations) {
    const Facts of_work = facts(one.work);
    const bool is_of_peers = is_peer_copy(one.work);
    peer_copies += is_of_peers;
    (is_of_peers ? has_peer_copies : has_others)[one.stream] = true;
    if (of_work.role == Role::matrix) has_gemms[one.stream] = true;
    if (of_work.runs_on_copy_engine && !is_of_peers && !has_gemms[one.stream]) found.begin_by_copy[one.stream] = true;
  }
  bool have_others = false;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    found.with_peer_copies += has_peer_copies[stream];
    have_others |= has_peer_copies[stream] && has_others[stream];
  }
  found.are_apart = peer_copies > 1 && found.with_peer_copies == 1 && !have_others;
  return found;
}

std::vector<bool> keeps_copy_engine(const Schedule& schedule) {
  const std::vector<Operation>& operations = schedule.operations;
  std::vector<bool> keeps(operations.size());
  if (schedule.launch != Launch::graph || branches_share_queue(schedule)) return keeps;
  const auto first_copy_of = [&](const Operation& operation) -> std::optional<OperationId> {
    for (const After& after : operation.after)
      if (is_peer_copy(operations[after.operation].work)) return after.operation;
    return std::nullopt;
  };
  std::vector<OperationId> last_on_stream(schedule.streams.size(), -1);
  std::optional<StreamId> first_branch;      // of copies that a kernel waits for
  bool is_kept = false;                      // and does it go on all the same?
  std::vector<OperationId> whose_kernel_is;  // which continues their branch
  for (OperationId id = 0; id < static_cast<OperationId>(operations.size()); ++id) {
    const Operation& operation = operations[id];
    const OperationId before = std::exchange(last_on_stream[operation.stream], id);
    if (before >= 0 && operation.after.empty() && is_peer_copy(operation.work) && is_peer_copy(operations[before].work))
      keeps[before] = true;
    const std::optional<OperationId> copy = first_copy_of(operation);
    if (!copy) continue;
    whose_kernel_is.push_back(*copy);
    if (first_branch) continue;
    first_branch = operations[*copy].stream;
    is_kept = before >= 0 && facts(operations[before].work).role == Role::matrix &&
              !copy_streams(schedule).begin_by_copy[operation.stream];
  }
  for (const OperationId copy : whose_kernel_is)
    if (!is_kept || operations[copy].stream != first_branch) keeps[copy] = false;
  return keeps;
}

}  // namespace weft::sim
