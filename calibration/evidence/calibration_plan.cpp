#include "calibration/evidence/calibration_plan.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <tuple>

#include "calibration/evidence/case_words.hpp"
#include "calibration/evidence/dice.hpp"
#include "calibration/evidence/drawn_sizes.hpp"
#include "calibration/evidence/held_out_model.hpp"
#include "models/base/division.hpp"
#include "models/base/input_error.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/transports.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/parts.hpp"

namespace weft::calibration::evidence {
namespace {

// Sizes of the sets: together some 5700 cases on 1, 2, 4 and 8 GPUs. Measured with kernels, 1000 cases of these kinds
// took 66 to 93 s on H200s (calibration/measurements), so all of them stay below ten minutes.
constexpr int gemms_alone = 1200;
constexpr int own_gemm_shapes = 17;
constexpr int attention_shapes = 16, cached_shapes = 6, row_kernel_shapes = 12;
constexpr double most_sequences = 256;
const std::vector<int> head_counts{4, 8, 16, 32}, query_heads_of_a_key_head{1, 4};
constexpr double least_own_flops = 2e10, most_own_flops = 1e12;  // some 40 us to 2 ms: what is split into tile groups
constexpr int peer_collectives_per_octave = 2, fused_norm_shapes = 40, reordering_norm_shapes = 8;
const std::vector<int> peer_ctas{4, 8, 12, 16, 24};
constexpr int default_collectives_per_octave = 2, collectives_per_gemm = 3;
constexpr int signal_shapes = 12;
constexpr int pairs_of_an_op = 5, concurrent_pair_shapes = 8;
constexpr int copies_per_octave = 1;
constexpr int all_gather_shapes = 7, reduce_scatter_shapes = 7, all_to_all_shapes = 4, ficco_points_of_a_shape = 4;
constexpr int background_questions = 60'000;

constexpr std::int64_t most_gemm_width = 32768;
constexpr int even_unit = 64, odd_unit = 8;  // of n and k; below 8 elements rows are not aligned to 16 bytes
constexpr int most_chunks = 8;

const std::vector<int> cta_limits{1, 2, 4, 8, 16, 32}, pair_cta_limits{4, 8, 16}, window_cta_limits{0, 4, 8, 16};

/// Streams of the seed, one for each file and one for the questions.
enum class Stream : std::uint32_t {
  gemms = 1,
  own_gemms = 10,
  layer_kernels = 20,
  collectives = 100,
  pairs = 200,
  copies = 300,
  windows = 500,
  peers = 600,
  norms = 700,
  signals = 800,
  questions = 400
};
std::uint32_t stream_of(Stream kind, int gpus = 0) {
  return static_cast<std::uint32_t>(kind) + static_cast<std::uint32_t>(gpus);
}

/// Sizes by the same law in every file.
class Shapes {
 public:
  Shapes(std::uint64_t seed, std::uint32_t stream, int gpus) : dice_(seed, stream), gpus_(gpus) {}

  Dice& dice() { return dice_; }

  GemmWorkload gemm() {
    for (;;) {
      const std::int64_t m = dice_.log_uniform_multiple(1, 1, most_rows);
      const int unit = dice_.one_in(6) ? odd_unit : even_unit;
      const std::int64_t n = dice_.log_uniform_multiple(unit, least_width, most_gemm_width);
      const std::int64_t k = dice_.log_uniform_multiple(unit, least_width, most_gemm_width);
      if (is_allowed({n, k})) return {m, n, k};
    }
  }

  /// Rows are a multiple of `unit`, at least `least_rows`; k is one that FiCCO's column slices keep aligned.
  PairWorkload pair(PairOp op, std::int64_t unit, std::int64_t least_rows) {
    for (;;) {
      const std::int64_t m = dice_.log_uniform_multiple(unit, static_cast<double>(least_rows), most_rows);
      const std::int64_t n = dice_.log_uniform_multiple(even_unit, least_width, most_pair_width);
      const std::int64_t k = dice_.log_uniform_multiple(even_unit, least_width, most_pair_width);
      if (m >= least_rows && is_allowed({n, k})) return {op, m, n, k};
    }
  }

  /// Between `low` and twice that.
  Bytes bytes_of_octave(Bytes low) {
    return dice_.log_uniform_multiple(bytes_unit, static_cast<double>(low), 2.0 * static_cast<double>(low));
  }

 private:
  /// Neither the GEMM nor a slice of its k is the held-out model's.
  bool is_allowed(const MatrixWidths& widths) const {
    return !is_held_out(widths) && !is_held_out({widths.n, widths.k / gpus_});
  }

  Dice dice_;
  int gpus_;
};

/// The cases of one file.
class CaseList {
 public:
  CaseList(std::string prefix, int gpus) : prefix_(std::move(prefix)), gpus_(gpus) {}

  void add(const Workload& workload, const ScheduleChoice& choice = {}) {
    Case one{.id = "", .gpus = gpus_, .workload = workload, .schedule = choice, .measured = {}};
    if (std::find(cases_.begin(), cases_.end(), one) == cases_.end()) cases_.push_back(std::move(one));
  }

  /// The GEMM and the collective of `workload`, each alone.
  void add_parts(const Workload& workload, int max_ctas = 0) {
    const Parts parts = *parts_of(workload);
    add(parts.gemm);
    add(parts.collective, {Serial{}, max_ctas});
  }

  PlanFile file(const std::string& name) && {
    for (std::size_t i = 0; i < cases_.size(); ++i)
      cases_[i].id = prefix_ + std::to_string(gpus_) + "-" + std::to_string(i);
    return {name, std::move(cases_)};
  }

 private:
  std::string prefix_;
  int gpus_;
  std::vector<Case> cases_;
};

std::string on_gpus(const std::string& kind, int gpus) { return kind + "_" + std::to_string(gpus) + "gpu"; }

PlanFile gemm_file(std::uint64_t seed) {
  Shapes shapes(seed, stream_of(Stream::gemms), 1);
  CaseList list("g", 1);
  for (int i = 0; i < gemms_alone; ++i) list.add(shapes.gemm());
  return std::move(list).file("gemm");
}

/// By our own kernels, of each width of tiles a persistent one, in clusters and not, one that cuts tiles along k, and a
/// grid; and by the library, since only beside it do their powers tell what is theirs and what the GPU's.
PlanFile own_gemm_file(std::uint64_t seed) {
  Shapes shapes(seed, stream_of(Stream::own_gemms), 1);
  CaseList list("o", 1);
  for (int i = 0; i < own_gemm_shapes;) {
    const GemmWorkload gemm = shapes.gemm();
    const double flops = MatrixSize{gemm.m, gemm.n, gemm.k}.flops();
    const bool has_pairs_of_tiles = divided_up(gemm.m, own_tile_m) % 2 == 0;
    if (flops < least_own_flops || flops > most_own_flops || !has_pairs_of_tiles) continue;
    ++i;
    for (const GemmSource source :
         {GemmSource::library, GemmSource::own_256_pairs, GemmSource::own_192, GemmSource::own_128_pairs,
          GemmSource::own_192_stream_k, GemmSource::own_256_pairs_grid})
      list.add(gemm, {Serial{source}});
  }
  return std::move(list).file("own_gemm");
}

/// Of at least `least_rows`, whole tiles of them, and as wide as models are.
RowKernelWorkload row_kernel(Dice& dice, RowKernel kernel, double least_rows, int unit_of_columns) {
  constexpr double least_columns = 2048, most_columns = 16384;
  const std::int64_t m = dice.log_uniform_multiple(RowKernelWorkload::tile_columns, least_rows, most_rows / 2);
  return {kernel, m, dice.log_uniform_multiple(unit_of_columns, least_columns, most_columns)};
}

/// The kernels between the GEMMs of a layer: attention with heads of either size and of decode steps, norms of rows and
/// of what a GEMM has stored tile by tile, activations, rotary embedding.
PlanFile layer_kernel_file(std::uint64_t seed) {
  constexpr int unit = RowKernelWorkload::tile_columns;  // of rows, too
  constexpr double least_rows = 4 * unit;
  Shapes shapes(seed, stream_of(Stream::layer_kernels), 1);
  Dice& dice = shapes.dice();
  CaseList list("k", 1);
  for (const auto& [head_dim, count] : {std::pair{128, attention_shapes}, {64, attention_shapes / 2}})
    for (int i = 0; i < count; ++i) {
      const std::int64_t tokens = dice.log_uniform_multiple(unit, least_rows, most_rows / 2);
      const std::int64_t heads = dice.pick(head_counts), of_group = dice.pick(query_heads_of_a_key_head);
      list.add(AttentionKernelWorkload{tokens, heads, heads / of_group, head_dim});
    }
  for (int i = 0; i < cached_shapes; ++i) {
    AttentionKernelWorkload decode{.heads = dice.pick(head_counts), .head_dim = 128};
    decode.kv_heads = decode.heads / dice.pick(query_heads_of_a_key_head);
    decode.sequences = dice.log_uniform_multiple(1, 1, most_sequences);
    decode.tokens = decode.sequences;
    decode.prefix = dice.log_uniform_multiple(unit, least_rows, most_rows / 4);
    list.add(decode);
  }
  const auto sized = [&](RowKernel kernel) { return row_kernel(dice, kernel, least_rows, unit); };
  for (int i = 0; i < row_kernel_shapes; ++i) {
    RowKernelWorkload norm = sized(RowKernel::add_rms_norm);
    list.add(norm);
    norm.layout = LayoutKind::tile_ordered;
    list.add(norm);
    list.add(sized(RowKernel::swiglu));
    list.add(sized(RowKernel::rotary));
  }
  return std::move(list).file("layer_kernels");
}

constexpr Bytes least_collective_bytes = 32 << 10, most_collective_bytes = 1 << 30;

/// In random order. GPUs that only communicate run at their highest clock, so work comes before every few of them.
PlanFile among_gemms(std::vector<Case> drawn, Shapes& shapes, CaseList list, const std::string& name) {
  shapes.dice().shuffle(drawn);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (i % collectives_per_gemm == 0) list.add(shapes.gemm());
    list.add(drawn[i].workload, drawn[i].schedule);
  }
  return std::move(list).file(name);
}

/// Each collective in each octave of sizes with each CTA limit.
PlanFile collective_file(std::uint64_t seed, int gpus) {
  Shapes shapes(seed, stream_of(Stream::collectives, gpus), gpus);
  std::vector<Case> drawn;
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    for (Bytes low = least_collective_bytes; low < most_collective_bytes; low *= 2) {
      const auto draw = [&, kind = kind](int max_ctas) {
        Case one;
        one.workload = CollectiveWorkload{kind, shapes.bytes_of_octave(low)};
        one.schedule.max_ctas = max_ctas;
        drawn.push_back(one);
      };
      for (int i = 0; i < default_collectives_per_octave; ++i) draw(0);
      for (const int max_ctas : cta_limits) draw(max_ctas);
    }
  return among_gemms(std::move(drawn), shapes, CaseList("c", gpus), on_gpus("collectives", gpus));
}

/// The same on NCCL's windows of symmetric memory, by its kernels and by copy engines.
PlanFile window_file(std::uint64_t seed, int gpus) {
  Shapes shapes(seed, stream_of(Stream::windows, gpus), gpus);
  std::vector<Case> drawn;
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    for (Bytes low = least_collective_bytes; low < most_collective_bytes; low *= 2) {
      const auto draw = [&, kind = kind](scenarios::Collectives by, int max_ctas) {
        Case one;
        one.workload = CollectiveWorkload{kind, shapes.bytes_of_octave(low)};
        one.schedule.collectives = by;
        one.schedule.max_ctas = max_ctas;
        drawn.push_back(one);
      };
      if (does(Transport::nccl_symmetric, kind))
        for (const int max_ctas : window_cta_limits) draw(scenarios::Collectives::nccl_symmetric, max_ctas);
      if (does(Transport::nccl_copy_engine, kind)) draw(scenarios::Collectives::nccl_copy_engine, 0);
    }
  return among_gemms(std::move(drawn), shapes, CaseList("w", gpus), on_gpus("windows", gpus));
}

/// Ours over peer memory in each octave of sizes, by some numbers of CTAs.
PlanFile peer_file(std::uint64_t seed, int gpus) {
  Shapes shapes(seed, stream_of(Stream::peers, gpus), gpus);
  CaseList list("m", gpus);
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    for (Bytes low = least_collective_bytes; low < most_collective_bytes; low *= 2)
      for (int i = 0; i < peer_collectives_per_octave; ++i)
        list.add(CollectiveWorkload{kind, shapes.bytes_of_octave(low)},
                 {.family = Serial{},
                  .max_ctas = shapes.dice().pick(peer_ctas),
                  .collectives = scenarios::Collectives::two_shot});
  return std::move(list).file(on_gpus("peers", gpus));
}

/// The all-reduce with the norm in it, by some numbers of CTAs, and norms of what a GEMM has stored for several ranks.
PlanFile norm_file(std::uint64_t seed, int gpus) {
  constexpr int unit = 8, tile = RowKernelWorkload::tile_columns;  // what a thread moves at a time; of rows, too
  constexpr double least_rows = 256;
  Shapes shapes(seed, stream_of(Stream::norms, gpus), gpus);
  Dice& dice = shapes.dice();
  CaseList list("n", gpus);
  for (int i = 0; i < fused_norm_shapes; ++i)
    list.add(row_kernel(dice, RowKernel::all_reduce_norm, least_rows, unit),
             {.family = Serial{}, .max_ctas = dice.pick(peer_ctas)});
  for (int i = 0; i < reordering_norm_shapes; ++i)
    for (const LayoutKind layout : {LayoutKind::sub_tile_ordered, LayoutKind::per_destination}) {
      RowKernelWorkload norm = row_kernel(dice, RowKernel::add_rms_norm, 16 * least_rows, tile);
      norm.layout = layout;
      list.add(norm);
    }
  return std::move(list).file(on_gpus("norms", gpus));
}

/// Sums that travel from rank to rank, each push followed by a signal that the next GEMM waits for, and GEMMs of ours
/// that signal groups of tiles.
PlanFile signal_file(std::uint64_t seed, int gpus) {
  constexpr int tile = RowKernelWorkload::tile_columns;
  Shapes shapes(seed, stream_of(Stream::signals, gpus), gpus);
  CaseList list("s", gpus);
  const auto drawn = [&] {
    for (;;) {
      const std::int64_t unit = std::int64_t{gpus} * tile;
      const PairWorkload pair = shapes.pair(PairOp::gemm_reduce_scatter, unit, unit);
      const double flops = MatrixSize{pair.m, pair.n, pair.k}.flops();
      if (flops > least_own_flops && flops < most_own_flops && pair.n % tile == 0) return pair;
    }
  };
  for (int i = 0; i < signal_shapes; ++i) {
    list.add(drawn(), {scenarios::Hybrid{.mover = scenarios::HybridMover::push,
                                         .pieces = scenarios::HybridPieces::shards,
                                         .sums = scenarios::HybridSums::in_gemm}});
    list.add(drawn(), {.family = scenarios::Signaling{}, .collectives = scenarios::Collectives::two_shot});
  }
  return std::move(list).file(on_gpus("signals", gpus));
}

/// The pair serial and in chunks, after each of its parts alone: whole, and as the chunks have them.
void add_pair(CaseList& list, const PairWorkload& pair, int max_ctas) {
  for (int chunks = 1; chunks <= most_chunks; chunks *= 2) {
    PairWorkload chunk = pair;
    chunk.m /= chunks;
    list.add_parts(chunk);
  }
  const Parts whole = *parts_of(pair);
  for (const int limit : {0, max_ctas}) {
    if (limit > 0) list.add(whole.collective, {Serial{}, limit});
    list.add(pair, {Serial{}, limit});
    for (int chunks = 2; chunks <= most_chunks; chunks *= 2) list.add(pair, {Decomposition{chunks}, limit});
  }
}

void add_concurrent_pair(CaseList& list, const ConcurrentPair& pair, int max_ctas) {
  list.add_parts(pair);
  list.add(parts_of(pair)->collective, {Serial{}, max_ctas});
  const std::vector<Family> families{Serial{}, Concurrent{FirstLaunched::collective}, Concurrent{FirstLaunched::gemm}};
  for (const int limit : {0, max_ctas})
    for (const Family& family : families) list.add(pair, {family, limit});
}

PlanFile pair_file(std::uint64_t seed, int gpus) {
  constexpr double least_bytes = 1 << 20, most_bytes = 1 << 30;
  Shapes shapes(seed, stream_of(Stream::pairs, gpus), gpus);
  CaseList list("p", gpus);
  const std::int64_t unit = std::int64_t{gpus} * most_chunks;
  for (const PairOp op :
       {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all, PairOp::all_gather_gemm})
    for (int i = 0; i < pairs_of_an_op; ++i) {
      const PairWorkload pair = shapes.pair(op, unit, unit * least_rows_of_a_chunk);
      add_pair(list, pair, shapes.dice().pick(pair_cta_limits));
    }
  for (int i = 0; i < concurrent_pair_shapes; ++i) {
    const PairWorkload gemm = shapes.pair(PairOp::gemm_all_reduce, unit, unit);
    const Bytes bytes = shapes.dice().log_uniform_multiple(bytes_unit, least_bytes, most_bytes);
    add_concurrent_pair(list, {gemm.m, gemm.n, gemm.k, bytes}, shapes.dice().pick(pair_cta_limits));
  }
  return std::move(list).file(on_gpus("pairs", gpus));
}

/// Some of FiCCO's points with pulls by copy engines.
void add_ficco(CaseList& list, const PairWorkload& pair, Dice& dice) {
  std::vector<Ficco> points;
  for (const Ficco& point : scenarios::families::ficco_points(pair.op))
    if (point.transport == FiccoTransport::copy_engine) points.push_back(point);
  dice.shuffle(points);
  points.resize(std::min<std::size_t>(points.size(), ficco_points_of_a_shape));
  for (const Ficco& point : points) list.add(pair, {point});
}

/// Copies alone; then what moves its data by copies, after its parts: the whole, and the GEMM of one rank's shard.
PlanFile copy_file(std::uint64_t seed, int gpus) {
  constexpr Bytes least_bytes = 256 << 10, most_bytes = 256 << 20;
  Shapes shapes(seed, stream_of(Stream::copies, gpus), gpus);
  CaseList list("d", gpus);
  for (const auto& [pattern, name] : NamesOf<CopyPattern>::names)
    for (Bytes low = least_bytes; low < most_bytes; low *= 2)
      for (int i = 0; i < copies_per_octave; ++i) list.add(CopyWorkload{shapes.bytes_of_octave(low), pattern});
  const std::int64_t unit = std::int64_t{gpus} * gpus;
  const auto add_serial = [&](PairOp op) {
    const PairWorkload pair = shapes.pair(op, unit, unit * least_rows_of_a_chunk);
    list.add_parts(pair);
    list.add(GemmWorkload{pair.m / gpus, pair.n, pair.k});
    list.add(pair);
    return pair;
  };
  for (int i = 0; i < all_gather_shapes; ++i) {
    const PairWorkload pair = add_serial(PairOp::all_gather_gemm);
    for (const AsyncInput input : {AsyncInput::copied, AsyncInput::symmetric}) list.add(pair, {AsyncTp{input}});
    add_ficco(list, pair, shapes.dice());
  }
  for (int i = 0; i < reduce_scatter_shapes; ++i) list.add(add_serial(PairOp::gemm_reduce_scatter), {AsyncTp{}});
  for (int i = 0; i < all_to_all_shapes; ++i) add_ficco(list, add_serial(PairOp::all_to_all_gemm), shapes.dice());
  return std::move(list).file(on_gpus("copies", gpus));
}

struct BySize {
  bool operator()(const MatrixSize& a, const MatrixSize& b) const {
    return std::tie(a.m, a.n, a.k) < std::tie(b.m, b.n, b.k);
  }
};

}  // namespace

std::vector<PlanFile> calibration_plan(std::uint64_t seed, const std::vector<int>& gpu_counts) {
  require_seed(seed);
  std::vector<PlanFile> files;
  std::set<int> known;
  for (const int gpus : gpu_counts) {
    if (gpus != 1 && gpus != 2 && gpus != 4 && gpus != 8)
      throw InputError("gpus", "expected 1, 2, 4 or 8, got " + std::to_string(gpus));
    if (!known.insert(gpus).second)
      throw InputError("gpus", "expected each number once, got " + std::to_string(gpus) + " twice");
    if (gpus == 1) {
      files.push_back(gemm_file(seed));
      files.push_back(own_gemm_file(seed));
      files.push_back(layer_kernel_file(seed));
    } else {
      files.push_back(collective_file(seed, gpus));
      files.push_back(window_file(seed, gpus));
      files.push_back(peer_file(seed, gpus));
      files.push_back(norm_file(seed, gpus));
      files.push_back(signal_file(seed, gpus));
      files.push_back(pair_file(seed, gpus));
      files.push_back(copy_file(seed, gpus));
    }
  }
  return files;
}

namespace {

struct Steps {
  std::int64_t step, most;
};
/// Of each step those beyond the ones before.
std::vector<std::int64_t> multiples(std::initializer_list<Steps> of) {
  std::vector<std::int64_t> all;
  for (const auto& [step, most] : of)
    for (std::int64_t next = (all.empty() ? 0 : all.back()) + step; next <= most; next += step) all.push_back(next);
  return all;
}

/// The library changes its kernel at few depths, so that two answers tell what lies between them.
constexpr std::array<std::int64_t, 10> depths_asked{512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};

}  // namespace

std::vector<MatrixSize> library_questions(std::uint64_t seed, const std::vector<PlanFile>& plan) {
  std::set<MatrixSize, BySize> sizes;
  const auto ask = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    if (m > 0 && k > 0 && !is_held_out({n, k})) sizes.insert({m, n, k});
  };
  for (const PlanFile& file : plan)
    for (const Case& one : file.cases) {
      const auto parts = parts_of(one.workload);
      const auto* alone = std::get_if<GemmWorkload>(&one.workload);
      if (!parts && alone == nullptr) continue;
      const GemmWorkload& gemm = parts ? parts->gemm : *alone;
      ask(gemm.m, gemm.n, gemm.k);
      if (!parts) continue;
      for (int cut = 2; cut <= one.gpus * one.gpus; cut *= 2)
        ask(gemm.m / cut, gemm.n, gemm.k);  // rows: chunks, shards
      for (int cut = 2; cut <= most_chunks; cut *= 2) ask(gemm.m / cut, gemm.n, gemm.k);
      ask(gemm.m, gemm.n, gemm.k / one.gpus);  // FiCCO's column slices, of all rows and of one shard
      ask(gemm.m / one.gpus, gemm.n, gemm.k / one.gpus);
    }
  for (const std::int64_t m : multiples({{64, 2048}, {128, 8192}, {512, 16384}}))
    for (const std::int64_t n : multiples({{128, 16384}}))
      for (const std::int64_t k : depths_asked) ask(m, n, k);
  Shapes shapes(seed, stream_of(Stream::questions), 1);
  for (int i = 0; i < background_questions; ++i) {
    const GemmWorkload gemm = shapes.gemm();
    ask(gemm.m, gemm.n, gemm.k);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace weft::calibration::evidence
