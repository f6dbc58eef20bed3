// The buffers of all ranks, filled with integers.
#pragma once

#include <vector>

#include "models/schedule/footprint.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/meaning/integer_matrix.hpp"

namespace weft::sim::meaning {

/// Buffers begin undefined. One that no operation writes may hold other values in every iteration, so that what is left
/// over from the iteration before is wrong.
class NumericalMemory {
 public:
  explicit NumericalMemory(const Schedule& schedule);

  /// The values of the first iteration, of the second, …; just one for all iterations where operations write.
  void set(int rank, BufferId buffer, std::vector<IntegerMatrix> values);

  IntegerMatrix read(const Rectangle& where, int iteration) const;
  void write(const Rectangle& where, const IntegerMatrix& values);
  void make_undefined(const Rectangle& where);

  const IntegerMatrix& whole(int rank, BufferId buffer, int iteration) const;

 private:
  std::size_t index(int rank, BufferId buffer) const { return static_cast<std::size_t>(rank * buffers_ + buffer); }

  int buffers_;
  std::vector<std::vector<IntegerMatrix>> matrices_;  // by rank x buffer, by iteration
};

}  // namespace weft::sim::meaning
