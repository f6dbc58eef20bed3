#include "sim/meaning/numerical_meaning.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "models/base/input_error.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/row_order.hpp"
#include "models/schedule/sequence_order.hpp"
#include "sim/meaning/numerical_device.hpp"
#include "sim/meaning/operation_effect.hpp"
#include "sim/schedule_run.hpp"

namespace weft::sim::meaning {
namespace {

using GemmPlace = ResultForm::GemmPlace;

ResultForm form_of(const Meaning& meaning, const std::string& path) {
  const std::optional<ResultForm> form = result_form(meaning.op);
  if (!form)
    throw InputError(path + ".op",
                     "expected a GEMM, a collective, or one before the other, got \"" + meaning.op + "\"");
  return *form;
}

RowOrder row_order(const Meaning& meaning, int gpus) {
  const ResultForm form = *result_form(meaning.op);
  return {form.collective,
          meaning.m,
          meaning.chunks,
          gpus,
          meaning.own_rows_first,
          meaning.rows_of_rank,
          !meaning.rows_of_rank.empty() && form.gemm == GemmPlace::after};
}

// --- Does the meaning fit the buffers? -----------------------------------------------------------------------------

void require_shape(const Schedule& schedule, const std::string& path, BufferId id, std::int64_t rows,
                   std::int64_t columns, bool is_operand) {
  const Buffer& buffer = schedule.buffers[static_cast<std::size_t>(id)];
  const bool row_major = buffer.layout.kind == LayoutKind::row_major;
  if (is_operand && !row_major)
    throw InputError(path, "expected a row-major operand, got " + std::string(name_of(buffer.layout.kind)));
  const std::int64_t got_rows = row_major ? buffer.rows : buffer.layout.rows;
  const std::int64_t got_columns = row_major ? buffer.columns : buffer.layout.columns;
  if (got_rows != rows || got_columns != columns)
    throw InputError(path, "expected " + std::to_string(rows) + " x " + std::to_string(columns) + ", got " +
                               std::to_string(got_rows) + " x " + std::to_string(got_columns));
}

void require_attention_fit(const Schedule& schedule, const Meaning& meaning, const std::string& path) {
  const AttentionShape& shape = *meaning.attention;
  const int unit = token_unit(shape.mask, schedule.gpus);
  if (meaning.m % unit != 0)
    throw InputError(path + ".m",
                     "expected a multiple of " + std::to_string(unit) + " tokens, got " + std::to_string(meaning.m));
  const std::int64_t rows = meaning.m / schedule.gpus;
  const std::int64_t columns = std::int64_t{shape.heads} * shape.head_dim;
  require_shape(schedule, path + ".a", meaning.a, rows, columns, true);
  require_shape(schedule, path + ".b", meaning.b, rows, std::int64_t{2} * shape.kv_heads * shape.head_dim, true);
  require_shape(schedule, path + ".result", meaning.result, rows, columns, false);
}

void require_fit(const Schedule& schedule, const Meaning& meaning, const std::string& path) {
  if (meaning.attention) return require_attention_fit(schedule, meaning, path);
  const ResultForm form = form_of(meaning, path);
  const RowOrder order = row_order(meaning, schedule.gpus);
  if (!order.divides())
    throw InputError(path + ".chunks", "expected chunks x gpus to divide the " + std::to_string(meaning.m) +
                                           " rows, got " + std::to_string(meaning.chunks) + " chunks");
  const bool has_gemm = form.gemm != GemmPlace::none;
  const bool senders_differ = !meaning.rows_of_rank.empty() && !order.receivers_differ;
  const auto most_rows = [&] { return *std::max_element(meaning.rows_of_rank.begin(), meaning.rows_of_rank.end()); };
  require_shape(schedule, path + ".a", meaning.a, senders_differ ? most_rows() : order.input_rows(),
                has_gemm ? meaning.k : meaning.n, true);
  if (has_gemm) require_shape(schedule, path + ".b", meaning.b, meaning.n, meaning.k, true);
  const bool has_pools =
      senders_differ && schedule.buffers[static_cast<std::size_t>(meaning.result)].layout.kind != LayoutKind::row_major;
  require_shape(schedule, path + ".result", meaning.result,
                order.receivers_differ || has_pools ? most_rows() : order.result_rows(), meaning.n, false);
  for (std::size_t i = 0; i < meaning.also.size(); ++i)
    require_fit(schedule, meaning.also[i], path + ".also[" + std::to_string(i) + "]");
}

// --- Operands ------------------------------------------------------------------------------------------------------

void collect_operands(const Meaning& meaning, std::set<BufferId>& operands) {
  operands.insert(meaning.a);
  if (meaning.attention || result_form(meaning.op)->gemm != GemmPlace::none) operands.insert(meaning.b);
  for (const Meaning& further : meaning.also) collect_operands(further, operands);
}

std::set<BufferId> written_buffers(const Schedule& schedule) {
  std::set<BufferId> written;
  for (const Operation& operation : schedule.operations)
    for (const Slice& slice : footprint(schedule, operation).writes) written.insert(slice.buffer);
  return written;
}

/// -4, …, 4: small enough that no sum overflows, and rarely equal by chance.
IntegerMatrix random_matrix(const Buffer& buffer, std::mt19937_64& generator) {
  IntegerMatrix matrix(buffer.rows, buffer.columns);
  for (std::int64_t& value : matrix.values) value = static_cast<std::int64_t>(generator() % 9) - 4;
  return matrix;
}

// --- A run ---------------------------------------------------------------------------------------------------------

/// Gaps between operations are left out: the device begins each of them late enough.
StreamTiming random_timing(int gpus, RandomTimes& times) {
  StreamTiming timing;
  timing.iteration_gap = times.draw();
  timing.barrier = times.draw();
  timing.signal = times.draw();
  for (int rank = 0; rank < gpus; ++rank) timing.start_skew.push_back(times.draw());
  return timing;
}

class Run {
 public:
  Run(const Schedule& schedule, std::uint64_t seed) : schedule_(schedule), memory_(schedule), generator_(seed) {
    std::set<BufferId> operands;
    collect_operands(*schedule.meaning, operands);
    const std::set<BufferId> written = written_buffers(schedule);
    for (const BufferId buffer : operands)
      if (written.contains(buffer)) iterations_ = 1;
    operands_.resize(static_cast<std::size_t>(iterations_));
    for (const BufferId buffer : operands) draw_operand(buffer);
  }

  std::optional<WrongElement> first_wrong() {
    Engine engine;
    NumericalDevice device(engine, schedule_, memory_, generator_());
    RandomTimes times(generator_());
    const StreamOrder order(schedule_, random_timing(schedule_.gpus, times));
    ScheduleRun run(engine, device, order, schedule_.gpus);
    run.prepare(iterations_);
    for (int iteration = 0; iteration < iterations_; ++iteration)
      for (int rank = 0; rank < schedule_.gpus; ++rank) check_at_end(run, rank, iteration);
    run.run();
    checks_.rethrow_failure();
    return wrong_;
  }
  Processes& processes() { return checks_; }

 private:
  using OfRanks = std::vector<IntegerMatrix>;

  const Buffer& buffer(BufferId id) const { return schedule_.buffers[static_cast<std::size_t>(id)]; }

  void draw_operand(BufferId id) {
    for (int rank = 0; rank < schedule_.gpus; ++rank) {
      std::vector<IntegerMatrix> values;
      for (std::map<BufferId, OfRanks>& operands : operands_) {
        values.push_back(random_matrix(buffer(id), generator_));
        operands[id].push_back(values.back());
      }
      memory_.set(rank, id, std::move(values));
    }
  }

  /// Looks at the rank's results in the instant in which its iteration ends, before the next one begins.
  Process check_at_end(ScheduleRun& run, int rank, int iteration) {
    for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id)
      co_await Until{run.activity(rank, iteration, id).end};
    check(*schedule_.meaning, rank, iteration);
  }

  /// Tiles of senders that differ: rows `rank`, rank + W, … of each of them, where their group's exchange puts them.
  void check_pools(const Meaning& meaning, int rank, int iteration) {
    const std::map<BufferId, OfRanks>& operands = operands_[static_cast<std::size_t>(iteration)];
    const IntegerMatrix& stored = memory_.whole(rank, meaning.result, iteration);
    const Buffer& result = buffer(meaning.result);
    for (int source = 0; source < schedule_.gpus; ++source) {
      const auto of_source = static_cast<std::size_t>(source);
      const IntegerMatrix all = product(operands.at(meaning.a)[of_source], operands.at(meaning.b)[of_source]);
      for (std::int64_t row = rank; row < meaning.rows_of_rank[of_source] && !wrong_; row += schedule_.gpus)
        for (std::int64_t column = 0; column < meaning.n && !wrong_; ++column) {
          const Element place = place_after_exchange(result.layout, meaning.rows_of_rank, source, rank, {row, column});
          const std::int64_t got = stored.at(place.row, place.column), expected = all.at(row, column);
          if (got != expected) wrong_ = {meaning.op, result.name, iteration, rank, row, column, expected, got};
        }
    }
  }

  void check(const Meaning& meaning, int rank, int iteration) {
    if (!meaning.rows_of_rank.empty() && buffer(meaning.result).layout.kind != LayoutKind::row_major)
      return check_pools(meaning, rank, iteration);
    const std::map<BufferId, OfRanks>& operands = operands_[static_cast<std::size_t>(iteration)];
    const auto b = operands.find(meaning.b);  // a collective alone has none
    const IntegerMatrix expected = expected_result(meaning, schedule_.gpus, rank, operands.at(meaning.a),
                                                   b == operands.end() ? OfRanks{} : b->second);
    const IntegerMatrix& stored = memory_.whole(rank, meaning.result, iteration);
    const Buffer& result = buffer(meaning.result);
    for (std::int64_t row = 0; row < expected.rows && !wrong_; ++row)
      for (std::int64_t column = 0; column < expected.columns && !wrong_; ++column) {
        const Element place = storage_of(result.layout, schedule_.gpus, {row, column});
        const std::int64_t got = stored.at(place.row, place.column);
        if (got != expected.at(row, column))
          wrong_ = {meaning.op, result.name, iteration, rank, row, column, expected.at(row, column), got};
      }
    for (const Meaning& further : meaning.also) check(further, rank, iteration);
  }

  const Schedule& schedule_;
  NumericalMemory memory_;
  std::mt19937_64 generator_;
  int iterations_ = 2;
  std::vector<std::map<BufferId, OfRanks>> operands_;  // by iteration
  std::optional<WrongElement> wrong_;                  // the first in simulated time
  Processes checks_;
};

}  // namespace

std::string describe(const WrongElement& wrong) {
  return wrong.op + ": iteration " + std::to_string(wrong.iteration) + ", rank " + std::to_string(wrong.rank) +
         ", row " + std::to_string(wrong.row) + ", column " + std::to_string(wrong.column) + " of \"" + wrong.buffer +
         "\": expected " + std::to_string(wrong.expected) + ", got " +
         (wrong.got == undefined ? "an undefined value" : std::to_string(wrong.got));
}

namespace {

/// Every query of the rank sees the keys of all ranks that the mask lets it see.
IntegerMatrix expected_attention(const Meaning& meaning, int gpus, int rank, const std::vector<IntegerMatrix>& queries,
                                 const std::vector<IntegerMatrix>& keys_values) {
  const AttentionShape& shape = *meaning.attention;
  const std::int64_t rows = meaning.m / gpus;
  AttentionResult result(rows, shape.heads, shape.head_dim);
  for (std::int64_t row = 0; row < rows; ++row)
    for (int source = 0; source < gpus; ++source)
      for (std::int64_t key = 0; key < rows; ++key) {
        const bool is_seen =
            shape.mask == AttentionMask::full || token_of_row(shape.mask, meaning.m, gpus, source, key) <=
                                                     token_of_row(shape.mask, meaning.m, gpus, rank, row);
        if (is_seen)
          result.add(queries[static_cast<std::size_t>(rank)].row(row), row,
                     keys_values[static_cast<std::size_t>(source)].row(key), shape.kv_heads);
      }
  return result.output;
}

}  // namespace

/// Every row is made on its own: the rows that the collective brings together, multiplied before or after.
IntegerMatrix expected_result(const Meaning& meaning, int gpus, int rank, const std::vector<IntegerMatrix>& a,
                              const std::vector<IntegerMatrix>& b) {
  if (meaning.attention) return expected_attention(meaning, gpus, rank, a, b);
  const GemmPlace gemm = form_of(meaning, "meaning").gemm;
  const RowOrder order = row_order(meaning, gpus);
  IntegerMatrix result(order.result_rows_of(rank), meaning.n, 0);
  for (std::int64_t row = 0; row < result.rows; ++row)
    for (const RowSource& source : order.sources(rank, row)) {
      const auto source_rank = static_cast<std::size_t>(source.rank);
      const std::int64_t* a_row = a[source_rank].row(source.row);
      const auto factor_rank = gemm == GemmPlace::before ? source_rank : static_cast<std::size_t>(rank);
      for (std::int64_t column = 0; column < meaning.n; ++column) {
        if (gemm == GemmPlace::none) {
          result.at(row, column) += a_row[column];
        } else {
          const std::int64_t* b_row = b[factor_rank].row(column);
          for (std::int64_t k = 0; k < meaning.k; ++k) result.at(row, column) += a_row[k] * b_row[k];
        }
      }
    }
  return result;
}

void require_meaning_fits(const Schedule& schedule) {
  if (!schedule.meaning) throw InputError("meaning", "expected what the schedule computes, got none");
  require_fit(schedule, *schedule.meaning, "meaning");
}

std::optional<WrongElement> check_meaning(const Schedule& schedule, std::uint64_t seed) {
  require_meaning_fits(schedule);
  return Run(schedule, seed).first_wrong();
}

}  // namespace weft::sim::meaning
