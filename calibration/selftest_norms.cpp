#include "calibration/selftest_norms.hpp"

#include <string>

namespace weft::calibration {
namespace {

Schedule all_reduce_norm(int gpus, std::int64_t rows, std::int64_t columns, int ctas) {
  constexpr BufferId partial = 0, residual = 1, normed = 2;
  Schedule schedule;
  schedule.name = "all-reduce and norm of " + std::to_string(rows) + " x " + std::to_string(columns) + " by " +
                  std::to_string(ctas) + " CTAs, gpus=" + std::to_string(gpus);
  schedule.family = "serial";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  const auto buffer = [&](const std::string& name, Memory memory) {
    return Buffer{.name = name, .rows = rows, .columns = columns, .memory = memory, .layout = {}};
  };
  schedule.buffers = {buffer("partial", Memory::symmetric), buffer("residual", Memory::local),
                      buffer("normed", Memory::symmetric)};
  const auto whole = [&](BufferId id) { return Slice{id, 0, RowRange{0, rows}, 0, columns}; };
  schedule.operations = {{"all-reduce and norm",
                          0,
                          {},
                          AllReduceNorm{.partial = whole(partial),
                                        .residual = whole(residual),
                                        .normed = whole(normed),
                                        .transport = Transport::peer_kernel,
                                        .ctas = ctas}}};
  schedule.meaning = Meaning{"all_reduce_norm", rows, columns, columns, partial, residual, normed};
  return schedule;
}

}  // namespace

std::vector<Schedule> norm_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const std::int64_t columns : {16, 2064, 4096, 5120, 8192, 8200, 16384})
    for (const std::int64_t rows_of_rank : {1, 333})
      for (const int ctas : {1, 16}) schedules.push_back(all_reduce_norm(gpus, rows_of_rank * gpus, columns, ctas));
  return schedules;
}

}  // namespace weft::calibration
