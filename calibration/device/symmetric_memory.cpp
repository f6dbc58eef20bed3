#include "calibration/device/symmetric_memory.hpp"

#include <cstring>

#include "calibration/device/gpu_of_rank.hpp"
#include "calibration/device/together.hpp"

namespace weft::calibration::device {
namespace {

[[noreturn]] void refuse(int own, const std::string& what, int peer, const std::string& user) {
  throw ExecutionError("GPU " + std::to_string(own) + " has no " + what + " to GPU " + std::to_string(peer) +
                       ", which " + user);
}

void require_peer_atomics(int own_rank, int peer_rank) {
  const int own = gpu_of_rank(own_rank), peer = gpu_of_rank(peer_rank);
  if (own == peer) return;
  int atomics = 0;
  WEFT_CHECK(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, own, peer));
  if (atomics == 0) refuse(own, "peer access with atomics", peer, "barriers and signals need");
}

}  // namespace

void require_peer_access(int own_rank, int peer_rank, const std::string& user) {
  const int own = gpu_of_rank(own_rank), peer = gpu_of_rank(peer_rank);
  if (own == peer) return;
  int access = 0;
  WEFT_CHECK(cudaDeviceCanAccessPeer(&access, own, peer));
  if (access == 0) refuse(own, "peer access", peer, user);
}

PeerAddresses SymmetricMemory::allocate(Bytes bytes) {
  const auto place = blocks_.place(bytes, [this](Bytes least) { return make_block(least); });
  PeerAddresses addresses;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    const Block& block = place.block;
    void* base = rank == ranks_.rank() ? block.own.get() : block.peers[static_cast<std::size_t>(rank)].get();
    addresses.push_back(static_cast<std::byte*>(base) + place.offset);
  }
  return addresses;
}

void SymmetricMemory::require_atomics() {
  together(ranks_, [this] {
    for (int peer = 0; peer < ranks_.ranks(); ++peer)
      if (peer != ranks_.rank()) require_peer_atomics(ranks_.rank(), peer);
  });
}

SymmetricMemory::Block SymmetricMemory::make_block(Bytes bytes) {
  Block block;
  block.bytes = bytes;
  IpcHandle handle{};
  together(ranks_, [&] { handle = export_memory(block); });
  const std::vector<IpcHandle> handles = ranks_.gather(handle);
  try {
    together(ranks_, [&] { open_peers(block, handles); });
  } catch (const ScheduleError&) {
    block.peers.clear();
    ranks_.barrier();
    throw;
  }
  return block;
}

IpcHandle SymmetricMemory::export_memory(Block& block) const {
  for (int peer = 0; peer < ranks_.ranks(); ++peer)
    if (peer != ranks_.rank()) require_peer_access(ranks_.rank(), peer, "symmetric memory needs");
  block.own = make_device_memory(block.bytes);
  cudaIpcMemHandle_t exported;
  WEFT_CHECK(cudaIpcGetMemHandle(&exported, block.own.get()));
  IpcHandle handle;
  static_assert(sizeof exported == sizeof handle);
  std::memcpy(handle.data(), &exported, sizeof exported);
  return handle;
}

void SymmetricMemory::open_peers(Block& block, const std::vector<IpcHandle>& handles) const {
  for (int peer = 0; peer < ranks_.ranks(); ++peer) {
    PeerMemory& opened = block.peers.emplace_back();
    if (peer == ranks_.rank()) continue;
    cudaIpcMemHandle_t handle;
    std::memcpy(&handle, handles[static_cast<std::size_t>(peer)].data(), sizeof handle);
    void* memory = nullptr;
    WEFT_CHECK(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
    opened = PeerMemory(memory);
  }
}

void SymmetricMemory::close() {
  for (Block& block : blocks_.all()) block.peers.clear();
  ranks_.barrier();
}

}  // namespace weft::calibration::device
