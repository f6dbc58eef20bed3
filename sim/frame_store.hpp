// Memory of coroutines, kernels and collectives that have ended, for those that follow: a simulation starts thousands,
// all of a few sizes.
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
  static constexpr std::size_t step = 64, sizes = 64;  // frames above 4 KiB come and go

  static std::size_t size_class(std::size_t bytes) { return (bytes - 1) / step; }

  std::array<std::vector<void*>, sizes> idle_;
};

/// For containers whose elements come and go one by one in the thread that made them.
template <class Element>
struct FrameAllocator {
  using value_type = Element;
  FrameAllocator() = default;
  template <class Other>
  FrameAllocator(const FrameAllocator<Other>&) {}
  Element* allocate(std::size_t count) {
    return static_cast<Element*>(FrameStore::of_thread().take(count * sizeof(Element)));
  }
  void deallocate(Element* elements, std::size_t count) {
    FrameStore::of_thread().give_back(elements, count * sizeof(Element));
  }
  bool operator==(const FrameAllocator&) const = default;
};

/// A short list that each simulation begins anew.
template <class Element>
using FrameVector = std::vector<Element, FrameAllocator<Element>>;

}  // namespace weft::sim
