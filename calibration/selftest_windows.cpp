#include "calibration/selftest_windows.hpp"

#include "models/schedule/transports.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t n = 3072, k = 1024;
constexpr StreamId compute = 0, communication = 1;

/// Rows of each kind's input and output where the full buffer has `rows`.
std::int64_t input_rows(CollectiveKind kind, std::int64_t rows, int gpus) {
  return kind == CollectiveKind::all_gather ? rows / gpus : rows;
}
std::int64_t output_rows(CollectiveKind kind, std::int64_t rows, int gpus) {
  return kind == CollectiveKind::reduce_scatter ? rows / gpus : rows;
}

Slice chunk_of(BufferId buffer, std::int64_t rows, std::int64_t columns, int chunk = 0, int chunks = 1) {
  return {buffer, 0, RowRange{chunk * rows / chunks, rows / chunks}, 0, columns};
}

std::string name_of(Transport transport, CollectiveKind kind) {
  return std::string(weft::name_of(kind)) + " by " + std::string(weft::name_of(transport));
}

Schedule collective_alone(Transport transport, CollectiveKind kind, int gpus, std::int64_t rows, int max_ctas) {
  Schedule schedule;
  schedule.name = "windows: " + name_of(transport, kind) + " of " + std::to_string(rows) + " rows" +
                  (max_ctas > 0 ? " by " + std::to_string(max_ctas) + " CTAs" : "") + ", gpus=" + std::to_string(gpus);
  schedule.family = "serial";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  const std::int64_t in = input_rows(kind, rows, gpus), out = output_rows(kind, rows, gpus);
  schedule.buffers = {{.name = "input", .rows = in, .columns = n, .memory = Memory::symmetric},
                      {.name = "result", .rows = out, .columns = n, .memory = Memory::symmetric}};
  schedule.meaning = Meaning{std::string(weft::name_of(kind)), rows, n, 1, 0, 0, 1, 1, {}};
  schedule.operations = {{"collective",
                          compute,
                          {},
                          Collective{.kind = kind,
                                     .input = chunk_of(0, in, n),
                                     .output = chunk_of(1, out, n),
                                     .transport = transport,
                                     .max_ctas = max_ctas}}};
  return schedule;
}

/// The GEMM's result is sent in chunks, each beside the GEMM of the next.
Schedule behind_gemms(Transport transport, CollectiveKind kind, int gpus, int chunks) {
  const std::int64_t m = 4096;
  Schedule schedule;
  schedule.name = "windows: gemm and " + name_of(transport, kind) + " in " + std::to_string(chunks) +
                  " chunks, gpus=" + std::to_string(gpus);
  schedule.family = "decomposition";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}, {"communication", -5}};
  const std::int64_t out = output_rows(kind, m, gpus);
  schedule.buffers = {{.name = "a", .rows = m, .columns = k},
                      {.name = "b", .rows = n, .columns = k},
                      {.name = "c", .rows = m, .columns = n, .memory = Memory::symmetric},
                      {.name = "result", .rows = out, .columns = n, .memory = Memory::symmetric}};
  schedule.meaning = Meaning{"gemm+" + std::string(weft::name_of(kind)), m, n, k, 0, 1, 3, chunks};
  for (int i = 0; i < chunks; ++i) {
    const Slice c = chunk_of(2, m, n, i, chunks);
    Gemm gemm;
    gemm.a = chunk_of(0, m, k, i, chunks), gemm.b = chunk_of(1, n, k), gemm.c = c;
    schedule.operations.push_back({"gemm " + std::to_string(i), compute, {}, gemm});
    const auto last = static_cast<OperationId>(schedule.operations.size()) - 1;
    schedule.operations.push_back(
        {"collective " + std::to_string(i),
         communication,
         {{last, Point::end, 0}},
         Collective{.kind = kind, .input = c, .output = chunk_of(3, out, n, i, chunks), .transport = transport}});
  }
  return schedule;
}

}  // namespace

std::vector<Schedule> window_schedules(int gpus) {
  const std::int64_t small = 8 * std::int64_t{gpus}, large = 4096;
  std::vector<Schedule> schedules;
  for (const Transport transport : {Transport::nccl_symmetric, Transport::nccl_copy_engine})
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) {
      if (!does(transport, kind)) continue;
      for (const std::int64_t rows : {small, large})
        schedules.push_back(collective_alone(transport, kind, gpus, rows, 0));
      if (kind != CollectiveKind::all_gather) schedules.push_back(behind_gemms(transport, kind, gpus, 2));
      schedules.push_back(schedules.back());
      schedules.back().launch = Launch::eager, schedules.back().name += " eager";
    }
  schedules.push_back(collective_alone(Transport::nccl_symmetric, CollectiveKind::all_reduce, gpus, large, 4));
  return schedules;
}

}  // namespace weft::calibration
