#include <algorithm>
#include <cstddef>

#include "calibration/device/attention.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/flash_items.cuh"
#include "calibration/device/merge_kernels.hpp"
#include "calibration/device/on_device.hpp"
#include "calibration/device/tensor_map.hpp"

namespace weft::calibration::device {
namespace {

using flash::Worker;
using Shape = OwnAttention::Shape;

static_assert(flash::tile_queries == own_tile_queries && flash::tile_keys == own_tile_keys &&
              flash::rows_of_warpgroup == own_rows_of_warpgroup && most_of_one_thread <= static_cast<int>(max_merged));

template <int head_dim>
using SharedMemory = flash::ItemMemory<head_dim>;

__host__ __device__ int tiles_of_keys(int keys) { return (keys + flash::tile_keys - 1) / flash::tile_keys; }

/// A tile of queries of some heads of a sequence, of a set of heads the longest first, as the last queries see most
/// keys; and a split of the tiles of keys that it sees. These are walked through from the last own one, which is
/// masked, to the first, and then from the last cached one.
struct Item {
  int split, sequence, first_head, first_token;
  int own_tiles, cached_tiles, begin, end;  ///< of the walk

  __device__ Item(const Shape& shape, int number) : split(number % shape.splits) {
    const auto place = shape.sets.at(number / shape.splits, shape.tiles_of_sequence);
    const int groups = shape.heads / shape.heads_of_tile, tokens_of_tile = 2 * shape.tokens_of_warpgroup;
    sequence = place.head / groups;
    first_head = place.head % groups * shape.heads_of_tile;
    first_token = (shape.tiles_of_sequence - 1 - place.tile) * tokens_of_tile;
    own_tiles = tiles_of_keys(shape.prefix + min(first_token + tokens_of_tile, shape.tokens));
    cached_tiles = tiles_of_keys(shape.cached);
    const int all = own_tiles + cached_tiles;
    begin = all * split / shape.splits, end = all * (split + 1) / shape.splits;
  }
  __device__ bool is_own(int step) const { return step < own_tiles; }
  /// The tile of own or of cached keys that comes at this step.
  __device__ int tile_at(int step) const {
    return is_own(step) ? own_tiles - 1 - step : own_tiles + cached_tiles - 1 - step;
  }
};

/// What the kernel reads and writes, as the memory accelerator knows it.
struct Maps {
  CUtensorMap queries, rows, cached, output;
};

/// Where a warpgroup's rows of a tile begin: a row for each head of each token.
__device__ hopper::Corner corner_of(const Item& item, const Shape& shape, int group, int box, int sequence) {
  return {box * box_columns, item.first_head, item.first_token + group * shape.tokens_of_warpgroup, sequence};
}

template <int head_dim>
__device__ void load_queries(flash::SharedMemory<head_dim>& shared, const CUtensorMap& queries, const Shape& shape,
                             const Item& item) {
  constexpr int boxes = head_dim / box_columns;
  const int box_bytes = shape.heads_of_tile * shape.tokens_of_warpgroup * box_columns * 2;
  hopper::arrive_and_expect(shared.queries_loaded, flash::working_warpgroups * boxes * box_bytes);
  for (int box = 0; box < boxes; ++box)
    for (int group = 0; group < flash::working_warpgroups; ++group)
      hopper::load(shared.queries[box] + group * flash::rows_of_warpgroup * box_columns, queries,
                   corner_of(item, shape, group, box, item.sequence), shared.queries_loaded);
}

template <int head_dim>
__device__ void load_item(flash::SharedMemory<head_dim>& shared, const Maps& maps, const Shape& shape, const Item& item,
                          flash::Ring& ring) {
  load_queries<head_dim>(shared, maps.queries, shape, item);
  const int kv_head = item.first_head / (shape.heads / shape.kv_heads);
  const int key = kv_head * head_dim, value = (shape.kv_heads + kv_head) * head_dim, behind = shape.heads * head_dim;
  for (int step = item.begin; step < item.end; ++step) {
    const int first_key = item.tile_at(step) * flash::tile_keys;
    if (item.is_own(step))
      flash::load_tile<head_dim>(shared, ring, maps.rows, behind + key, behind + value,
                                 item.sequence * shape.tokens + first_key);
    else
      flash::load_tile<head_dim>(shared, ring, maps.cached, key, value, item.sequence * shape.cached + first_key);
  }
}

template <int head_dim>
__device__ void load_items(SharedMemory<head_dim>& shared, const Maps& maps, const Shape& shape) {
  const auto take = [&](int of_grid) { return shape.taken ? flash::take(shape.taken, shape.count) : of_grid; };
  flash::Ring ring;
  std::uint32_t parity = 0;
  for (int number = take(static_cast<int>(blockIdx.x));; parity ^= 1) {
    shared.item.tell(number, parity);
    if (number >= shape.count) return;
    hopper::wait(shared.tiles.queries_free, parity ^ 1);
    load_item<head_dim>(shared.tiles, maps, shape, Item(shape, number), ring);
    number = take(shape.count);
  }
}

/// The token and head of a row of a tile; a row that belongs to nobody is behind the last token.
struct RowPlace {
  int token, head;
  __device__ RowPlace(const Item& item, const Shape& shape, int row) {
    const int group = row / flash::rows_of_warpgroup, in_group = row % flash::rows_of_warpgroup;
    const int token_of_group = in_group / shape.heads_of_tile;
    token = token_of_group < shape.tokens_of_warpgroup
                ? item.first_token + group * shape.tokens_of_warpgroup + token_of_group
                : shape.tokens;
    head = item.first_head + in_group % shape.heads_of_tile;
  }
};

__device__ void store_log_sums(const Worker& worker, const Item& item, const Shape& shape,
                               const flash::Softmax& softmax, float2 whole) {
  flash::store_log_sums(worker, softmax, whole, shape.scale, [&](int i, float log_sum) {
    const RowPlace place(item, shape, worker.row + 8 * i);
    if (place.token >= shape.tokens) return;
    const std::int64_t row =
        (static_cast<std::int64_t>(item.split) * shape.sequences + item.sequence) * shape.tokens + place.token;
    shape.log_sum_exp[row * shape.heads + place.head] = log_sum;
  });
}

/// A row that sees none of a split's keys has an empty result.
__device__ float share_of(float whole) { return whole > 0 ? 1 / whole : 0; }

template <int head_dim>
__device__ void store_result(flash::SharedMemory<head_dim>& shared, const Worker& worker, const CUtensorMap& output,
                             const Shape& shape, const Item& item, const float (&sums)[head_dim / 2]) {
  flash::stage_result<head_dim>(shared, worker, sums);
  if (worker.thread != 0) return;
  for (int box = 0; box < head_dim / box_columns; ++box)
    hopper::store(shared.queries[box] + worker.first_row * box_columns, output,
                  corner_of(item, shape, worker.group, box, item.split * shape.sequences + item.sequence));
  hopper::end_group_of_stores();
  hopper::wait_until_read<0>();
  hopper::arrive(shared.queries_free);
}

template <int head_dim>
__device__ void attend(SharedMemory<head_dim>& shared, const CUtensorMap& output, const Shape& shape) {
  const Worker worker;
  flash::Rings rings;
  for (std::uint32_t parity = 0;; parity ^= 1) {
    const int number = shared.item.hear(parity);
    if (number >= shape.count) return;
    const Item item(shape, number);
    const int last_seen = shape.prefix + RowPlace(item, shape, worker.row).token,
              last_seen_8 = shape.prefix + RowPlace(item, shape, worker.row + 8).token,
              first_of_group = shape.prefix + item.first_token + worker.group * shape.tokens_of_warpgroup;
    int step = item.begin;
    const auto mask_next = [&](float(&products)[64]) {
      const int first_key = item.tile_at(step) * flash::tile_keys;
      if (!item.is_own(step)) {
        if (first_key + flash::tile_keys > shape.cached)
          flash::mask(products, first_key, {shape.cached - 1, shape.cached - 1});
      } else if (first_key + flash::tile_keys > first_of_group + 1) {
        flash::mask(products, first_key, {last_seen, last_seen_8});
      }
      ++step;
    };
    float sums[head_dim / 2] = {};
    flash::Softmax softmax;
    hopper::wait(shared.tiles.queries_loaded, parity);
    flash::sum_values<head_dim>(shared.tiles, worker, rings, item.end - item.begin, shape.scale, mask_next, softmax,
                                sums);
    const float2 whole = softmax.whole_sums();
    if (shape.splits > 1) store_log_sums(worker, item, shape, softmax, whole);
    flash::scale_rows(sums, {share_of(whole.x), share_of(whole.y)});
    store_result<head_dim>(shared.tiles, worker, output, shape, item, sums);
  }
}

/// By a warpgroup that never has a query: gives free what the other one works on, as it comes. One thread does, since
/// nothing here holds the others back to it, and a barrier that has gone on twice looks as if it had not.
template <int head_dim>
__device__ void pass(SharedMemory<head_dim>& shared, const Shape& shape) {
  const bool passes = Worker().thread == 0;
  flash::Rings rings;
  const auto pass_one = [&](hopper::Barrier* loaded, hopper::Barrier* free, flash::Ring& ring) {
    hopper::wait(loaded[ring.slot], ring.parity);
    hopper::arrive(free[ring.slot]);
    ring.advance();
  };
  for (std::uint32_t parity = 0;; parity ^= 1) {
    const int number = shared.item.hear(parity);
    if (number >= shape.count) return;
    if (!passes) continue;
    const Item item(shape, number);
    for (int left = item.end - item.begin; left > 0; --left) {
      pass_one(shared.tiles.keys_loaded, shared.tiles.keys_free, rings.keys);
      pass_one(shared.tiles.values_loaded, shared.tiles.values_free, rings.values);
    }
    hopper::wait(shared.tiles.queries_loaded, parity);
    hopper::arrive(shared.tiles.queries_free);
  }
}

/// `working`: warpgroups that have queries.
template <int head_dim, int working>
__global__ void __launch_bounds__(flash::threads, 1)
    attention_kernel(const __grid_constant__ Maps maps, const __grid_constant__ Shape shape) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<head_dim>>(memory);
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&maps.queries, &maps.rows, &maps.output}) hopper::prefetch(*map);
    if (shape.cached > 0) hopper::prefetch(maps.cached);
    shared.init();
  }
  __syncthreads();
  if (threadIdx.x < flash::warpgroup) {
    hopper::give_registers_back<flash::registers_of_loader>();
    if (threadIdx.x == 0) load_items<head_dim>(shared, maps, shape);
  } else {
    hopper::take_registers<flash::registers_of_workers>();
    if (working == flash::working_warpgroups || threadIdx.x < 2 * flash::warpgroup)
      attend<head_dim>(shared, maps.output, shape);
    else
      pass<head_dim>(shared, shape);
  }
}

using Kernel = void (*)(Maps, Shape);
struct Variant {
  Kernel kernel;
  int shared_bytes;
};
template <int head_dim>
Variant variant_of(const AttentionTiles& tiles) {
  const bool both_work = tiles.working_warpgroups == flash::working_warpgroups;
  return {both_work ? attention_kernel<head_dim, 2> : attention_kernel<head_dim, 1>,
          hopper::bytes_to_align<SharedMemory<head_dim>>};
}
Variant variant_of(const AttentionOperands& operands) {
  return operands.head_dim == 64 ? variant_of<64>(operands.tiles) : variant_of<128>(operands.tiles);
}

std::int64_t cached_keys(const AttentionOperands& operands) {
  return operands.cached.data == nullptr ? 0 : operands.cached.rows / operands.sequences;
}

HeadSets sets_of(const AttentionOperands& operands) {
  const std::int64_t keys = cached_keys(operands) + operands.prefix + operands.tokens;
  return head_sets(operands.sequences * static_cast<int>(operands.tiles.groups_of_heads),
                   operands.sequences * operands.kv_heads, keys, operands.head_dim);
}

Shape shape_of(const AttentionOperands& operands, std::uint32_t* taken, float* log_sum_exp) {
  const AttentionTiles& tiles = operands.tiles;
  return {.prefix = static_cast<int>(operands.prefix),
          .tokens = static_cast<int>(operands.tokens),
          .cached = static_cast<int>(cached_keys(operands)),
          .sequences = operands.sequences,
          .heads = operands.heads,
          .kv_heads = operands.kv_heads,
          .heads_of_tile = tiles.heads_of_tile,
          .tokens_of_warpgroup = tiles.tokens_of_warpgroup,
          .tiles_of_sequence = static_cast<int>(tiles.of_sequence),
          .count = static_cast<int>(tiles.count * tiles.splits),
          .splits = static_cast<int>(tiles.splits),
          .sets = sets_of(operands),
          .scale = flash::scale_of(operands.head_dim),
          .log_sum_exp = log_sum_exp,
          .taken = taken};
}

/// Of each split the results of all rows, of nobody where there is one.
Matrix scratch_of(const AttentionOperands& operands, DataType type, std::int64_t columns, Arena& arena) {
  if (operands.tiles.splits == 1) return {};
  const std::int64_t rows = operands.tiles.splits * operands.sequences * operands.tokens;
  return {arena.allocate(rows * columns * bytes_of(type)), rows, columns, columns};
}

CUtensorMap map_of(const AttentionOperands& operands, const void* data, std::int64_t sequences, std::int64_t stride) {
  return tensor_map({.data = data,
                     .sequences = sequences,
                     .tokens = operands.tokens,
                     .heads = operands.heads,
                     .head_dim = operands.head_dim,
                     .stride = stride},
                    operands.tiles.heads_of_tile, operands.tiles.tokens_of_warpgroup);
}

CUtensorMap queries_of(const AttentionOperands& operands) {
  const auto* rows = static_cast<const __nv_bfloat16*>(operands.rows);
  return map_of(operands, rows + operands.prefix * operands.row_stride, operands.sequences, operands.row_stride);
}

CUtensorMap rows_of(const AttentionOperands& operands) {
  return tensor_map(operands.rows, operands.prefix + operands.sequences * operands.tokens,
                    std::int64_t{operands.heads + 2 * operands.kv_heads} * operands.head_dim, operands.row_stride,
                    flash::tile_keys);
}

}  // namespace

OwnAttention::OwnAttention(const AttentionOperands& operands, int max_sms, Arena& arena)
    : operands_(operands),
      results_(scratch_of(operands, DataType::bf16, operands.output.columns, arena)),
      log_sum_exp_(scratch_of(operands, DataType::fp32, operands.heads, arena)),
      shape_(shape_of(operands, max_sms > 0 ? on_device(std::vector<std::uint32_t>{0}, arena) : nullptr,
                      static_cast<float*>(log_sum_exp_.data))),
      queries_(queries_of(operands)),
      rows_(rows_of(operands)) {
  if (const Matrix& cached = operands.cached; cached.data != nullptr) {
    cached_ = tensor_map(cached.data, cached.rows, cached.columns, cached.stride, flash::tile_keys,
                         operands.keys_are_read_once ? Read::once : Read::again);
  }
  const Matrix& stored = operands.tiles.splits > 1 ? results_ : operands.output;
  output_ = map_of(operands, stored.data, operands.tiles.splits * operands.sequences, stored.stride);
  ctas_ = max_sms > 0 ? std::min(max_sms, shape_.count) : shape_.count;
  const Variant variant = variant_of(operands);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

void OwnAttention::enqueue(cudaStream_t stream) const {
  const Variant variant = variant_of(operands_);
  variant.kernel<<<ctas_, flash::threads, static_cast<std::size_t>(variant.shared_bytes), stream>>>(
      {queries_, rows_, cached_, output_}, shape_);
  WEFT_CHECK(cudaGetLastError());
  if (shape_.splits > 1) merge_splits(stream);
}

void OwnAttention::merge_splits(cudaStream_t stream) const {
  const std::int64_t rows = operands_.output.rows;
  if (shape_.splits > most_of_one_thread)
    return merge_many({results_, log_sum_exp_}, shape_.splits, {operands_.output, log_sum_exp_}, stream);
  MergedResults splits;
  const auto part_of = [&](const Matrix& all, Bytes element) {
    return Matrix{static_cast<std::byte*>(all.data) + splits.count * rows * all.stride * element, rows, all.columns,
                  all.stride};
  };
  while (splits.count < shape_.splits) {
    splits.result[splits.count] = {part_of(results_, bytes_of(DataType::bf16)),
                                   part_of(log_sum_exp_, bytes_of(DataType::fp32))};
    ++splits.count;
  }
  log_sum_exp_merge(splits, {operands_.output, splits.result[0].log_sum_exp}, stream);
}

}  // namespace weft::calibration::device
