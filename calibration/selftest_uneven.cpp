#include "calibration/selftest_uneven.hpp"

#include <array>
#include <numeric>
#include <string>

#include "calibration/selftest_kernel_name.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t n = 1536, k = 1024;
constexpr StreamId compute = 0, communication = 1;
constexpr BufferId a = 0, b = 1, c = 2;

/// Of the GEMM on each rank; the first has most of them.
using RankCounts = std::vector<std::int64_t>;

RankCounts mixed_rows(int gpus) {
  constexpr std::array<std::int64_t, 4> pattern{4096, 2048, 1024, 0};
  RankCounts rows;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(gpus); ++rank)
    rows.push_back(pattern[rank % pattern.size()]);
  return rows;
}
RankCounts all_on_one(int gpus) {
  RankCounts rows(static_cast<std::size_t>(gpus), 0);
  rows.front() = 4096;
  return rows;
}

std::int64_t mean_of(const RankCounts& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) / static_cast<std::int64_t>(rows.size());
}

Schedule empty_schedule(const std::string& op, const RankCounts& rows, const std::string& name) {
  Schedule schedule;
  schedule.gpus = static_cast<int>(rows.size());
  schedule.name = op + ", " + name + ", rows";
  for (const std::int64_t of_rank : rows) schedule.name += ' ' + std::to_string(of_rank);
  schedule.family = "serial";
  schedule.streams = {{"compute", 0}, {"communication", -5}};
  schedule.meaning = Meaning{op, mean_of(rows), n, k, a, b, c};
  schedule.meaning->rows_of_rank = rows;
  return schedule;
}

Slice rows_of(const Schedule& schedule, BufferId buffer, std::int64_t first, std::int64_t count) {
  return {buffer, 0, RowRange{first, count}, 0, schedule.buffers[static_cast<std::size_t>(buffer)].columns};
}
Slice whole(const Schedule& schedule, BufferId buffer) {
  return rows_of(schedule, buffer, 0, schedule.buffers[static_cast<std::size_t>(buffer)].rows);
}
/// Each rank's share of its own rows: `range_of(rows of the rank, rank)`.
template <class RangeOf>
Slice by_rank(const Schedule& schedule, BufferId buffer, const RankCounts& rows, const RangeOf& range_of) {
  Slice slice = whole(schedule, buffer);
  RankRows ranges;
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    ranges.of_rank.push_back(range_of(rows[rank], static_cast<int>(rank)));
  slice.rows = std::move(ranges);
  return slice;
}

Gemm gemm_of(const Slice& of_a, const Slice& of_b, const Slice& of_c) {
  Gemm gemm;
  gemm.a = of_a, gemm.b = of_b, gemm.c = of_c;
  return gemm;
}

/// Each rank sends a W-th of its own rows to each, or gets one of its own number from each.
GroupedExchange exchange_of(const RankCounts& rows, Transport transport, bool senders_differ) {
  const auto gpus = static_cast<std::int64_t>(rows.size());
  GroupedExchange exchange{.input = {}, .output = {}, .transport = transport};
  for (const std::int64_t of_source : rows) {
    std::vector<RowRange>& sent = exchange.rows.emplace_back();
    std::int64_t before = 0;
    for (std::int64_t destination = 0; destination < gpus; ++destination) {
      const std::int64_t of_destination = rows[static_cast<std::size_t>(destination)] / gpus;
      sent.push_back(senders_differ ? RowRange{destination * of_source / gpus, of_source / gpus}
                                    : RowRange{before, of_destination});
      before += of_destination;
    }
  }
  return exchange;
}

Memory memory_for(Transport transport) {
  return transport == Transport::peer_kernel ? Memory::symmetric : Memory::local;
}

Schedule gemm_then_exchange(const RankCounts& rows, Transport transport) {
  constexpr BufferId result = 3;
  Schedule schedule = empty_schedule("gemm+all_to_all", rows, "by " + std::string(name_of(transport)));
  const std::int64_t most = rows.front();
  schedule.buffers = {{.name = "a", .rows = most, .columns = k},
                      {.name = "b", .rows = n, .columns = k},
                      {.name = "c", .rows = most, .columns = n, .memory = memory_for(transport)},
                      {.name = "result", .rows = mean_of(rows), .columns = n}};
  schedule.meaning->result = result;
  const auto own = [](std::int64_t of_rank, int) { return RowRange{0, of_rank}; };
  GroupedExchange exchange = exchange_of(rows, transport, true);
  exchange.input = whole(schedule, c), exchange.output = whole(schedule, result);
  schedule.operations = {
      {"gemm",
       compute,
       {},
       gemm_of(by_rank(schedule, a, rows, own), whole(schedule, b), by_rank(schedule, c, rows, own))},
      {"exchange", compute, {}, exchange}};
  return schedule;
}

enum class Arrival { nccl, peer_kernel, pulls };
std::string_view name_of(Arrival arrival) {
  switch (arrival) {
    case Arrival::nccl:
      return "nccl";
    case Arrival::peer_kernel:
      return "peer_kernel";
    case Arrival::pulls:
      break;
  }
  return "pulls";
}

/// What arrives in one exchange, or is pulled from rank after rank.
Schedule exchange_then_gemm(const RankCounts& rows, Arrival arrival) {
  constexpr BufferId arrived = 3;
  Schedule schedule = empty_schedule("all_to_all+gemm", rows, "by " + std::string(name_of(arrival)));
  const std::int64_t most = rows.front(), gpus = schedule.gpus;
  schedule.buffers = {{.name = "send",
                       .rows = mean_of(rows),
                       .columns = k,
                       .memory = arrival == Arrival::nccl ? Memory::local : Memory::symmetric},
                      {.name = "b", .rows = n, .columns = k},
                      {.name = "c", .rows = most, .columns = n},
                      {.name = "arrived", .rows = most, .columns = k}};
  GroupedExchange exchange =
      exchange_of(rows, arrival == Arrival::nccl ? Transport::nccl : Transport::peer_kernel, false);
  exchange.input = whole(schedule, a), exchange.output = whole(schedule, arrived);
  if (arrival == Arrival::pulls) {
    schedule.operations.push_back({"enter", compute, {}, Barrier{}});
    for (int peer = 0; peer < gpus; ++peer) {
      Slice from = by_rank(schedule, a, rows, [&](std::int64_t, int rank) {
        return exchange.rows[0][static_cast<std::size_t>(rank)];  // the same of every source
      });
      from.place = peer;
      const Slice to = by_rank(schedule, arrived, rows, [&](std::int64_t of_rank, int rank) {
        return RowRange{(rank + peer) % gpus * (of_rank / gpus), of_rank / gpus};
      });
      schedule.operations.push_back({"pull " + std::to_string(peer), compute, {}, Copy{from, to}});
    }
  } else {
    schedule.operations.push_back({"exchange", compute, {}, exchange});
  }
  const auto own = [](std::int64_t of_rank, int) { return RowRange{0, of_rank}; };
  schedule.operations.push_back(
      {"gemm",
       compute,
       {},
       gemm_of(by_rank(schedule, arrived, rows, own), whole(schedule, b), by_rank(schedule, c, rows, own))});
  if (arrival == Arrival::pulls) schedule.operations.push_back({"leave", compute, {}, Barrier{}});
  return schedule;
}

/// One GEMM whose pools are exchanged group by group, of which ranks with fewer rows have fewer tiles or none.
Schedule uneven_signaling(const RankCounts& rows, const GemmKernel& kernel, Transport transport) {
  constexpr BufferId result = 3;
  Schedule schedule = empty_schedule(
      "gemm+all_to_all", rows, "signaling by " + std::string(name_of(transport)) + ", " + own_kernel_name(kernel));
  schedule.family = "signaling";
  const std::int64_t most = rows.front(), gpus = schedule.gpus;
  const auto tiles_of = [&](std::int64_t of_rank) { return tile_grid(kernel, {of_rank, n, k}).tiles(); };
  schedule.buffers = {{.name = "a", .rows = most, .columns = k}, {.name = "b", .rows = n, .columns = k}};
  Gemm gemm = gemm_of(by_rank(schedule, a, rows,
                              [](std::int64_t of_rank, int) {
                                return RowRange{0, of_rank};
                              }),
                      whole(schedule, b), {});
  gemm.kernel = kernel;
  gemm.order = {.swizzle = 4};
  const std::int64_t tiles = tiles_of(most);
  gemm.tile_groups = {tiles / 4, tiles / 8, tiles - tiles / 4 - tiles / 8};
  const Layout layout{.kind = LayoutKind::per_destination,
                      .rows = most,
                      .columns = n,
                      .tile_rows = kernel.tile_m,
                      .tile_columns = kernel.tile_n,
                      .order = gemm.order,
                      .group_tiles = gemm.tile_groups};
  for (const char* name : {"c", "result"})
    schedule.buffers.push_back({.name = name,
                                .rows = tiles * kernel.tile_m,
                                .columns = kernel.tile_n,
                                .memory = name[0] == 'c' ? memory_for(transport) : Memory::local,
                                .layout = layout});
  schedule.meaning->result = result;
  gemm.c = whole(schedule, c);
  std::vector<Operation> sent;
  std::int64_t first = 0;
  for (int group = 0; group < static_cast<int>(gemm.tile_groups.size()); ++group) {
    const std::int64_t count = gemm.tile_groups[static_cast<std::size_t>(group)] * kernel.tile_m;
    GroupedExchange exchange{.input = rows_of(schedule, c, first, count),
                             .output = rows_of(schedule, result, first, count),
                             .transport = transport};
    for (const std::int64_t of_rank : rows) {
      const std::int64_t pool =
          groups_of_first_tiles(gemm.tile_groups, tiles_of(of_rank))[static_cast<std::size_t>(group)] * kernel.tile_m /
          gpus;
      std::vector<RowRange>& pools = exchange.rows.emplace_back();
      for (std::int64_t destination = 0; destination < gpus; ++destination) pools.push_back({destination * pool, pool});
    }
    const std::string number = " " + std::to_string(group);
    schedule.counters.push_back({"group" + number, true});
    gemm.signals.push_back({.tile_group = group, .counter = group});
    sent.push_back({"wait" + number, communication, {}, Wait{.counter = group}});
    sent.push_back({"exchange" + number, communication, {}, std::move(exchange)});
    first += count;
  }
  schedule.operations = {{"gemm", compute, {}, gemm}};
  schedule.operations.insert(schedule.operations.end(), sent.begin(), sent.end());
  return schedule;
}

}  // namespace

std::vector<Schedule> uneven_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const RankCounts& rows : {mixed_rows(gpus), all_on_one(gpus)}) {
    for (const Transport transport : {Transport::nccl, Transport::peer_kernel}) {
      schedules.push_back(gemm_then_exchange(rows, transport));
      schedules.push_back(uneven_signaling(rows, own_kernels.front(), transport));
    }
    for (const Arrival arrival : {Arrival::nccl, Arrival::peer_kernel, Arrival::pulls})
      schedules.push_back(exchange_then_gemm(rows, arrival));
  }
  for (const GemmKernel& kernel : own_kernels)
    schedules.push_back(uneven_signaling(mixed_rows(gpus), kernel, Transport::nccl));
  return schedules;
}

}  // namespace weft::calibration
