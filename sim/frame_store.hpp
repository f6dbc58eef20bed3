// Memory of coroutines and kernels that have ended, for those that follow: a simulation starts thousands, all of a few
// sizes.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace weft::sim {

class FrameStore {
 public:
  FrameStore() = default;
  FrameStore(const FrameStore&) = delete;
  ~FrameStore();
  /// That of the calling thread, which starts, runs and ends its processes alone.
  static FrameStore& of_thread();

  void* take(std::size_t bytes);
  void give_back(void* frame, std::size_t bytes);

 private:
  static constexpr std::size_t step = 64, sizes = 16;  // frames above 1 KiB come and go

  static std::size_t size_class(std::size_t bytes) { return (bytes - 1) / step; }

  std::array<std::vector<void*>, sizes> idle_;
};

}  // namespace weft::sim
