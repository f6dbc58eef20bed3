// What happened when: the result of either executor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"

namespace weft {

enum class Limit { compute, hbm, link, copy_engine, latency, launch, power };
template <>
struct NamesOf<Limit> {
  static constexpr std::array names{std::pair{Limit::compute, std::string_view{"compute"}},
                                    std::pair{Limit::hbm, std::string_view{"hbm"}},
                                    std::pair{Limit::link, std::string_view{"link"}},
                                    std::pair{Limit::copy_engine, std::string_view{"copy_engine"}},
                                    std::pair{Limit::latency, std::string_view{"latency"}},
                                    std::pair{Limit::launch, std::string_view{"launch"}},
                                    std::pair{Limit::power, std::string_view{"power"}}};
};

/// One operation on one GPU. Times count from the start of the traced iteration.
struct Span {
  std::string operation;  ///< name of the operation in the schedule
  std::string kind;       ///< "gemm", "collective", …
  std::string stream;
  int gpu = 0;
  double start_us = 0, end_us = 0;
  std::string detail;            ///< kernel name, tiles and waves, CTAs …: for people
  Limit limit = Limit::compute;  ///< what held it back most (simulated runs)
};

struct Trace {
  std::string source;  ///< "predicted" or "measured"
  std::string machine;
  double time_us = 0;  ///< of an iteration of the slowest GPU in the steady state, over its repeats_per_iteration
  Limit limited_by = Limit::compute;
  double clock_MHz = 0, power_W = 0;  ///< mean over the iteration, of the GPU with the lowest clock; 0: unknown
  std::vector<Span> spans;
};

}  // namespace weft
