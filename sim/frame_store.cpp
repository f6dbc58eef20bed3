#include "sim/frame_store.hpp"

#include <new>

namespace weft::sim {

FrameStore::~FrameStore() {
  for (const std::vector<void*>& frames : idle_)
    for (void* frame : frames) ::operator delete(frame);
}

FrameStore& FrameStore::of_thread() {
  thread_local FrameStore store;
  return store;
}

void* FrameStore::take(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  if (size >= sizes) return ::operator new(bytes);
  if (idle_[size].empty()) return ::operator new((size + 1) * step);
  void* frame = idle_[size].back();
  idle_[size].pop_back();
  return frame;
}

void FrameStore::give_back(void* frame, std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  size < sizes ? idle_[size].push_back(frame) : ::operator delete(frame);
}

}  // namespace weft::sim
