#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/meeting.cuh"
#include "calibration/device/peer_bulk_kernels.hpp"

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

/// A gather or an exchange, and the pieces in which a CTA moves each rank's share.
struct BulkWork {
  PeerCollective collective;
  std::int64_t chunk_octets;
};

/// The chunks of one CTA: the same of every rank's share.
struct Chunks {
  std::int64_t first, count, share, step, octets;
  __device__ explicit Chunks(const BulkWork& work)
      : first(blockIdx.x * work.chunk_octets),
        share(work.collective.share_octets),
        step(gridDim.x * work.chunk_octets),
        octets(work.chunk_octets) {
    fit();
  }
  __device__ bool remain() const { return first < share; }
  __device__ void advance() {
    first += step;
    fit();
  }

 private:
  __device__ void fit() { count = share - first < octets ? share - first : octets; }
};

/// Of the rank that many places after the own one.
__device__ int rank_after(const BarrierFlags& flags, int places) { return (flags.rank + places) % flags.ranks; }

__device__ void load_chunks(SharedMemory& shared, const BulkWork& work) {
  const PeerCollective& collective = work.collective;
  const BarrierFlags& flags = collective.flags;
  const std::int64_t offset = collective.kind == CollectiveKind::all_gather ? 0 : flags.rank * collective.share_octets;
  hopper::Ring<slots> ring;
  for (Chunks chunk(work); chunk.remain(); chunk.advance())
    for (int place = 0; place < flags.ranks; ++place, ring.advance()) {
      const auto bytes = static_cast<int>(chunk.count * sizeof(Octet));
      hopper::wait(shared.freed[ring.slot], ring.parity ^ 1);
      hopper::arrive_and_expect(shared.loaded[ring.slot], bytes);
      hopper::load_bytes(shared.chunk[ring.slot],
                         octets(collective.input, rank_after(flags, place)) + offset + chunk.first, bytes,
                         shared.loaded[ring.slot]);
    }
}

/// What has come from each rank to its place in the own output.
__device__ void store_chunks(SharedMemory& shared, const BulkWork& work) {
  const PeerCollective& collective = work.collective;
  const BarrierFlags& flags = collective.flags;
  hopper::Ring<slots> ring;
  int stored = 0;
  for (Chunks chunk(work); chunk.remain(); chunk.advance())
    for (int place = 0; place < flags.ranks; ++place, ring.advance()) {
      hopper::wait(shared.loaded[ring.slot], ring.parity);
      hopper::store_bytes(
          shared.chunk[ring.slot],
          octets(collective.output, flags.rank) + rank_after(flags, place) * collective.share_octets + chunk.first,
          static_cast<int>(chunk.count * sizeof(Octet)));
      hopper::end_group_of_stores();
      hopper::wait_until_read<stores_under_way>();
      if (++stored > stores_under_way) hopper::arrive(shared.freed[(ring.slot + slots - stores_under_way) % slots]);
    }
  hopper::wait_until_stored();
  hopper::order_with_copies();
  __threadfence_system();
}

__global__ void __launch_bounds__(threads, 1)
    peer_bulk_kernel(const __grid_constant__ BulkWork work, const __grid_constant__ WaitLimit limit) {
  extern __shared__ std::byte memory[];
  const std::uint32_t unaligned = hopper::shared_address(memory) % 128;
  auto& shared = *reinterpret_cast<SharedMemory*>(memory + (128 - unaligned) % 128);
  if (threadIdx.x == 0) {
    for (int i = 0; i < slots; ++i) {
      hopper::init(shared.loaded[i], 1);
      hopper::init(shared.freed[i], 1);
    }
    hopper::publish_barriers();
  }
  CtaMeetings peers(work.collective.flags, limit);
  peers.begin();
  hopper::order_with_copies();
  if (threadIdx.x == 0) load_chunks(shared, work);
  if (threadIdx.x == warp) store_chunks(shared, work);
  peers.meet();
}

constexpr int shared_bytes = static_cast<int>(sizeof(SharedMemory)) + 128;

std::int64_t octets_of_chunk(const PeerCollective& collective) {
  const std::int64_t even = (collective.share_octets + collective.ctas - 1) / collective.ctas;
  return std::clamp<std::int64_t>(even, fewest_octets_of_chunk, octets_of_slot);
}

}  // namespace

bool moves_in_bulk(const PeerCollective& collective) {
  // A CTA with less to move ends before its ring is full; threads that copy by registers are a few microseconds faster
  // then (8 to 24 CTAs of 2 H100s).
  constexpr std::int64_t fewest_octets_of_cta = (320 << 10) / static_cast<std::int64_t>(sizeof(Octet));
  const bool is_copy = collective.kind == CollectiveKind::all_gather || collective.kind == CollectiveKind::all_to_all;
  if (!is_copy || collective.share_octets * collective.flags.ranks < fewest_octets_of_cta * collective.ctas)
    return false;
  int device = 0, major = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

void enqueue_bulk(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  WEFT_CHECK(cudaFuncSetAttribute(peer_bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  peer_bulk_kernel<<<collective.ctas, threads, shared_bytes, stream>>>(
      {.collective = collective, .chunk_octets = octets_of_chunk(collective)}, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
