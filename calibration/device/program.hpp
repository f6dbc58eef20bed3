// One rank's program: a schedule with its buffers, streams and library kernels, ready to be enqueued.
//
// Stream 0 is the origin. Every other stream forks from it: where a stream's first operation follows nothing on another
// stream, it waits for the iteration's start. At the end stream 0 waits for every other stream that was used. Edges
// between streams are events recorded right after the operation that is followed; to follow a group of tiles is to wait
// for a counter that they raise, and to follow a kernel's start takes an edge of a graph.
#pragma once

#include <functional>
#include <map>
#include <variant>
#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/attention.hpp"
#include "calibration/device/communicators.hpp"
#include "calibration/device/decode_attention.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/device/matmul.hpp"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/own_gemm_plan.hpp"
#include "calibration/device/own_grouped_gemm.hpp"
#include "calibration/device/partial_attention.hpp"
#include "calibration/device/peer_kernels.hpp"
#include "calibration/device/rank_signals.hpp"
#include "calibration/device/start_edges.hpp"
#include "calibration/device/streams.hpp"
#include "calibration/device/window_memory.hpp"
#include "calibration/hardware.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// What outlives a schedule.
struct Resources {
  Arena arena;
  Streams streams;
  SymmetricMemory symmetric;
  WaitNote wait_note;
  LtHandle library;
  WindowMemory windows;
  Communicators communicators;
};

/// Called around the enqueuing of each operation.
struct EnqueueHooks {
  std::function<void(OperationId)> before, after;
  std::function<void(cudaGraphNode_t from, cudaGraphNode_t to)> replaced;  ///< of a captured graph, before `from` ends
};

class Program {
 public:
  /// Allocates and asks the GEMM library. `schedule` must be runnable and outlive the program. Collective: throws
  /// ScheduleError on all ranks, or anything else on some of them.
  Program(const Schedule& schedule, const RankView& ranks, Resources& resources, const RunOptions& options);

  /// Collective: connects the communicators that the schedule needs, with windows to its buffers where it needs them.
  void connect();
  /// One iteration, on the program's streams; the origin stream has joined all others at its end.
  void enqueue(const EnqueueHooks& hooks = {}) const;
  /// The same on the origin stream alone, one operation after the other, for schedules that run so: what is counted in
  /// an iteration is counted here, too.
  void enqueue_one_by_one() const;
  /// Until all that was enqueued is done. Throws what ranks that wait for one another, or NCCL, report meanwhile.
  void wait() const;
  /// The same until an event of its streams has happened.
  void wait_for(const Event& event) const;

  cudaStream_t origin() const { return streams_.front(); }
  cudaStream_t stream_of(OperationId id) const {
    return streams_[static_cast<std::size_t>(schedule_.operations[static_cast<std::size_t>(id)].stream)];
  }
  const Schedule& schedule() const { return schedule_; }
  void* buffer(BufferId id) const { return buffers_[static_cast<std::size_t>(id)][static_cast<std::size_t>(rank_)]; }
  /// Fills every buffer with normally distributed data; no barrier or signal has happened yet.
  void initialise(std::uint64_t seed) const;

 private:
  void allocate_buffers();
  void check_delays() const;
  /// The slice as this rank has it.
  Matrix matrix(const Slice& slice) const;
  Bytes row_bytes(const Slice& slice) const;
  std::vector<Matrix> moved(const std::vector<Slice>& slices) const;
  void copy_by_sms(const Copy& copy, cudaStream_t stream) const;
  void* address(const Slice& slice, int rank) const;
  void plan_edges();
  void plan_edge(OperationId id, const After& after);
  CounterTarget& wait_for_count(OperationId id, const After& after);
  void wait_for_tiles(OperationId id, const After& after);
  std::uint64_t* wait_for_told_start(OperationId id, const After& after);
  void wait_for_ctas(OperationId id, const After& after);
  cudaStream_t stream_of_start_signals() const;
  cudaStream_t stream_of_count_waits(StreamId stream) const;
  void wait_for_counts(OperationId id, StreamId stream) const;
  void signal_starts(OperationId id, const Captured& before, cudaStream_t stream) const;
  GemmMatrices matrices_of(const Gemm& gemm) const;
  void plan_gemms();
  void plan_grouped_gemms();
  void plan_attentions();
  void plan_attention(const Attention& attention, OperationId id);
  void plan_attention(const PartialAttention& attention, OperationId id);
  void merge(const MemoryBound& work, cudaStream_t stream) const;
  PeerBuffer on_all_ranks(const Slice& slice) const;
  void enqueue_peer_collective(const Collective& collective, OperationId id, cudaStream_t stream) const;
  void wait_until(const std::function<cudaError_t()>& query) const;
  void enqueue_work(OperationId id, cudaStream_t stream) const;
  void enqueue(const Gemm&, OperationId id, cudaStream_t stream) const;
  void enqueue(const Collective& collective, OperationId id, cudaStream_t stream) const;
  void enqueue(const Copy& copy, OperationId id, cudaStream_t stream) const;
  void enqueue(const MemoryBound& work, OperationId id, cudaStream_t stream) const;
  void enqueue(const Signal& signal, OperationId id, cudaStream_t stream) const;
  void enqueue(const Wait&, OperationId id, cudaStream_t stream) const;
  void enqueue(const Barrier&, OperationId id, cudaStream_t stream) const;
  void enqueue(const Delay& delay, OperationId id, cudaStream_t stream) const;
  void enqueue(const Attention&, OperationId id, cudaStream_t stream) const {
    std::visit([&](const auto& attention) { attention.enqueue(stream); }, attentions_.at(id));
  }
  void enqueue(const PartialAttention&, OperationId id, cudaStream_t stream) const {
    partial_attentions_.at(id).enqueue(stream);
  }
  void enqueue(const AllReduceNorm& norm, OperationId id, cudaStream_t stream) const;
  void enqueue(const GroupedExchange& exchange, OperationId id, cudaStream_t stream) const;
  void enqueue(const GroupedGemm&, OperationId id, cudaStream_t stream) const {
    own_grouped_gemms_.at(id).enqueue(stream);
  }
  struct CountWait;
  void enqueue(const CountWait& wait, OperationId id, cudaStream_t stream) const;
  [[noreturn]] void refuse(OperationId id) const;
  void signal_all_groups(const Gemm& gemm, OperationId id, cudaStream_t stream) const;
  void send_and_receive(const GroupedExchange& cast, cudaStream_t stream) const;
  void exchange_blocks(const void* input, void* output, std::int64_t count, DataType dtype, ncclComm_t communicator,
                       cudaStream_t stream) const;

  const Schedule& schedule_;
  int rank_, ranks_;
  Resources& resources_;
  bool is_absent_;  ///< self-test: leaves out what the other ranks wait for
  RankSignals signals_;
  std::vector<PeerAddresses> buffers_;  ///< by rank; only the own one of what is local, or in a window
  std::vector<cudaStream_t> streams_;
  std::vector<void*> workspaces_;  ///< of each stream; empty where no GEMM runs
  std::map<OperationId, Matmul> matmuls_;
  std::map<OperationId, OwnGemm> own_gemms_;
  std::map<OperationId, OwnGroupedGemm> own_grouped_gemms_;
  std::map<OperationId, std::variant<OwnAttention, OwnDecodeAttention>> attentions_;
  std::map<OperationId, OwnPartialAttention> partial_attentions_;

  std::vector<std::vector<OperationId>> waits_;  ///< of each operation: those on other streams that it follows
  struct CountWait {
    CounterTarget target;
    OperationId followed;
    bool is_of_start = false;  ///< that another kernel tells
  };
  std::vector<std::vector<CountWait>> count_waits_;  ///< of each operation: groups of tiles, starts that it follows
  std::map<OperationId, Event> count_wait_ends_;     ///< of each operation that has some
  std::map<OperationId, Event> begins_;              ///< of each operation that they follow: when it may begin
  struct StartSignal {
    std::uint64_t* counter;
    Event end;
  };
  std::map<OperationId, std::vector<StartSignal>> start_signals_;  ///< of each kernel whose start is followed
  struct CountedStarts {
    std::uint64_t* counter;
    std::uint64_t ctas;
  };
  std::map<OperationId, CountedStarts> counted_starts_;      ///< of each that counts its CTAs for others
  std::map<OperationId, std::vector<TileEdge>> tile_edges_;  ///< of each GEMM whose groups of tiles are followed
  std::vector<Event> ends_;                                  ///< of each operation; empty where nobody waits for it
  std::vector<StreamId> forks_;                              ///< streams that wait for the iteration's start
  std::vector<OperationId> joins_;                           ///< operations that the origin waits for at the end
  Event start_;
};

}  // namespace weft::calibration::device
