// Proves the hardware executor on a machine with GPUs: every supported family once, checked and profiled; the time
// limit; what the GEMM library answers. Prints one line per schedule and one per kind of kernel.
//
//   weft_device_selftest --gpus N              all of it on N GPUs
//   weft_device_selftest --gpus N --hang       rank 1 leaves its collectives out: expects a clean end by the time limit
//   weft_device_selftest --ask FILE --out OUT  lines "m n k" in, one JSON line for each out
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "calibration/gemm_choices.hpp"
#include "calibration/hardware.hpp"
#include "calibration/statistics.hpp"
#include "models/input_error.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t m = 4096, n = 4096, k = 2048;
constexpr StreamId compute = 0, communication = 1;

Schedule empty_schedule(const std::string& op, int gpus, int chunks) {
  Schedule schedule;
  schedule.name = op + " gpus=" + std::to_string(gpus) + " chunks=" + std::to_string(chunks);
  schedule.family = chunks == 1 ? "serial" : "decomposition";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}, {"communication", -5}};
  schedule.meaning = Meaning{op, m, n, k, 0, 1, 2, chunks};
  return schedule;
}

Buffer matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  Buffer buffer;
  buffer.name = name;
  buffer.rows = rows;
  buffer.columns = columns;
  return buffer;
}

Slice rows_of(const Schedule& schedule, BufferId buffer, int chunk, int chunks) {
  const Buffer& whole = schedule.buffers[static_cast<std::size_t>(buffer)];
  const std::int64_t count = whole.rows / chunks;
  return {buffer, 0, RowRange{chunk * count, count}, 0, whole.columns};
}

Collective collective_of(CollectiveKind kind, const Slice& input, const Slice& output, int max_ctas) {
  Collective collective;
  collective.kind = kind;
  collective.input = input;
  collective.output = output;
  collective.max_ctas = max_ctas;
  return collective;
}

Gemm gemm_of(const Slice& a, const Slice& b, const Slice& c) {
  Gemm gemm;
  gemm.a = a, gemm.b = b, gemm.c = c;
  return gemm;
}

/// GEMM, then the collective, chunk by chunk on two streams; one chunk: both on the compute stream.
Schedule gemm_then(CollectiveKind kind, int gpus, int chunks, int max_ctas = 0) {
  Schedule schedule = empty_schedule("gemm+" + std::string(name_of(kind)), gpus, chunks);
  schedule.buffers = {matrix("a", m, k), matrix("b", n, k), matrix("c", m, n)};
  BufferId output = 2;
  if (kind != CollectiveKind::all_reduce) {
    schedule.buffers.push_back(matrix("out", kind == CollectiveKind::reduce_scatter ? m / gpus : m, n));
    output = 3;
  }
  schedule.meaning->result = output;
  const StreamId where = chunks == 1 ? compute : communication;
  for (int i = 0; i < chunks; ++i) {
    const Slice c = rows_of(schedule, 2, i, chunks);
    schedule.operations.push_back({"gemm " + std::to_string(i),
                                   compute,
                                   {},
                                   gemm_of(rows_of(schedule, 0, i, chunks), rows_of(schedule, 1, 0, 1), c)});
    const auto gemm_id = static_cast<OperationId>(schedule.operations.size()) - 1;
    schedule.operations.push_back({"collective " + std::to_string(i),
                                   where,
                                   {{gemm_id, Point::end, 0}},
                                   collective_of(kind, c, rows_of(schedule, output, i, chunks), max_ctas)});
  }
  if (max_ctas > 0) schedule.name += " max_ctas=" + std::to_string(max_ctas);
  return schedule;
}

/// The collective, then the GEMM on what arrived.
Schedule then_gemm(CollectiveKind kind, int gpus, int chunks) {
  Schedule schedule = empty_schedule(std::string(name_of(kind)) + "+gemm", gpus, chunks);
  const std::int64_t own_rows = kind == CollectiveKind::all_gather ? m / gpus : m;
  schedule.buffers = {matrix("a", own_rows, k), matrix("b", n, k), matrix("c", m, n), matrix("arrived", m, k)};
  const StreamId where = chunks == 1 ? compute : communication;
  for (int i = 0; i < chunks; ++i) {
    const Slice arrived = rows_of(schedule, 3, i, chunks);
    schedule.operations.push_back({"collective " + std::to_string(i),
                                   where,
                                   {},
                                   collective_of(kind, rows_of(schedule, 0, i, chunks), arrived, 0)});
    const auto collective_id = static_cast<OperationId>(schedule.operations.size()) - 1;
    schedule.operations.push_back({"gemm " + std::to_string(i),
                                   compute,
                                   {{collective_id, Point::end, 0}},
                                   gemm_of(arrived, rows_of(schedule, 1, 0, 1), rows_of(schedule, 2, i, chunks))});
  }
  return schedule;
}

Schedule gemm_alone(int gpus) {
  Schedule schedule = empty_schedule("gemm", gpus, 1);
  schedule.buffers = {matrix("a", m, k), matrix("b", n, k), matrix("c", m, n)};
  schedule.operations = {{"gemm",
                          compute,
                          {},
                          gemm_of(rows_of(schedule, 0, 0, 1), rows_of(schedule, 1, 0, 1), rows_of(schedule, 2, 0, 1))}};
  return schedule;
}

/// A row range with an offset, accumulation over two k slices, an SM limit, a strided copy, a delay and own kernels.
Schedule everything_else(int gpus) {
  Schedule schedule = empty_schedule("gemm", gpus, 1);
  schedule.name = "k slices, strided copy, own kernels, gpus=" + std::to_string(gpus);
  schedule.buffers = {matrix("a", m, k), matrix("b", n, k), matrix("c", m, n), matrix("copied a", m, k),
                      matrix("sum", m / 2, n)};
  const std::int64_t half = k / 2;
  const auto columns = [&](BufferId buffer, std::int64_t first) {
    Slice slice = rows_of(schedule, buffer, 0, 1);
    slice.first_column = first, slice.columns = half;
    return slice;
  };
  Gemm first = gemm_of(columns(3, 0), columns(1, 0), rows_of(schedule, 2, 0, 1));
  Gemm second = gemm_of(columns(3, half), columns(1, half), rows_of(schedule, 2, 0, 1));
  second.accumulate = true;
  second.max_sms = 64;
  const Slice c = rows_of(schedule, 2, 0, 1), sum = rows_of(schedule, 4, 0, 1);
  schedule.operations = {
      {"copy left", communication, {}, Copy{columns(0, 0), columns(3, 0), CopyPath::copy_engine}},
      {"copy right", communication, {}, Copy{columns(0, half), columns(3, half), CopyPath::sms}},
      {"delay", compute, {}, Delay{20}},
      {"left", compute, {{0, Point::end, 0}}, first},
      {"right", compute, {{1, Point::end, 0}}, second},
      {"fill", compute, {}, MemoryBound{MemoryKernel::fill, {}, {sum}}},
      {"partial sum", compute, {}, MemoryBound{MemoryKernel::partial_sum, {c}, {sum}}},
      {"add", compute, {}, MemoryBound{MemoryKernel::add, {sum, rows_of(schedule, 2, 0, 2)}, {sum}}}};
  return schedule;
}

std::vector<Schedule> all_schedules(int gpus) {
  std::vector<Schedule> schedules{gemm_alone(gpus), everything_else(gpus)};
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_to_all})
    for (const int chunks : {1, 2, 4}) schedules.push_back(gemm_then(kind, gpus, chunks));
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all})
    for (const int chunks : {1, 2, 4}) schedules.push_back(then_gemm(kind, gpus, chunks));
  schedules.push_back(gemm_then(CollectiveKind::all_reduce, gpus, 2, 8));
  schedules.push_back(gemm_then(CollectiveKind::all_reduce, gpus, 2));
  schedules.back().launch = Launch::eager;
  schedules.back().name += " eager";
  return schedules;
}

void print(const Schedule& schedule, const Measurement& measurement) {
  std::printf("%-60s %10.2f us  noise %.3f  iterations %d  error %.3g of %.3g%s  %.0f MHz %.0f W\n",
              schedule.name.c_str(), measurement.time_us, relative_spread(measurement.repeats_us),
              measurement.iterations, measurement.max_error, measurement.error_bound,
              measurement.checked ? "" : " (unchecked)", measurement.sm_clock_MHz, measurement.power_W);
  for (const KernelRecord& kernel : measurement.kernels)
    if (kernel.gpu == 0)
      std::printf("    %-14s %9.2f .. %9.2f us  grid %dx%dx%d block %d cluster %dx%dx%d regs %d smem %lld+%lld  %s\n",
                  kernel.operation.c_str(), kernel.start_us, kernel.end_us, kernel.grid[0], kernel.grid[1],
                  kernel.grid[2], kernel.block[0], kernel.cluster[0], kernel.cluster[1], kernel.cluster[2],
                  kernel.registers, static_cast<long long>(kernel.static_shared_memory),
                  static_cast<long long>(kernel.dynamic_shared_memory), kernel.kernel_name.c_str());
  std::fflush(stdout);
}

void print(const Conditions& c) {
  std::printf("%d x %s, %d SMs, driver %s, CUDA %s, NCCL %s, cuBLASLt %s, SM clock up to %.0f MHz, limit %.0f W\n",
              c.gpus, c.gpu.c_str(), c.sms, c.driver.c_str(), c.cuda.c_str(), c.nccl.c_str(), c.cublaslt.c_str(),
              c.max_sm_clock_MHz, c.power_limit_W);
  std::fflush(stdout);
}

/// Every operation must have been seen on every GPU.
int missing_spans(const Schedule& schedule, const Trace& trace) {
  std::set<std::pair<int, std::string>> seen;
  for (const Span& span : trace.spans) seen.insert({span.gpu, span.operation});
  const int expected = schedule.gpus * static_cast<int>(schedule.operations.size());
  return expected - static_cast<int>(seen.size());
}

int run_all(int gpus) {
  const auto schedules = all_schedules(gpus);
  int failures = 0;
  std::map<std::size_t, Measurement> results;
  RunOptions options;
  options.spans = true;
  measure(schedules, options,
          {.on_conditions = [](const Conditions& conditions) { print(conditions); },
           .on_result =
               [&](std::size_t i, const Measurement& measurement) {
                 results[i] = measurement;
                 print(schedules[i], measurement);
               },
           .on_error =
               [&](std::size_t i, const std::string& message) {
                 ++failures;
                 std::printf("%-60s FAILED: %s\n", schedules[i].name.c_str(), message.c_str());
               }});
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!results.contains(i)) continue;
    const int missing = missing_spans(schedules[i], results[i].trace);
    if (missing == 0 && results[i].checked) continue;
    ++failures;
    std::printf("%-60s FAILED: %d spans missing, %s\n", schedules[i].name.c_str(), missing,
                results[i].checked ? "checked" : "unchecked");
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

int run_hang(int gpus) {
  RunOptions options;
  options.absent_rank = 1;
  options.time_limit_s = 10;
  try {
    measure({gemm_then(CollectiveKind::all_reduce, gpus, 1)}, options, {});
  } catch (const ExecutionError& error) {
    std::printf("ended as it should: %s\n", error.what());
    return 0;
  }
  std::printf("FAILED: the hang was not noticed\n");
  return 1;
}

int ask(const std::string& input, const std::string& output) {
  std::ifstream lines(input);
  if (!lines) throw InputError(input, "cannot be read");
  std::vector<MatrixSize> sizes;
  for (MatrixSize size; lines >> size.m >> size.n >> size.k;) sizes.push_back(size);
  std::ofstream out(output);
  for (const LibraryAnswer& answer : ask_library(sizes)) out << answer.raw << '\n';
  std::printf("%zu shapes asked\n", sizes.size());
  return out ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  int gpus = 1;
  bool hang = false;
  std::string input, output = "gemm_choices.jsonl";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--hang")
      hang = true;
    else if (arguments[i] == "--gpus" && has_value)
      gpus = std::stoi(arguments[++i]);
    else if (arguments[i] == "--ask" && has_value)
      input = arguments[++i];
    else if (arguments[i] == "--out" && has_value)
      output = arguments[++i];
    else
      throw InputError(arguments[i], "expected --gpus N [--hang] or --ask FILE [--out FILE]");
  }
  if (!input.empty()) return ask(input, output);
  return hang ? run_hang(gpus) : run_all(gpus);
}

}  // namespace
}  // namespace weft::calibration

int main(int argc, char** argv) {
  try {
    return weft::calibration::run({argv + 1, argv + argc});
  } catch (const weft::InputError& error) {
    std::fprintf(stderr, "weft_device_selftest: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft_device_selftest: %s\n", error.what());
    return 1;
  }
}
