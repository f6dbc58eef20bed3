// Arrays that kernels read, made by the host.
#pragma once

#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/check.hpp"

namespace weft::calibration::device {

/// A copy that lives as long as the arena's other blocks; null where there are no values.
template <class Element>
Element* on_device(const std::vector<Element>& values, Arena& arena) {
  if (values.empty()) return nullptr;
  const std::size_t bytes = values.size() * sizeof(Element);
  auto* data = static_cast<Element*>(arena.allocate(static_cast<Bytes>(bytes)));
  WEFT_CHECK(cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice));
  return data;
}

}  // namespace weft::calibration::device
