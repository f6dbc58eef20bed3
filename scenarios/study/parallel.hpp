// Studies use all cores, and say the same whatever their number.
#pragma once

#include <tbb/parallel_for.h>

#include <cstddef>
#include <exception>
#include <vector>

namespace weft::scenarios::study {

/// Calls `work` with each index below `count`, on all cores. Where some calls throw, all others are made nevertheless,
/// and what the lowest index threw is thrown: the same error whatever the number of threads.
template <class Work>
void for_each_index(std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> errors(count);
  const auto call = [&](std::size_t index) {
    try {
      work(index);
    } catch (...) {
      errors[index] = std::current_exception();
    }
  };
  // One index at a time: a schedule of ranks that are apart takes as long as twenty others.
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, 1),
      [&](const auto& range) {
        for (std::size_t index = range.begin(); index < range.end(); ++index) call(index);
      },
      tbb::simple_partitioner());
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace weft::scenarios::study
