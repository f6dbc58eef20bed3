#include "calibration/selftest_schedules.hpp"

#include "calibration/selftest_attention.hpp"
#include "calibration/selftest_edges.hpp"
#include "calibration/selftest_experts.hpp"
#include "calibration/selftest_fp8.hpp"
#include "calibration/selftest_kernel_name.hpp"
#include "calibration/selftest_norms.hpp"
#include "calibration/selftest_one_launch.hpp"
#include "calibration/selftest_replicas.hpp"
#include "calibration/selftest_rotation.hpp"
#include "calibration/selftest_uneven.hpp"
#include "calibration/selftest_windows.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t m = 4096, n = 3072, k = 2048;  // whole tiles of all of our kernels
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
  return {.name = name, .rows = rows, .columns = columns, .layout = {}};
}

Slice rows_of(const Schedule& schedule, BufferId buffer, int chunk, int chunks) {
  const Buffer& whole = schedule.buffers[static_cast<std::size_t>(buffer)];
  const std::int64_t count = whole.rows / chunks;
  return {buffer, 0, RowRange{chunk * count, count}, 0, whole.columns};
}

Collective collective_of(CollectiveKind kind, const Slice& input, const Slice& output, int max_ctas) {
  return {.kind = kind, .input = input, .output = output, .max_ctas = max_ctas};
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

/// The tile scheduler shows in how long a GEMM takes beside SMs that are held.
Schedule gemm_beside_held_sms(int gpus) {
  Schedule schedule = gemm_alone(gpus);
  schedule.name = "gemm beside held SMs, gpus=" + std::to_string(gpus);
  schedule.operations.insert(schedule.operations.begin(),
                             {{"hold", communication, {}, Delay{300, 16}}, {"until held", compute, {}, Delay{20}}});
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
  second.addend = second.c;
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

// --- Our own GEMM kernels --------------------------------------------------------------------------------------------

Gemm own_gemm(Gemm gemm, const GemmKernel& kernel) {
  gemm.kernel = kernel;
  gemm.order = {.swizzle = 4};
  return gemm;
}

/// Rows and columns that tiles do not divide (clusters need an even number of tile rows), k that k steps do not; then
/// the same product again, added to the first half of the columns.
Schedule own_gemm_with_edges(int gpus, const GemmKernel& kernel) {
  Schedule schedule = empty_schedule("gemm", gpus, 1);
  const std::int64_t rows = 7 * own_tile_m + 40, columns = 5 * own_tile_m + 24, inner = 1000;
  schedule.name = own_kernel_name(kernel) + ", with edges gpus=" + std::to_string(gpus);
  schedule.buffers = {matrix("a", rows, inner), matrix("b", columns, inner), matrix("c", rows, columns)};
  schedule.meaning->m = rows, schedule.meaning->n = columns, schedule.meaning->k = inner;
  const Slice a = rows_of(schedule, 0, 0, 1), b = rows_of(schedule, 1, 0, 1), c = rows_of(schedule, 2, 0, 1);
  const auto part_of_k = [&](Slice slice, std::int64_t first, std::int64_t count) {
    slice.first_column = first, slice.columns = count;
    return slice;
  };
  Gemm left = own_gemm(gemm_of(part_of_k(a, 0, 600), part_of_k(b, 0, 600), c), kernel);
  Gemm right = own_gemm(gemm_of(part_of_k(a, 600, 400), part_of_k(b, 600, 400), c), kernel);
  right.addend = right.c;
  if (kernel.scheduler == TileScheduler::static_persistent) right.max_sms = 6;
  schedule.operations = {{"left", compute, {}, left}, {"right", compute, {}, right}};
  return schedule;
}

Layout tiles_of(const Gemm& gemm, LayoutKind kind) {
  Layout layout{.kind = kind,
                .rows = m,
                .columns = n,
                .tile_rows = gemm.kernel->tile_m,
                .tile_columns = gemm.kernel->tile_n,
                .order = gemm.order};
  if (kind != LayoutKind::tile_ordered) layout.group_tiles = gemm.tile_groups;
  return layout;
}

Buffer tiled_matrix(const std::string& name, const Layout& layout) {
  Buffer buffer = matrix(name, layout.rows * layout.columns / layout.tile_columns, layout.tile_columns);
  buffer.layout = layout;
  return buffer;
}

/// FlashOverlap's signaling: one GEMM whose tiles are sent group by group.
Schedule signaling(CollectiveKind kind, int gpus, const GemmKernel& kernel) {
  Schedule schedule = empty_schedule("gemm+" + std::string(name_of(kind)), gpus, 1);
  schedule.name = "signaling, " + schedule.name + ", own kernel of " + std::to_string(kernel.tile_n) + " columns, " +
                  std::string(name_of(kernel.scheduler));
  schedule.family = "signaling";
  schedule.buffers = {matrix("a", m, k), matrix("b", n, k)};
  Gemm gemm = own_gemm(gemm_of(rows_of(schedule, 0, 0, 1), rows_of(schedule, 1, 0, 1), {}), kernel);
  if (kernel.scheduler == TileScheduler::static_persistent) gemm.max_sms = 96;
  const std::int64_t tiles = m / kernel.tile_m * (n / kernel.tile_n);
  gemm.tile_groups = {tiles / 4, tiles / 8, tiles - tiles / 4 - tiles / 8};
  const LayoutKind stored = kind == CollectiveKind::all_reduce       ? LayoutKind::tile_ordered
                            : kind == CollectiveKind::reduce_scatter ? LayoutKind::sub_tile_ordered
                                                                     : LayoutKind::per_destination;
  const Layout layout = tiles_of(gemm, stored);
  schedule.buffers.push_back(tiled_matrix("c", layout));
  gemm.c = rows_of(schedule, 2, 0, 1);
  BufferId result = 2;
  if (kind != CollectiveKind::all_reduce) {
    Layout received = layout;
    if (kind == CollectiveKind::reduce_scatter) {
      received = tiles_of(gemm, LayoutKind::tile_ordered);
      received.rows /= gpus, received.tile_rows /= gpus;
    }
    schedule.buffers.push_back(tiled_matrix("result", received));
    result = 3;
    schedule.meaning->chunks = static_cast<int>(kind == CollectiveKind::reduce_scatter ? m / kernel.tile_m : m / gpus);
  }
  schedule.meaning->result = result;
  const auto tile_rows = [&](BufferId buffer, std::int64_t first, std::int64_t count) {
    Slice slice = rows_of(schedule, buffer, 0, 1);
    const std::int64_t rows = schedule.buffers[static_cast<std::size_t>(buffer)].layout.tile_rows;
    slice.rows = RowRange{first * rows, count * rows};
    return slice;
  };
  std::vector<Operation> sent;
  std::int64_t first = 0;
  for (int group = 0; group < static_cast<int>(gemm.tile_groups.size()); ++group) {
    const std::int64_t count = gemm.tile_groups[static_cast<std::size_t>(group)];
    const std::string number = " " + std::to_string(group);
    schedule.counters.push_back({"group" + number, true});
    gemm.signals.push_back({.tile_group = group, .counter = group});
    sent.push_back({"wait" + number, communication, {}, Wait{.counter = group}});
    sent.push_back({"collective" + number,
                    communication,
                    {},
                    collective_of(kind, tile_rows(2, first, count), tile_rows(result, first, count), 0)});
    first += count;
  }
  schedule.operations = {{"gemm", compute, {}, gemm}};
  schedule.operations.insert(schedule.operations.end(), sent.begin(), sent.end());
  return schedule;
}

Buffer symmetric(Buffer buffer) {
  buffer.memory = Memory::symmetric;
  return buffer;
}

Slice shard_of(const Schedule& schedule, BufferId buffer, int rank_offset) {
  const Buffer& whole = schedule.buffers[static_cast<std::size_t>(buffer)];
  return {buffer, 0, ShardRows{rank_offset, 0, 1, 0, whole.rows}, 0, whole.columns};
}

/// `slice` on rank + place, cut to `columns` from `first_column` on.
Slice part(Slice slice, int place, std::int64_t first_column, std::int64_t columns) {
  slice.place = place, slice.first_column = first_column, slice.columns = columns;
  return slice;
}

/// PyTorch's fused all-gather and GEMM: pulls and GEMMs alternate on two streams.
Schedule async_tp(int gpus) {
  Schedule schedule = empty_schedule("all_gather+gemm", gpus, 1);
  schedule.name = "async TP gpus=" + std::to_string(gpus);
  schedule.streams = {{"s0", 0}, {"s1", 0}};
  schedule.buffers = {matrix("shard", m / gpus, k), matrix("b", n, k), matrix("c", m, n),
                      symmetric(matrix("published shard", m / gpus, k)), matrix("gathered", m, k)};
  schedule.meaning->also = {Meaning{"all_gather", m, k, k, 0, 0, 4, 1, {}}};
  const Slice own = rows_of(schedule, 0, 0, 1), b = rows_of(schedule, 1, 0, 1), published = rows_of(schedule, 3, 0, 1);
  auto& operations = schedule.operations;
  operations = {{"enter", 0, {}, Barrier{}},
                {"publish", 0, {}, Copy{own, published, CopyPath::copy_engine}},
                {"published", 0, {}, Barrier{}},
                {"gemm 0", 0, {}, gemm_of(own, b, shard_of(schedule, 2, 0))}};
  for (int step = 1; step < gpus; ++step) {
    const StreamId stream = step % 2;
    const Slice arrived = shard_of(schedule, 4, step);
    operations.push_back({"pull " + std::to_string(step),
                          stream,
                          {{2, Point::end, 0}},
                          Copy{part(published, step, 0, k), arrived, CopyPath::copy_engine}});
    operations.push_back(
        {"gemm " + std::to_string(step), stream, {}, gemm_of(arrived, b, shard_of(schedule, 2, step))});
  }
  const auto last_of_s1 = static_cast<OperationId>(gpus % 2 == 0 ? operations.size() - 1 : operations.size() - 3);
  operations.push_back({"keep own", 0, {}, Copy{own, shard_of(schedule, 4, 0), CopyPath::copy_engine}});
  operations.push_back({"leave", 0, {{last_of_s1, Point::end, 0}}, Barrier{}});
  return schedule;
}

/// Signaling the other way round: pulls raise flags, and tiles wait for the flag of their rows. The rank that they are
/// pulled from raises it too, once it has pulled: what several ranks add to is told apart by rank.
Schedule flagged_gather(int gpus, const GemmKernel& kernel) {
  Schedule schedule = empty_schedule("all_gather+gemm", gpus, 1);
  schedule.name = "flagged gather, " + own_kernel_name(kernel) + ", gpus=" + std::to_string(gpus);
  schedule.family = "signaling";
  schedule.buffers = {symmetric(matrix("shard", m / gpus, k)), matrix("b", n, k), matrix("c", m, n),
                      matrix("gathered", m, k)};
  schedule.meaning->own_rows_first = true;
  Gemm gemm =
      own_gemm(gemm_of(rows_of(schedule, 3, 0, 1), rows_of(schedule, 1, 0, 1), rows_of(schedule, 2, 0, 1)), kernel);
  gemm.order.swizzle = static_cast<int>(m / kernel.tile_m / gpus);
  gemm.tile_groups.assign(static_cast<std::size_t>(gpus), m / kernel.tile_m * (n / kernel.tile_n) / gpus);
  const Slice shard = rows_of(schedule, 0, 0, 1);
  for (int step = 1; step < gpus; ++step) {
    const std::string number = " " + std::to_string(step);
    schedule.counters.push_back({"shard" + number, false});
    schedule.operations.push_back(
        {"pull" + number, communication, {}, Copy{part(shard, step, 0, k), rows_of(schedule, 3, step, gpus)}});
    for (const int place : {0, gpus - step})
      schedule.operations.push_back(
          {"flag" + number + (place == 0 ? "" : " there"), communication, {}, Signal{step - 1, place}});
    gemm.waits.push_back({.tile_group = step, .counter = step - 1, .value = 2});
  }
  schedule.operations.push_back({"copy own", compute, {}, Copy{shard, rows_of(schedule, 3, 0, gpus)}});
  schedule.operations.push_back({"gemm", compute, {}, gemm});
  return schedule;
}

/// A collective alone, by our own kernel over peer memory.
Schedule peer_collective(CollectiveKind kind, int gpus, int ctas, std::int64_t rows) {
  Schedule schedule = empty_schedule(std::string(name_of(kind)), gpus, 1);
  schedule.name = std::string(name_of(kind)) + " of " + std::to_string(rows) + " rows by " + std::to_string(ctas) +
                  " CTAs over peer memory, gpus=" + std::to_string(gpus);
  const bool gathers = kind == CollectiveKind::all_gather, scatters = kind == CollectiveKind::reduce_scatter;
  schedule.buffers = {symmetric(matrix("input", gathers ? rows / gpus : rows, n)),
                      symmetric(matrix("result", scatters ? rows / gpus : rows, n))};
  schedule.meaning = Meaning{std::string(name_of(kind)), rows, n, 1, 0, 0, 1, 1, {}};
  Collective collective = collective_of(kind, rows_of(schedule, 0, 0, 1), rows_of(schedule, 1, 0, 1), ctas);
  collective.transport = Transport::peer_kernel;
  schedule.operations = {{"collective", compute, {}, collective}};
  return schedule;
}

/// What a decoder layer consists of besides GEMMs, with the reduction fused: it runs, and its numbers are not looked
/// at.
Schedule kernels_of_a_layer(int gpus) {
  constexpr int heads = 16, kv_heads = 4, head_dim = 128;
  constexpr std::int64_t tokens = 1024, hidden = std::int64_t{heads} * head_dim, prefix = 512;
  Schedule schedule;
  schedule.name = "kernels of a layer, gpus=" + std::to_string(gpus);
  schedule.family = "token_split";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  schedule.buffers = {matrix("qkv", tokens, std::int64_t{heads + 2 * kv_heads} * head_dim),
                      matrix("attended", tokens, hidden),
                      symmetric(matrix("partial", tokens, hidden)),
                      matrix("residual", tokens, hidden),
                      symmetric(matrix("normed", tokens, hidden)),
                      matrix("activated", tokens, hidden / 2)};
  const auto whole = [&](BufferId buffer) { return rows_of(schedule, buffer, 0, 1); };
  const auto last = [&](BufferId buffer) {
    Slice slice = whole(buffer);
    slice.rows = RowRange{prefix, tokens - prefix};
    return slice;
  };
  Slice queries_and_keys = whole(0);
  queries_and_keys.columns = std::int64_t{heads + kv_heads} * head_dim;
  schedule.operations = {
      {"norm", 0, {}, MemoryBound{MemoryKernel::rms_norm, {whole(3)}, {whole(1)}}},
      {"rotary", 0, {}, MemoryBound{MemoryKernel::rotary, {queries_and_keys}, {queries_and_keys}}},
      {"attention", 0, {}, Attention{last(0), last(1), heads, kv_heads, head_dim, prefix}},
      {"swiglu", 0, {}, MemoryBound{MemoryKernel::swiglu, {whole(1)}, {whole(5)}}},
      {"add norm", 0, {}, MemoryBound{MemoryKernel::add_rms_norm, {whole(2), whole(3)}, {whole(4), whole(3)}}},
      {"all-reduce and norm", 0, {}, AllReduceNorm{whole(2), whole(3), whole(4), Transport::peer_kernel, 8}}};
  return schedule;
}

/// FiCCO, uniform, fused, 2D: one K slice after the other, pulled from all peers at once, accumulated into C.
Schedule ficco(int gpus) {
  Schedule schedule = empty_schedule("all_gather+gemm", gpus, 1);
  schedule.name = "FiCCO uniform fused 2D gpus=" + std::to_string(gpus);
  schedule.streams = {{"s0", 0}};
  for (int peer = 1; peer < gpus; ++peer) schedule.streams.push_back({"peer " + std::to_string(peer), 0});
  schedule.buffers = {symmetric(matrix("shard", m / gpus, k)), matrix("b", n, k), matrix("c", m, n),
                      matrix("gathered", gpus * m, k / gpus)};
  const std::int64_t columns = k / gpus;
  schedule.operations = {{"enter", 0, {}, Barrier{}}};
  for (int step = 0; step < gpus; ++step) {
    const std::string suffix = " " + std::to_string(step);
    std::vector<After> arrived;
    for (int peer = 0; peer < gpus; ++peer) {
      const Slice place{3, 0, ShardRows{peer, 0, 1, step * m, m}, 0, columns};
      const std::string from = peer == 0 ? "copy own" : "pull " + std::to_string(peer);
      schedule.operations.push_back(
          {from + suffix,
           peer,
           {{0, Point::end, 0}},
           Copy{part(rows_of(schedule, 0, 0, 1), peer, step * columns, columns), place, CopyPath::copy_engine}});
      arrived.push_back({static_cast<OperationId>(schedule.operations.size()) - 1, Point::end, 0});
    }
    Gemm gemm = gemm_of(rows_of(schedule, 3, step, gpus), part(rows_of(schedule, 1, 0, 1), 0, step * columns, columns),
                        rows_of(schedule, 2, 0, 1));
    if (step > 0) gemm.addend = gemm.c;
    schedule.operations.push_back({"gemm" + suffix, 0, arrived, gemm});
  }
  schedule.operations.push_back({"leave", 0, {}, Barrier{}});
  return schedule;
}

enum class Direction { pull, push };

/// An all-gather by copies from or to every peer in turn, each cut in `parts` blocks of columns: one is contiguous.
Schedule copies_of_all_peers(int gpus, Direction direction, CopyPath path, int parts) {
  Schedule schedule = empty_schedule("all_gather", gpus, 1);
  const bool pulls = direction == Direction::pull;
  schedule.name = std::string(pulls ? "pulls" : "pushes") + " by " + std::string(name_of(path)) + " in " +
                  std::to_string(parts) + " parts gpus=" + std::to_string(gpus);
  schedule.buffers = {symmetric(matrix("shard", m / gpus, k)), symmetric(matrix("gathered", m, k))};
  schedule.meaning = Meaning{"all_gather", m, k, k, 0, 0, 1, 1, {}};
  schedule.operations = {{"enter", compute, {}, Barrier{}}};
  for (int peer = 0; peer < gpus; ++peer)
    for (int i = 0; i < parts; ++i) {
      const std::int64_t columns = k / parts;
      const Slice source = part(rows_of(schedule, 0, 0, 1), pulls ? peer : 0, i * columns, columns);
      const Slice destination = part(shard_of(schedule, 1, pulls ? peer : 0), pulls ? 0 : peer, i * columns, columns);
      schedule.operations.push_back(
          {"copy " + std::to_string(peer) + " " + std::to_string(i), compute, {}, Copy{source, destination, path}});
    }
  schedule.operations.push_back({"leave", compute, {}, Barrier{}});
  return schedule;
}

/// Like the pushes above, but each rank, the own one too, is told by a signal that a shard has arrived.
Schedule signalled_pushes(int gpus) {
  Schedule schedule = copies_of_all_peers(gpus, Direction::push, CopyPath::copy_engine, 1);
  schedule.name = "signalled pushes gpus=" + std::to_string(gpus);
  schedule.operations.pop_back();
  schedule.counters = {{"arrived", true}};
  for (int peer = 0; peer < gpus; ++peer)
    schedule.operations.push_back({"signal " + std::to_string(peer), compute, {}, Signal{0, peer}});
  schedule.operations.push_back({"wait", compute, {}, Wait{0, gpus}});
  return schedule;
}

}  // namespace

std::vector<Schedule> all_schedules(int gpus) {
  using enum CollectiveKind;
  std::vector<Schedule> schedules{gemm_alone(gpus), gemm_beside_held_sms(gpus), everything_else(gpus)};
  for (const CollectiveKind kind : {all_reduce, reduce_scatter, all_to_all})
    for (const int chunks : {1, 2, 4}) schedules.push_back(gemm_then(kind, gpus, chunks));
  for (const CollectiveKind kind : {all_gather, all_to_all})
    for (const int chunks : {1, 2, 4}) schedules.push_back(then_gemm(kind, gpus, chunks));
  schedules.push_back(gemm_then(all_reduce, gpus, 2, 8));
  schedules.push_back(gemm_then(all_reduce, gpus, 2));
  schedules.back().launch = Launch::eager, schedules.back().name += " eager";
  for (const GemmKernel& kernel : own_kernels) {
    schedules.push_back(own_gemm_with_edges(gpus, kernel));
    for (const CollectiveKind kind : {all_reduce, reduce_scatter, all_to_all})
      schedules.push_back(signaling(kind, gpus, kernel));
  }
  const auto add = [&](std::vector<Schedule> (*make)(int)) {
    for (Schedule& schedule : make(gpus)) schedules.push_back(std::move(schedule));
  };
  for (const auto make : {expert_schedules, fp8_schedules, attention_schedules, reordering_norm_schedules}) add(make);
  if (gpus == 1) return schedules;
  for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter, all_to_all})
    for (const int ctas : {1, 24})
      for (const std::int64_t rows : {8 * std::int64_t{gpus}, m})
        schedules.push_back(peer_collective(kind, gpus, ctas, rows));
  for (const auto make : {kernels_of_a_layer, async_tp, ficco, signalled_pushes}) schedules.push_back(make(gpus));
  for (const GemmKernel& kernel : own_kernels) {
    if (kernel.cluster_m == 1) schedules.push_back(flagged_gather(gpus, kernel));
    schedules.push_back(stored_on_peers(gpus, kernel));
  }
  for (const CopyPath path : {CopyPath::copy_engine, CopyPath::sms})
    for (const Direction direction : {Direction::pull, Direction::push})
      for (const int parts : {1, 2}) schedules.push_back(copies_of_all_peers(gpus, direction, path, parts));
  for (const auto make : {rotation_schedules, one_launch_schedules, window_schedules}) add(make);
  for (const auto make : {norm_schedules, uneven_schedules, edge_schedules}) add(make);
  return schedules;
}

Schedule waits_for_nccl(int gpus) { return gemm_then(CollectiveKind::all_reduce, gpus, 1); }
Schedule waits_for_barrier(int gpus) { return async_tp(gpus); }

}  // namespace weft::calibration
