#pragma once

#include <benchmark/benchmark.h>
#include <sys/resource.h>

namespace weft {

/// Most memory that the process has held so far.
inline void report_peak_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_memory_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts KiB
}

}  // namespace weft
