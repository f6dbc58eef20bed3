#include "sim/meaning/numerical_memory.hpp"

#include <algorithm>

namespace weft::sim::meaning {

NumericalMemory::NumericalMemory(const Schedule& schedule) : buffers_(static_cast<int>(schedule.buffers.size())) {
  for (int rank = 0; rank < schedule.gpus; ++rank)
    for (const Buffer& buffer : schedule.buffers) matrices_.push_back({IntegerMatrix(buffer.rows, buffer.columns)});
}

void NumericalMemory::set(int rank, BufferId buffer, std::vector<IntegerMatrix> values) {
  matrices_[index(rank, buffer)] = std::move(values);
}

const IntegerMatrix& NumericalMemory::whole(int rank, BufferId buffer, int iteration) const {
  const std::vector<IntegerMatrix>& versions = matrices_[index(rank, buffer)];
  return versions[std::min(static_cast<std::size_t>(iteration), versions.size() - 1)];
}

IntegerMatrix NumericalMemory::read(const Rectangle& where, int iteration) const {
  const IntegerMatrix& from = whole(where.rank, where.buffer, iteration);
  IntegerMatrix values(where.rows, where.columns);
  for (std::int64_t row = 0; row < where.rows; ++row)
    std::copy_n(from.row(where.first_row + row) + where.first_column, where.columns, values.row(row));
  return values;
}

void NumericalMemory::write(const Rectangle& where, const IntegerMatrix& values) {
  IntegerMatrix& into = matrices_[index(where.rank, where.buffer)].front();
  for (std::int64_t row = 0; row < where.rows; ++row)
    std::copy_n(values.row(row), where.columns, into.row(where.first_row + row) + where.first_column);
}

void NumericalMemory::make_undefined(const Rectangle& where) { write(where, IntegerMatrix(where.rows, where.columns)); }

}  // namespace weft::sim::meaning
