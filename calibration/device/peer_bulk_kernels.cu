#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/meeting.cuh"
#include "calibration/device/peer_bulk_kernels.hpp"
#include "models/base/division.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int slots = 12, octets_of_slot = 1024;  // of chunks under way: 192 KiB
constexpr int fewest_octets_of_chunk = 32;        // smaller ones cost the memory accelerator as much
constexpr int stores_under_way = 3;               // groups of stores whose source is not free yet
constexpr int warp = 32, threads = 2 * warp;

struct SharedMemory {
  alignas(128) Octet chunk[slots][octets_of_slot];
  hopper::Barrier loaded[slots], freed[slots];
};

/// What a rank fetches, and the pieces in which a CTA does: the same ones of every pull.
struct BulkWork {
  PeerPulls pulls;
  std::int64_t chunk_octets, most_octets;
};

/// Calls visit(pull, first octet, bytes) for each piece of this CTA, those of all ranks in turn.
template <class Visit>
__device__ void for_each_chunk(const BulkWork& work, const Visit& visit) {
  const std::int64_t step = gridDim.x * work.chunk_octets;
  for (std::int64_t first = blockIdx.x * work.chunk_octets; first < work.most_octets; first += step)
    for (int i = 0; i < work.pulls.count; ++i) {
      const Pull& pull = work.pulls.of_rank[i];
      if (first >= pull.octets) continue;
      const std::int64_t left = pull.octets - first, count = left < work.chunk_octets ? left : work.chunk_octets;
      visit(pull, first, static_cast<int>(count * sizeof(Octet)));
    }
}

__device__ void load_chunks(SharedMemory& shared, const BulkWork& work) {
  hopper::Ring<slots> ring;
  for_each_chunk(work, [&](const Pull& pull, std::int64_t first, int bytes) {
    hopper::wait(shared.freed[ring.slot], ring.parity ^ 1);
    hopper::arrive_and_expect(shared.loaded[ring.slot], bytes);
    hopper::load_bytes(shared.chunk[ring.slot], static_cast<const Octet*>(pull.from) + first, bytes,
                       shared.loaded[ring.slot]);
    ring.advance();
  });
}

/// What has come, to its place.
__device__ void store_chunks(SharedMemory& shared, const BulkWork& work) {
  hopper::Ring<slots> ring;
  int stored = 0;
  for_each_chunk(work, [&](const Pull& pull, std::int64_t first, int bytes) {
    hopper::wait(shared.loaded[ring.slot], ring.parity);
    hopper::store_bytes(shared.chunk[ring.slot], static_cast<Octet*>(pull.to) + first, bytes);
    hopper::end_group_of_stores();
    hopper::wait_until_read<stores_under_way>();
    if (++stored > stores_under_way) hopper::arrive(shared.freed[(ring.slot + slots - stores_under_way) % slots]);
    ring.advance();
  });
  hopper::wait_until_stored<0>();
  hopper::order_with_copies();
  __threadfence_system();
}

__global__ void __launch_bounds__(threads, 1)
    peer_bulk_kernel(const __grid_constant__ BulkWork work, const __grid_constant__ WaitLimit limit) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < slots; ++i) {
      hopper::init(shared.loaded[i], 1);
      hopper::init(shared.freed[i], 1);
    }
    hopper::publish_barriers();
  }
  CtaMeetings peers(work.pulls.flags, limit);
  peers.begin();
  hopper::order_with_copies();
  if (threadIdx.x == 0) load_chunks(shared, work);
  if (threadIdx.x == warp) store_chunks(shared, work);
  peers.meet();
}

constexpr int shared_bytes = hopper::bytes_to_align<SharedMemory>;

std::int64_t most_octets(const PeerPulls& pulls) {
  std::int64_t most = 0;
  for (const Pull& pull : pulls.of_rank) most = std::max(most, pull.octets);
  return most;
}

std::int64_t octets_of_chunk(const PeerPulls& pulls) {
  const std::int64_t even = divided_up(most_octets(pulls), pulls.ctas);
  return std::clamp<std::int64_t>(even, fewest_octets_of_chunk, octets_of_slot);
}

}  // namespace

bool has_memory_accelerator() {
  int device = 0, major = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

bool moves_in_bulk(const PeerPulls& pulls) {
  std::int64_t octets = 0;
  for (const Pull& pull : pulls.of_rank) octets += pull.octets;
  return weft::moves_in_bulk(pulls.ctas, octets * static_cast<Bytes>(sizeof(Octet))) && has_memory_accelerator();
}

void enqueue_bulk(const PeerPulls& pulls, const WaitLimit& limit, cudaStream_t stream) {
  WEFT_CHECK(cudaFuncSetAttribute(peer_bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  peer_bulk_kernel<<<pulls.ctas, threads, shared_bytes, stream>>>(
      {.pulls = pulls, .chunk_octets = octets_of_chunk(pulls), .most_octets = most_octets(pulls)}, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
