#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/flash_items.cuh"
#include "calibration/device/octet.cuh"
#include "calibration/device/on_device.hpp"
#include "calibration/device/partial_attention.hpp"
#include "calibration/device/sms_of_gpu.hpp"

namespace weft::calibration::device {
namespace {

using flash::Worker;
using Work = OwnPartialAttention::Work;

/// One head's queries of a tile.
struct Item {
  QueryTile tile;
  int head;
};

/// Item `number` of the launch; without queries where there are not as many.
__device__ Item item_of(const Work& work, int number) {
  if (number >= work.count) return {};
  const auto place = work.sets.at(number, work.count / work.heads);
  return {work.tiles[place.tile], place.head};
}

template <int head_dim>
using SharedMemory = flash::ItemMemory<head_dim>;

/// The tiles of keys that a tile of queries sees: part after part, each from its last tile to its first, so that those
/// come first that a causal part masks.
class KeyWalk {
 public:
  __device__ KeyWalk(const Work& work, const QueryTile& tile) : work_(work), tile_(tile), left_(tile.parts) {}

  __device__ void advance() {
    if (key_tile_ == 0) begin_part();
    --key_tile_;
  }
  __device__ int part() const { return part_; }
  __device__ int first_key() const { return key_tile_ * flash::tile_keys; }
  /// The last key of the part that row `row` of the tile sees.
  __device__ int last_seen(int row) const { return last_of_first_row_ + (is_causal_ ? row : 0); }

 private:
  __device__ void begin_part() {
    part_ = __ffs(static_cast<int>(left_)) - 1;
    left_ &= left_ - 1;
    const OwnPartialAttention::Keys& keys = work_.parts[part_];
    is_causal_ = keys.is_causal;
    last_of_first_row_ = is_causal_ ? tile_.first_query - keys.first_query : keys.keys - 1;
    key_tile_ = (last_seen(tile_.queries - 1) + flash::tile_keys) / flash::tile_keys;
  }

  const Work& work_;
  const QueryTile& tile_;
  std::uint32_t left_;
  int part_ = 0, key_tile_ = 0;
  int last_of_first_row_ = 0;  // of the part: read once, since heads of 64 take 10 % longer where each tile reads it
  bool is_causal_ = false;
};

__device__ int take(const Work& work) { return flash::take(work.taken, work.count); }

template <int head_dim>
__device__ void load_item(flash::SharedMemory<head_dim>& shared, const Work& work, const Item& item,
                          flash::Ring& ring) {
  const int kv_head = item.head / (work.heads / work.kv_heads);
  flash::load_boxes<head_dim>(shared.queries, work.queries, item.head * head_dim, item.tile.first_query,
                              shared.queries_loaded);
  KeyWalk walk(work, item.tile);
  for (int left = item.tile.key_tiles; left > 0; --left) {
    walk.advance();
    flash::load_tile<head_dim>(shared, ring, work.keys_values[walk.part()], kv_head * head_dim,
                               (work.kv_heads + kv_head) * head_dim, walk.first_key());
  }
}

template <int head_dim>
__device__ void load_items(SharedMemory<head_dim>& shared, const Work& work) {
  flash::Ring ring;
  std::uint32_t parity = 0, queries_parity = 0;
  for (int number = take(work);; parity ^= 1) {
    shared.item.tell(number, parity);
    const Item item = item_of(work, number);
    if (item.tile.queries == 0) return;
    if (item.tile.key_tiles > 0) {
      hopper::wait(shared.tiles.queries_free, queries_parity ^ 1);
      load_item<head_dim>(shared.tiles, work, item, ring);
      queries_parity ^= 1;
    }
    number = take(work);
  }
}

/// Of a warpgroup's rows those that belong to the tile: the others are of the next one, or of nobody.
__device__ int rows_of(const Worker& worker, const QueryTile& tile) {
  return min(max(tile.queries - worker.first_row, 0), flash::rows_of_warpgroup);
}

/// Where the result of the item's query in row `row` begins.
template <int head_dim>
__device__ Octet* result_row(const Work& work, const Item& item, int row) {
  auto* rows = static_cast<__nv_bfloat16*>(work.rows);
  return reinterpret_cast<Octet*>(rows + (item.tile.first_query + row) * work.row_stride + item.head * head_dim);
}
__device__ float& log_sum_exp(const Work& work, const Item& item, int row) {
  return work.log_sum_exp[(item.tile.first_query + row) * work.log_sum_exp_stride + item.head];
}

/// Calls visit(row of the tile, octet of the row) for what a warpgroup stores, by all of its threads.
template <int head_dim, class Visit>
__device__ void for_each_octet(const Worker& worker, int rows, const Visit& visit) {
  constexpr int octets = head_dim / 8;
  for (int i = worker.thread; i < rows * octets; i += flash::warpgroup)
    visit(worker.first_row + i / octets, i % octets);
}

/// A query that sees no key has an empty result.
template <int head_dim>
__device__ void store_empty(const Worker& worker, const Work& work, const Item& item) {
  const int rows = rows_of(worker, item.tile);
  for_each_octet<head_dim>(
      worker, rows, [&](int row, int octet) { result_row<head_dim>(work, item, row)[octet] = OctetSum().scaled(1); });
  if (worker.thread < rows) log_sum_exp(work, item, worker.first_row + worker.thread) = -INFINITY;
}

/// A whole warpgroup's rows by the memory accelerator; fewer by the threads, since it stores whole boxes.
template <int head_dim>
__device__ void store_result(flash::SharedMemory<head_dim>& shared, const Worker& worker, const Work& work,
                             const Item& item, const float (&sums)[head_dim / 2]) {
  flash::stage_result<head_dim>(shared, worker, sums);
  const int rows = rows_of(worker, item.tile);
  if (rows == flash::rows_of_warpgroup) {
    if (worker.thread == 0)
      flash::store_staged<head_dim>(shared, worker, work.output, item.head * head_dim,
                                    item.tile.first_query + worker.first_row);
    return;
  }
  for_each_octet<head_dim>(worker, rows, [&](int row, int octet) {
    result_row<head_dim>(work, item, row)[octet] =
        *reinterpret_cast<const Octet*>(flash::staged<head_dim>(shared, row, octet));
  });
  hopper::meet_warpgroup(1 + worker.group);
  worker.release(shared.queries_free);
}

template <int head_dim>
__device__ void attend(SharedMemory<head_dim>& shared, const Work& work) {
  const Worker worker;
  flash::Rings rings;
  std::uint32_t queries_parity = 0;
  for (std::uint32_t parity = 0;; parity ^= 1) {
    const Item item = item_of(work, shared.item.hear(parity));
    if (item.tile.queries == 0) return;
    if (item.tile.key_tiles == 0) {
      store_empty<head_dim>(worker, work, item);
      continue;
    }
    hopper::wait(shared.tiles.queries_loaded, queries_parity);
    queries_parity ^= 1;
    KeyWalk walk(work, item.tile);
    const auto mask_next = [&](float(&products)[64]) {
      walk.advance();
      if (walk.first_key() + flash::tile_keys > walk.last_seen(worker.first_row) + 1)
        flash::mask(products, walk.first_key(), {walk.last_seen(worker.row), walk.last_seen(worker.row + 8)});
    };
    float sums[head_dim / 2] = {};
    flash::Softmax softmax;
    flash::sum_values<head_dim>(shared.tiles, worker, rings, item.tile.key_tiles, work.scale, mask_next, softmax, sums);
    const float2 whole = softmax.whole_sums();
    flash::scale_rows(sums, {1 / whole.x, 1 / whole.y});
    flash::store_log_sums(worker, softmax, whole, work.scale, [&](int i, float log_sum) {
      const int row = worker.row + 8 * i;
      if (row < item.tile.queries) log_sum_exp(work, item, row) = log_sum;
    });
    store_result<head_dim>(shared.tiles, worker, work, item, sums);
  }
}

template <int head_dim>
__global__ void __launch_bounds__(flash::threads, 1) partial_attention_kernel(const __grid_constant__ Work work) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<head_dim>>(memory);
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&work.queries, &work.output, &work.keys_values[0]}) hopper::prefetch(*map);
    shared.init();
  }
  __syncthreads();
  if (threadIdx.x < flash::warpgroup) {
    hopper::give_registers_back<flash::registers_of_loader>();
    if (threadIdx.x == 0) load_items<head_dim>(shared, work);
  } else {
    hopper::take_registers<flash::registers_of_workers>();
    attend<head_dim>(shared, work);
  }
}

using Kernel = void (*)(Work);
struct Variant {
  Kernel kernel;
  int shared_bytes;
};
Variant variant_of(int head_dim) {
  if (head_dim == 64) return {partial_attention_kernel<64>, hopper::bytes_to_align<SharedMemory<64>>};
  return {partial_attention_kernel<128>, hopper::bytes_to_align<SharedMemory<128>>};
}

/// The keys and values of one part.
CUtensorMap map_of_part(const Matrix& keys_values, const AttentionPart& part) {
  const auto* first = static_cast<const __nv_bfloat16*>(keys_values.data) + part.first_key * keys_values.stride;
  return tensor_map(first, part.keys, keys_values.columns, keys_values.stride, flash::tile_keys);
}

Work work_of(const PartialAttentionOperands& operands, Arena& arena) {
  const auto& [queries, keys_values, output, log_sum_exp, heads, kv_heads, head_dim, parts] = operands;
  const std::vector<QueryTile> tiles = query_tiles(parts, queries.rows, flash::tile_queries, flash::tile_keys);
  Work work{.queries = tensor_map(queries.data, queries.rows, queries.columns, queries.stride, flash::tile_queries),
            .output = tensor_map(output.data, output.rows, output.columns, output.stride, flash::rows_of_warpgroup),
            .tiles = on_device(tiles, arena),
            .count = static_cast<int>(tiles.size()) * heads,
            .heads = heads,
            .kv_heads = kv_heads,
            .sets = head_sets(heads, kv_heads, keys_values.rows, head_dim),
            .scale = flash::scale_of(head_dim),
            .rows = output.data,
            .row_stride = output.stride,
            .log_sum_exp = static_cast<float*>(log_sum_exp.data),
            .log_sum_exp_stride = log_sum_exp.stride,
            .taken = on_device(std::vector<std::uint32_t>{0}, arena)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    work.keys_values[i] = map_of_part(keys_values, parts[i]);
    work.parts[i] = {static_cast<int>(parts[i].first_query), static_cast<int>(parts[i].keys),
                     parts[i].mask == AttentionMask::causal};
  }
  return work;
}

}  // namespace

OwnPartialAttention::OwnPartialAttention(const PartialAttentionOperands& operands, int max_sms, Arena& arena)
    : work_(work_of(operands, arena)),
      head_dim_(operands.head_dim),
      ctas_(std::min(max_sms > 0 ? max_sms : sms_of_gpu(), work_.count)) {
  const Variant variant = variant_of(head_dim_);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

void OwnPartialAttention::enqueue(cudaStream_t stream) const {
  const Variant variant = variant_of(head_dim_);
  variant.kernel<<<ctas_, flash::threads, static_cast<std::size_t>(variant.shared_bytes), stream>>>(work_);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
