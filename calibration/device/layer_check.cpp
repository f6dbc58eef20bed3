#include "calibration/device/layer_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "calibration/device/layer_kernels.hpp"
#include "models/schedule/footprint.hpp"
#include "models/schedule/row_order.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::uint64_t layer_seed = 3;

/// Equal in schedules whose buffers have other numbers.
std::uint64_t key_of(const std::string& name, int rank) {
  return data_key(layer_seed, static_cast<int>(std::hash<std::string>{}(name)), rank);
}

const Buffer& buffer_of(const Program& program, BufferId id) {
  return program.schedule().buffers[static_cast<std::size_t>(id)];
}

std::set<BufferId> written_by(const Schedule& schedule) {
  std::set<BufferId> written;
  for (const Operation& operation : schedule.operations)
    for (const Slice& slice : footprint(schedule, operation).writes) written.insert(slice.buffer);
  return written;
}

std::byte* row_of(const Program& program, BufferId id, std::int64_t row) {
  const Buffer& buffer = buffer_of(program, id);
  return static_cast<std::byte*>(program.buffer(id)) + row * buffer.columns * bytes_of(buffer.dtype);
}

}  // namespace

bool LayerCheck::is_consistent() const {
  const Schedule& other = reference_.program.schedule();
  if (!other.meaning || !other.meaning->layer || other.gpus != schedule().gpus) return false;
  const Buffer &theirs = other.buffers[static_cast<std::size_t>(its().result)], &ours = result();
  const bool holds_all_tokens = buffer_of(reference_.program, its().a).rows >= meaning().m;
  return holds_all_tokens && its().chunks == 1 && is_row_major() && theirs.rows == ours.rows &&
         theirs.columns == ours.columns && theirs.dtype == ours.dtype;
}

void LayerCheck::fill_inputs() const {
  fill_weights(program());
  fill_state(program(), meaning());
}

/// What nobody writes, so that products of normed rows are near 1.
void LayerCheck::fill_weights(const Program& of) const {
  const std::set<BufferId> written = written_by(of.schedule());
  for (BufferId id = 0; id < static_cast<BufferId>(of.schedule().buffers.size()); ++id) {
    if (written.contains(id)) continue;
    const Buffer& buffer = buffer_of(of, id);
    fill_normal(of.buffer(id), buffer.dtype, 0, buffer.rows * buffer.columns, key_of(buffer.name, rank()), of.origin(),
                {.deviation = 1 / std::sqrt(static_cast<float>(buffer.columns))});
  }
}

/// The residual of these tokens, the same on every rank, row after row.
void LayerCheck::fill_tokens(void* rows, const std::vector<std::int64_t>& tokens) const {
  const std::int64_t columns = meaning().k;
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t row = 0, next = 0; row < count; row = next) {
    const std::int64_t token = tokens[static_cast<std::size_t>(row)];
    for (next = row + 1; next < count && tokens[static_cast<std::size_t>(next)] == token + next - row;) ++next;
    fill_normal(static_cast<std::uint16_t*>(rows) + row * columns, DataType::bf16, token * columns,
                (next - row) * columns, key_of("token", 0), stream());
  }
}

/// In the order of its rows.
std::vector<std::int64_t> LayerCheck::own_tokens(const Meaning& its, const Buffer& residual) const {
  const bool owns_some = residual.rows < its.m;
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(owns_some ? residual.rows : its.m));
  const RowOrder scattered{CollectiveKind::reduce_scatter, its.m, its.layer->chunks, ranks()};
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(tokens.size()); ++row)
    tokens[static_cast<std::size_t>(row)] = owns_some ? scattered.sources(rank(), row).front().row : row;
  return tokens;
}

/// All on this program's stream, which is that of the reference, too.
void LayerCheck::fill_state(const Program& of, const Meaning& its) const {
  const std::int64_t columns = its.k;
  const Matrix residual{of.buffer(its.a), 0, columns, columns};
  const std::vector<std::int64_t> own = own_tokens(its, buffer_of(of, its.a));
  fill_tokens(residual.data, own);
  const auto norm = [&](void* from, BufferId to, std::int64_t first_row, std::int64_t rows) {
    rms_norm({.storage = {from, rows, columns, columns}}, {row_of(of, to, first_row), rows, columns, columns},
             buffer_of(of, to).dtype, stream());
  };
  constexpr std::int64_t block = 1024;
  auto* const scratch = arena().allocate(block * columns * bytes_of(DataType::bf16));
  for (std::int64_t first = 0; first < its.m; first += block) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(std::min(block, its.m - first)));
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = first + static_cast<std::int64_t>(i);
    fill_tokens(scratch, tokens);
    norm(scratch, its.b, first, static_cast<std::int64_t>(tokens.size()));
  }
  if (its.layer->normed_rows)
    norm(residual.data, its.layer->normed_rows->buffer, 0, static_cast<std::int64_t>(own.size()));
  if (its.layer->partial) {
    const BufferId partial = its.layer->partial->buffer;
    WEFT_CHECK(cudaMemsetAsync(of.buffer(partial), 0,
                               static_cast<std::size_t>(buffer_of(of, partial).rows * columns) * sizeof(std::uint16_t),
                               stream()));
  }
}

/// Gathered rows come from the rows that ranks own, which stand for tokens.
std::int64_t LayerCheck::token_of(std::int64_t row) const {
  if (buffer(meaning().a).rows >= meaning().m) return row;
  const RowOrder gathered{CollectiveKind::all_gather, meaning().m, meaning().chunks, ranks()};
  const RowOrder scattered{CollectiveKind::reduce_scatter, meaning().m, meaning().layer->chunks, ranks()};
  const RowSource owner = gathered.sources(rank(), row).front();
  return scattered.sources(owner.rank, owner.row).front().row;
}

std::vector<float> LayerCheck::reference_row(std::int64_t row) const {
  const Buffer& stored = buffer_of(reference_.program, its().result);
  return values_on_host(row_of(reference_.program, its().result, row), stored.dtype, stored.columns);
}

void LayerCheck::add_reference() {
  set_to_nan(reference_.program);
  fill_weights(reference_.program);
  fill_state(reference_.program, its());
  program().wait();
  run_once(reference_.program, reference_.launcher, ranks_);
  set_rows([this](std::int64_t row) { return reference_row(token_of(row)); });
}

/// Where both round alike, they agree to the bit. A sum that one of them stores once more on the way makes its layer
/// differ by 2^-9 here and there, which six layers make 0.009 in the mean square, and 0.16 of an element where the gate
/// lets a large one through (1,600 rows computed twice, by two programs that share nothing with these). Rows that took
/// the wrong rotation in one of two halves were off by 0.8 and more. In fp8 every rounding differs by up to 2^-4.
ErrorBound LayerCheck::bound() const {
  if (result().dtype == DataType::fp8) return {.relative = 0.25F, .absolute = 1};
  return {.relative = 0.1F, .absolute = 0.3F};
}

}  // namespace weft::calibration::device
