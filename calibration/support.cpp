#include "calibration/support.hpp"

#include <algorithm>

namespace weft::calibration {
namespace {

/// Checks one operation; every refusal is an InputError on its field.
class Checker {
 public:
  Checker(const Schedule& schedule, std::size_t index) : schedule_(schedule) {
    const auto& operation = schedule.operations[index];
    field_ = "operations[" + std::to_string(index) + "] (" + operation.name + ")";
  }

  void check(const Operation& operation) const {
    require(operation.stream >= 0 && static_cast<std::size_t>(operation.stream) < schedule_.streams.size(),
            "expected a stream of the schedule");
    for (const After& after : operation.after)
      require(after.point == Point::end,
              "the hardware executor follows the end of an operation only, not " + std::string(name_of(after.point)));
    std::visit([this](const auto& work) { check_work(work); }, operation.work);
  }

 private:
  void require(bool condition, const std::string& reason) const {
    if (!condition) throw InputError(field_, reason);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(field_, what + " is not yet supported by the hardware executor");
  }

  std::int64_t rows(const Slice& slice) const { return row_count(slice.rows, schedule_.gpus); }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }

  void check_slice(const Slice& slice) const {
    require(slice.buffer >= 0 && static_cast<std::size_t>(slice.buffer) < schedule_.buffers.size(),
            "expected a buffer of the schedule");
    const Buffer& whole = buffer(slice);
    if (slice.place != 0) refuse("a slice on another rank");
    if (whole.layout.kind != LayoutKind::row_major) refuse("layout " + std::string(name_of(whole.layout.kind)));
    require(rows(slice) > 0 && slice.columns > 0, "expected a slice that is not empty");
    require(slice.first_column >= 0 && slice.first_column + slice.columns <= whole.columns,
            "columns overrun buffer \"" + whole.name + "\"");
    for (int rank = 0; rank < schedule_.gpus; ++rank) {
      const std::int64_t first = first_row(slice.rows, rank, schedule_.gpus);
      require(first >= 0 && first + rows(slice) <= whole.rows, "rows overrun buffer \"" + whole.name + "\"");
    }
  }
  void check_bf16(const Slice& slice) const {
    check_slice(slice);
    if (buffer(slice).dtype != DataType::bf16) refuse("dtype " + std::string(name_of(buffer(slice).dtype)) + " here");
  }
  void check_contiguous(const Slice& slice) const {
    check_slice(slice);
    require(slice.columns == buffer(slice).columns || rows(slice) == 1,
            "expected whole rows of buffer \"" + buffer(slice).name + "\" for a collective");
    if (buffer(slice).dtype == DataType::fp8) refuse("dtype fp8 in a collective");
  }

  void check_work(const Gemm& gemm) const {
    check_bf16(gemm.a), check_bf16(gemm.b), check_bf16(gemm.c);
    require(gemm.a.columns == gemm.b.columns && rows(gemm.a) == rows(gemm.c) && rows(gemm.b) == gemm.c.columns,
            "expected c[m,n] = a[m,k] x b[n,k]^T");
    if (gemm.kernel) refuse("a GEMM with an explicit kernel");
    if (!gemm.signals.empty() || !gemm.waits.empty() || gemm.tile_groups.size() > 1) refuse("a GEMM with tile groups");
    require(gemm.max_sms >= 0, "max_sms: expected 0 or more");
  }
  void check_work(const Collective& collective) const {
    if (collective.transport != Transport::nccl) refuse("transport " + std::string(name_of(collective.transport)));
    check_contiguous(collective.input), check_contiguous(collective.output);
    require(buffer(collective.input).dtype == buffer(collective.output).dtype, "expected one dtype in a collective");
    const std::int64_t input = rows(collective.input) * collective.input.columns;
    const std::int64_t output = rows(collective.output) * collective.output.columns;
    const int gpus = schedule_.gpus;
    switch (collective.kind) {
      case CollectiveKind::all_reduce:
        return require(input == output, "expected an output as large as the input");
      case CollectiveKind::all_gather:
        return require(output == gpus * input, "expected an output of gpus x the input");
      case CollectiveKind::reduce_scatter:
        return require(input == gpus * output, "expected an input of gpus x the output");
      case CollectiveKind::all_to_all:
        require(input == output && input % gpus == 0, "expected input = output, divisible by gpus");
        require(collective.input != collective.output, "expected an all_to_all that is not in place");
        return;
    }
  }
  void check_work(const Copy& copy) const {
    check_slice(copy.source), check_slice(copy.destination);
    require(rows(copy.source) == rows(copy.destination) && copy.source.columns == copy.destination.columns &&
                buffer(copy.source).dtype == buffer(copy.destination).dtype,
            "expected source and destination of one shape and dtype");
    if (copy.path == CopyPath::sms) check_bf16(copy.source);
  }
  void check_work(const MemoryBound& work) const {
    for (const Slice& slice : work.reads) check_bf16(slice);
    for (const Slice& slice : work.writes) check_bf16(slice);
    require(work.writes.size() == 1, "expected one slice in writes");
    const Slice& written = work.writes.front();
    const auto same_shape = [&](const Slice& slice) {
      return rows(slice) == rows(written) && slice.columns == written.columns;
    };
    if (work.kernel == MemoryKernel::fill) return require(work.reads.empty(), "expected nothing to read for fill");
    if (work.kernel == MemoryKernel::add)
      return require(!work.reads.empty() && work.reads.size() <= 8 && std::ranges::all_of(work.reads, same_shape),
                     "expected 1 to 8 reads of the written shape for add");
    if (work.kernel == MemoryKernel::partial_sum)
      return require(work.reads.size() == 1 && work.reads[0].columns == written.columns &&
                         rows(work.reads[0]) % rows(written) == 0,
                     "expected one read of whole row blocks of the written shape for partial_sum");
    refuse("memory kernel " + std::string(name_of(work.kernel)));
  }
  void check_work(const Attention&) const { refuse("attention"); }
  void check_work(const Signal&) const { refuse("signal"); }
  void check_work(const Wait&) const { refuse("wait"); }
  void check_work(const Barrier&) const { refuse("barrier"); }
  void check_work(const Delay& delay) const { require(delay.time_us >= 0, "expected a delay of 0 us or more"); }

  const Schedule& schedule_;
  std::string field_;
};

}  // namespace

std::optional<InputError> why_not_runnable(const Schedule& schedule) {
  if (schedule.gpus < 1 || schedule.gpus > 16) return InputError("gpus", "expected 1 to 16");
  if (schedule.streams.empty()) return InputError("streams", "expected at least one");
  if (schedule.operations.empty()) return InputError("operations", "expected at least one");
  try {
    for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
      for (const After& after : schedule.operations[i].after)
        if (after.operation < 0 || static_cast<std::size_t>(after.operation) >= i)
          return InputError("operations[" + std::to_string(i) + "].after", "expected an earlier operation");
      Checker(schedule, i).check(schedule.operations[i]);
    }
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace weft::calibration
