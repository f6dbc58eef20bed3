// signaling, as FlashOverlap does it: one GEMM that is never cut. Its tiles are stored in the order in which they run,
// so that a group of them is one contiguous range, and counted. A second stream waits for the count of each group.
//
//   s0: gemm
//   s1: wait 0 | X 0 | wait 1 | X 1 | …
//
// For a reduce-scatter every tile is cut into one block of rows for each rank, and a group holds first all blocks for
// rank 0, then those for rank 1, …: row ownership is block-cyclic with one chunk for each row of tiles. For an
// all-to-all the rows of a tile, which are tokens, go to the ranks in turn, and a group holds a pool of them for each.
// Whatever reads the result undoes the order; that is the next kernel's cost and no part of this schedule.
#include <algorithm>
#include <numeric>

#include "models/base/input_error.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/collective_kernels.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/group_search.hpp"
#include "scenarios/families/layer_pairs.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/rank_rows.hpp"

namespace weft::scenarios::families {
namespace {

constexpr TileOrder order = own_order;

/// The prediction knows nothing of how a GEMM and a collective slow each other down in passing, so a simulation may
/// find a better grouping than its first.
constexpr std::size_t groupings_worth_simulating = 4;

Layout layout_of(const Gemm& gemm, const MatrixSize& size, LayoutKind kind) {
  return {.kind = kind,
          .rows = size.m,
          .columns = size.n,
          .tile_rows = gemm.kernel->tile_m,
          .tile_columns = gemm.kernel->tile_n,
          .order = gemm.order,
          .group_tiles = kind == LayoutKind::tile_ordered ? std::vector<std::int64_t>{} : gemm.tile_groups};
}

/// Of the GEMM's result, from which the collective reads.
LayoutKind layout_for(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return LayoutKind::tile_ordered;
  return kind == CollectiveKind::all_to_all ? LayoutKind::per_destination : LayoutKind::sub_tile_ordered;
}

/// Row chunks of which each holds one block for every rank: the rows of a tile, or one row for each rank.
int chunks_of(CollectiveKind kind, std::int64_t rows, int tile_rows, int gpus) {
  if (kind == CollectiveKind::all_reduce) return 1;
  return static_cast<int>(rows / (kind == CollectiveKind::all_to_all ? gpus : tile_rows));
}

/// Storage of tiles one below the other.
BufferId add_tiled_buffer(Program& program, std::string name, const Layout& layout) {
  const std::int64_t tiles = tile_grid(layout).tiles();
  return program.add_buffer(std::move(name), tiles * layout.tile_rows, layout.tile_columns, DataType::bf16,
                            Memory::local, layout);
}

/// Where the collective's result is stored, tile by tile as its input.
BufferId add_result(Program& program, const Gemm& gemm, const MatrixSize& size, CollectiveKind kind, int gpus) {
  if (kind == CollectiveKind::all_reduce) return gemm.c.buffer;  // in place
  if (kind == CollectiveKind::all_to_all)
    return add_tiled_buffer(program, "result", layout_of(gemm, size, layout_for(kind)));
  Layout layout = layout_of(gemm, size, LayoutKind::tile_ordered);
  layout.rows /= gpus;
  layout.tile_rows /= gpus;
  return add_tiled_buffer(program, "result", layout);
}

/// The GEMM, cut into waves for the machine at hand.
struct PairInWaves {
  const PairWorkload& pair;
  CollectiveKind kind;
  std::vector<std::int64_t> rows_of_rank;
  MatrixSize size;  ///< of the rank that has most rows
  Waves waves;
  SignalingTiles scheduler = SignalingTiles::grid;
};

CollectiveTiming time_sending(std::int64_t elements, const Case& request, CollectiveKind kind, const Machine& machine) {
  return time_over(machine, transport_of(request.schedule.collectives, kind), kind, request.gpus,
                   elements * bytes_of(DataType::bf16), request.schedule.max_ctas);
}

/// From a group's last tile to the end of its collective. To the collective's own time come the wait that sees the
/// count, the launch, and, beside the GEMM, a wave: the collective is launched when the SMs that the group's last tiles
/// left have gone to the next ones, and gets its own where those end.
double sending_us(const CollectiveTiming& timing, bool beside_gemm, const Waves& waves, const Machine& machine) {
  const CollectiveKernel& kernel = machine.collective_kernel;
  const double beside_us =
      timing.beside_gemm_us > 0 ? timing.beside_gemm_us : timing.transfer_us * (1 + kernel.beside_gemm);
  const double time_us = timing.latency_us + (beside_gemm ? beside_us : timing.transfer_us);
  return machine.latencies.signal_us + machine.latencies.collective_gap_us + kernel.crowded_us +
         std::min(time_us * kernel.cold_factor, time_us + kernel.cold_most_us) + (beside_gemm ? waves.wave_us : 0);
}

PairInWaves in_waves(const Case& request, const Machine& machine) {
  const PairWorkload& pair = pair_of(request, {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter,
                                               PairOp::gemm_all_to_all, PairOp::all_gather_gemm});
  const CollectiveKind kind = collective_of(pair.op);
  if (kind != CollectiveKind::all_reduce && tile_extent % request.gpus != 0)
    throw InputError("gpus", "expected a divisor of the " + std::to_string(tile_extent) +
                                 " rows of a tile, which are cut into one block for each rank, got " +
                                 std::to_string(request.gpus));
  std::vector<std::int64_t> rows = rows_of_ranks(pair, request.gpus, tile_extent, "a tile's rows");
  const MatrixSize size{rows.front(), pair.n, pair.k};
  const std::int64_t band_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0}, std::gcd<long, long>);
  const int ctas = time_sending(size.m * size.n, request, kind, machine).ctas;
  const std::optional<SignalingTiles> chosen = std::get<Signaling>(request.schedule.family).scheduler;
  const SignalingTiles scheduler = chosen.value_or(tile_schedulers(machine).front());
  return {pair,     kind, std::move(rows), size, waves_of(size, band_rows, pair.dtype, scheduler, ctas, machine),
          scheduler};
}

Gemm add_gemm(Program& program, const PairInWaves& plan, const std::vector<int>& groups) {
  Gemm gemm = add_gemm_inputs(program, plan.size.m, plan.size.n, plan.size.k, plan.pair.dtype);
  gemm.kernel = plan.waves.kernel;
  gemm.order = order;
  if (plan.scheduler == SignalingTiles::static_persistent)  // as many as the collective leaves
    gemm.max_sms = static_cast<int>(plan.waves.tiles_of_wave);
  gemm.tile_groups = tiles_of_groups(plan.waves, groups);
  for (int group = 0; group < static_cast<int>(groups.size()); ++group)
    gemm.signals.push_back(
        {.tile_group = group, .counter = program.add_counter({"group " + std::to_string(group), true})});
  gemm.c = program.whole(add_tiled_buffer(program, "c", layout_of(gemm, plan.size, layout_for(plan.kind))));
  if (is_uneven(plan.rows_of_rank))
    gemm.a = program.rows_by_rank(gemm.a.buffer, [&](int rank) {
      return RowRange{0, plan.rows_of_rank[static_cast<std::size_t>(rank)]};
    });
  return gemm;
}

/// The pools of a group, whose tiles some ranks have fewer of; they arrive in the order of the ranks.
GroupedExchange exchange_of_group(const PairInWaves& plan, const Gemm& gemm, int group, const Slice& input,
                                  const Slice& output, int max_ctas) {
  GroupedExchange exchange{.input = input, .output = output, .max_ctas = max_ctas};
  const auto gpus = static_cast<std::int64_t>(plan.rows_of_rank.size());
  for (const std::int64_t rows : plan.rows_of_rank) {
    const std::int64_t tiles = tile_grid(*gemm.kernel, {rows, plan.size.n, plan.size.k}).tiles();
    const std::int64_t tiles_of_group = groups_of_first_tiles(gemm.tile_groups, tiles)[static_cast<std::size_t>(group)];
    const std::int64_t pool = tiles_of_group * gemm.kernel->tile_m / gpus;
    std::vector<RowRange>& sent = exchange.rows.emplace_back();
    for (std::int64_t destination = 0; destination < gpus; ++destination) sent.push_back({destination * pool, pool});
  }
  return exchange;
}

}  // namespace

namespace {

/// With the scheduler that the request names, the likeliest groups first.
std::vector<Signaling> best_groups(const Case& request, const Machine& machine) {
  const PairInWaves plan = in_waves(request, machine);
  const auto timing_of = [&](std::int64_t tiles) {
    const std::int64_t tile_elements = std::int64_t{plan.waves.kernel.tile_m} * plan.waves.kernel.tile_n;
    return time_sending(tiles * tile_elements, request, plan.kind, machine);
  };
  std::vector<Signaling> best;
  for (std::vector<int>&groups : best_groupings(
           plan.waves,
           [&](std::int64_t tiles, bool beside_gemm) {
             return sending_us(timing_of(tiles), beside_gemm, plan.waves, machine);
           },
           groupings_worth_simulating))
    best.push_back({std::move(groups), plan.scheduler});
  const Signaling published{algorithm_1_groups(plan.waves,
                                               [&](std::int64_t tiles, bool) {
                                                 const CollectiveTiming timing = timing_of(tiles);
                                                 return timing.latency_us + timing.transfer_us;
                                               }),
                            plan.scheduler};
  if (std::find(best.begin(), best.end(), published) == best.end()) best.push_back(published);
  return best;
}

}  // namespace

std::vector<Signaling> best_signalings(const Case& request, const Machine& machine) {
  if (op_of(request.workload) == name_of(PairOp::all_gather_gemm)) return {shard_groups(request, machine)};
  const auto& chosen = std::get<Signaling>(request.schedule.family);
  if (chosen.scheduler) return best_groups(request, machine);
  std::vector<Signaling> best;
  for (const SignalingTiles scheduler : tile_schedulers(machine)) {
    Case scheduled = request;
    scheduled.schedule.family = Signaling{chosen.groups, scheduler};
    const std::vector<Signaling> found = best_groups(scheduled, machine);
    best.insert(best.end(), found.begin(), found.end());
  }
  return best;
}

namespace {

struct SignalingRules {
  static constexpr std::string_view name = "signaling";
  static constexpr std::string_view meaning = "groups of waves are sent as soon as they are stored";
  static std::string in_words(const Signaling& choice) {
    std::string words = ", groups";
    if (choice.groups.empty()) words += " searched";
    for (const int waves : choice.groups) words += ' ' + std::to_string(waves);
    if (choice.scheduler) words += ", " + std::string(name_of(*choice.scheduler));
    return words;
  }
  static void add_pair(Program& program, const Case& request, const Machine& machine);
  static bool is_open(const Signaling& choice) { return choice.groups.empty(); }
  /// In a layer each pair has groups of its own.
  static std::vector<Family> searched(const Case& request, const Machine& machine) {
    if (std::holds_alternative<LayerWorkload>(request.workload))
      return searched_pairs(request, under_one_family(request), machine);
    const std::vector<Signaling> best = best_signalings(request, machine);
    return {best.begin(), best.end()};
  }
  /// Copy engines move the shards of all_gather+gemm.
  static bool runs_nccl(const Signaling&, const Workload& workload) {
    return op_of(workload) != name_of(PairOp::all_gather_gemm);
  }

  /// Groups are searched when the schedule is built.
  static std::vector<Signaling> candidates(const Workload& workload, int gpus, const SearchSpace&) {
    if (const auto* layer = std::get_if<LayerWorkload>(&workload)) {
      const bool has_whole_tiles = layer->tokens % tile_extent == 0 && layer->hidden % tile_extent == 0;
      if (gpus < 2 || layer->sequence_parallel || !has_whole_tiles) return {};
      return {Signaling{}};
    }
    const auto* pair = std::get_if<PairWorkload>(&workload);
    if (pair == nullptr || !can_signal(*pair, gpus)) return {};
    return {Signaling{}};
  }

 private:
  static bool can_signal(const PairWorkload& pair, std::int64_t gpus) {
    if (pair.n % tile_extent != 0 || pair.m % tile_extent != 0) return false;
    switch (pair.op) {
      case PairOp::gemm_all_reduce:
        return true;
      case PairOp::gemm_reduce_scatter:
      case PairOp::gemm_all_to_all:
        return tile_extent % gpus == 0;
      case PairOp::all_gather_gemm:
        return pair.m % (gpus * tile_extent) == 0;
      case PairOp::all_to_all_gemm:
        break;
    }
    return false;
  }
};

void SignalingRules::add_pair(Program& program, const Case& request, const Machine& machine) {
  if (op_of(request.workload) == name_of(PairOp::all_gather_gemm)) return add_flagged_gather(program, request, machine);
  const PairInWaves plan = in_waves(request, machine);
  const StreamId s1 = program.add_stream("s1", highest_priority);
  // FlashOverlap's waits stand between the library's collectives. Our own collectives are short, so that they have the
  // waits on a stream beside theirs, where the next one waits while a group is sent.
  const Work sent = Collective{.kind = plan.kind, .transport = transport_of(request.schedule.collectives, plan.kind)};
  const bool waits_beside = !facts(sent).by_library;
  const StreamId waits = waits_beside ? program.add_stream("waits", highest_priority) : s1;
  const Gemm gemm = add_gemm(program, plan, std::get<Signaling>(request.schedule.family).groups);
  const BufferId result = add_result(program, gemm, plan.size, plan.kind, request.gpus);
  program.add(main_stream, "gemm", gemm);
  const auto rows_of_tiles = [&](BufferId buffer, std::int64_t first, std::int64_t count) {
    const std::int64_t tile_rows = program.buffer(buffer).layout.tile_rows;
    return program.rows(buffer, first * tile_rows, count * tile_rows);
  };
  std::int64_t first_tile = 0;
  for (const TileSignal& signal : gemm.signals) {
    const std::string number = " " + std::to_string(signal.tile_group);
    const std::int64_t tiles = gemm.tile_groups[signal.tile_group];
    program.add(waits, "wait" + number, Wait{.counter = signal.counter});
    if (waits_beside) program.wait(s1, waits);
    const Slice input = rows_of_tiles(gemm.c.buffer, first_tile, tiles);
    const Slice output = rows_of_tiles(result, first_tile, tiles);
    const int max_ctas = request.schedule.max_ctas;
    const Work sending = is_uneven(plan.rows_of_rank)
                             ? Work{exchange_of_group(plan, gemm, signal.tile_group, input, output, max_ctas)}
                             : Work{Collective{.kind = plan.kind,
                                               .input = input,
                                               .output = output,
                                               .transport = Transport::nccl,
                                               .max_ctas = max_ctas}};
    program.add(s1, std::string(name_of(plan.kind)) + number, sending);
    first_tile += tiles;
  }
  program.set_meaning({.op = std::string(name_of(plan.pair.op)),
                       .m = is_uneven(plan.rows_of_rank) ? plan.pair.m : plan.size.m,
                       .n = plan.size.n,
                       .k = plan.size.k,
                       .a = gemm.a.buffer,
                       .b = gemm.b.buffer,
                       .result = result,
                       .chunks = is_uneven(plan.rows_of_rank)
                                     ? 1
                                     : chunks_of(plan.kind, plan.size.m, gemm.kernel->tile_m, request.gpus),
                       .rows_of_rank = is_uneven(plan.rows_of_rank) ? plan.rows_of_rank : std::vector<std::int64_t>{}});
  program.set_machine(machine.name);
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Signaling::rules =
    FamilyRules::of<Signaling, families::SignalingRules>();
