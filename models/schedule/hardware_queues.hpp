// Hardware queues: with fewer of them than streams, streams share one and get false dependencies.
//
// Eager launches go into the queue of their stream (stream i into queue i mod queues, in order of creation), and a
// queue is a line: what stands in front and still waits, for an event or for the operation before it on its stream,
// holds back all that was launched behind it, of whatever stream and priority. Once it has been launched the next one
// moves up; it need not have ended. With one queue kernels therefore start in the order of their launch. Copies from
// or to a peer by copy engines stand in no such line: the engines have queues of their own
// (CUDA_DEVICE_MAX_COPY_CONNECTIONS, HIP's SDMA queues). A copy within one GPU starts as a kernel does and stands in
// it.
//
// Measured on an H200 (driver 580.159.04, CUDA_DEVICE_MAX_CONNECTIONS set, 40 streams, a kernel behind one that spins
// for 3 ms): with 1 queue all streams were held back, with 2 every second one, of any priority; with 4, 8 and 32 none
// was, so that driver has more than it is asked for. A graph's branches were never held back, with 1 queue and 40
// branches: they are placed when the graph is made, and what follows another node is released by it and does not stand
// in line. But with 1 or 2 queues branches share one, and that changes who goes first
// (calibration/measurements/connections-2026-11-27).
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// By operation: the one of another stream that stands before it in its hardware queue, or -1; -1 also for what
/// copy engines do, which nobody stands behind, and for graphs. `queues` 0: every stream has its own.
std::vector<OperationId> queued_behind(const Schedule& schedule, int queues);

/// So many connections or fewer make branches of a graph share a queue. Measured alike with 1 and 2, and with 4 as with
/// the driver's default.
inline constexpr int connections_of_shared_queue = 2;

/// Do the branches of this graph share a queue? The library's collectives then follow each other without letting
/// another branch's kernel pass, and copies of all branches take the copy engine in the order of the graph.
bool branches_share_queue(const Schedule& schedule);

}  // namespace weft
