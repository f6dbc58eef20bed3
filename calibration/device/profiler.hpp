// CUPTI's activity records of kernels, copies and fills, and whose they are.
//
// Kernels launched by a graph carry the id of their node. The nodes that an operation adds to the captured graph are
// noted, and a callback tells which node of the executable graph was cloned from which of those. Kernels launched
// eagerly carry the id that was pushed around their operation's enqueuing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "calibration/device/handles.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// One kernel, copy or fill.
struct ActivityRecord {
  std::string name;
  std::uint64_t start_ns = 0, end_ns = 0;  ///< the host's clock: common to all GPUs of a host
  std::uint32_t correlation = 0;           ///< one per launch: all kernels of a graph launch share theirs
  std::uint64_t graph_node = 0;            ///< 0: not launched by a graph
  std::array<int, 3> grid{}, block{}, cluster{};
  int registers = 0;
  Bytes static_shared_memory = 0, dynamic_shared_memory = 0;
  Bytes bytes = 0;
};

/// One per process, made before its CUDA context.
class Profiler {
 public:
  Profiler();
  ~Profiler();
  Profiler(const Profiler&) = delete;  // CUPTI calls back into it
  Profiler& operator=(const Profiler&) = delete;

  /// Forgets everything seen so far.
  void clear();
  /// All records since `clear`, by start time. The device must be idle.
  std::vector<ActivityRecord> records();
  /// How many records since `clear` found no room in CUPTI's buffers, as far as it was told by the last `records`.
  std::size_t dropped() const;

  /// Before a capture: forgets the nodes of the last one.
  void begin_capture();
  /// After operation `id` was captured on any stream of the capture that `stream` belongs to: the new nodes are its
  /// own.
  void note_captured(OperationId id, cudaStream_t stream);
  /// A node that takes the place of a noted one is the same operation's.
  void note_replaced(cudaGraphNode_t from, cudaGraphNode_t to);
  /// Whether host calls are traced too: CUPTI notes what was pushed only for calls that it traces.
  void trace_host_calls(bool wanted);
  /// Around eager enqueuing: what is launched meanwhile belongs to `tag`.
  void push(std::uint64_t tag);
  void pop();

  /// -1: unknown.
  OperationId operation_of_node(std::uint64_t graph_node) const;
  /// Tag that was pushed when the launch with this correlation was made; false: none.
  bool find_tag(std::uint32_t correlation, std::uint64_t& tag) const;

 private:
  static void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
  static void CUPTIAPI complete_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid);
  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void take(const CUpti_Activity& record);
  void count_dropped(CUcontext context, std::uint32_t stream);

  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool traces_host_calls_ = false;
  mutable std::mutex mutex_;  ///< CUPTI delivers buffers from a thread of its own
  std::vector<ActivityRecord> records_;
  std::size_t dropped_ = 0;
  std::map<std::uint32_t, std::uint64_t> tags_;             ///< by correlation
  std::map<std::uint64_t, OperationId> operation_of_node_;  ///< of captured nodes
  std::map<std::uint64_t, std::uint64_t> original_of_clone_;
  std::set<cudaGraphNode_t> captured_nodes_;
};

}  // namespace weft::calibration::device
