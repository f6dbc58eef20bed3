#include "calibration/evidence/draw.hpp"

#include <string>

#include "calibration/evidence/case_words.hpp"
#include "calibration/evidence/dice.hpp"
#include "calibration/evidence/drawn_sizes.hpp"
#include "calibration/evidence/held_out_model.hpp"
#include "models/base/input_error.hpp"

namespace weft::calibration::evidence {
namespace {

constexpr double gemm_flops_per_us = 700e6, port_bytes_per_us = 350e3;
constexpr double least_balanced = 0.5, most_balanced = 2;

constexpr std::int64_t least_rows = 16, many_rows = 2048, few_rows = 4096;
constexpr std::int64_t width_unit = 64;

/// What the shapes of one op are drawn from, in turn: the shares of each kind are the same in every set.
struct ShapeKind {
  bool is_balanced = false;  ///< GEMM and collective take about the same time
  bool has_few_rows = false;
  bool is_of_model = false;
};
constexpr ShapeKind balanced{.is_balanced = true}, small{.has_few_rows = true}, any{}, of_model{.is_of_model = true},
    small_and_balanced{.is_balanced = true, .has_few_rows = true};
const std::vector<ShapeKind> shape_kinds{balanced, any,      balanced,           small, of_model, balanced,
                                         any,      balanced, small_and_balanced, any};

constexpr int all_reduce_pairs = 22, reduce_scatter_pairs = 24, all_to_all_pairs = 16, all_gather_pairs = 36,
              all_to_all_first_pairs = 8, concurrent_pairs = 14;
constexpr int lone_gemms = 16, collectives_of_a_kind = 4, copies_of_a_pattern = 6;

using DrawnContest = std::vector<Case>;

class Draw {
 public:
  Draw(std::uint64_t seed, int gpus, Priorities priorities)
      : dice_(seed, static_cast<std::uint32_t>(gpus)), gpus_(gpus), priorities_(priorities) {}

  std::vector<Case> cases() {
    add_pairs(PairOp::gemm_all_reduce, all_reduce_pairs);
    add_pairs(PairOp::gemm_reduce_scatter, reduce_scatter_pairs);
    add_pairs(PairOp::gemm_all_to_all, all_to_all_pairs);
    add_pairs(PairOp::all_gather_gemm, all_gather_pairs);
    add_pairs(PairOp::all_to_all_gemm, all_to_all_first_pairs);
    for (int i = 0; i < concurrent_pairs; ++i) add_concurrent_pair(shape_kinds[i % shape_kinds.size()]);
    for (int i = 0; i < lone_gemms; ++i) add_gemm();
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
      for (int i = 0; i < collectives_of_a_kind; ++i) add_collective(kind);
    for (const auto& [pattern, name] : NamesOf<CopyPattern>::names)
      for (int i = 0; i < copies_of_a_pattern; ++i) add_copy(pattern);
    return numbered();
  }

 private:
  // --- Sizes ---

  Bytes bytes(double low, double high) { return dice_.log_uniform_multiple(bytes_unit, low, high); }

  /// Rows that the chunks of every family divide, where there are enough.
  std::int64_t rows(double low, double high) {
    const std::int64_t drawn = dice_.log_uniform_multiple(1, low, high);
    return Dice::multiple(drawn, drawn >= least_rows * gpus_ ? 8 * gpus_ : gpus_);
  }
  std::int64_t rows(const ShapeKind& kind) {
    return kind.has_few_rows ? rows(least_rows, few_rows) : rows(many_rows, most_rows);
  }
  std::int64_t width() { return dice_.log_uniform_multiple(width_unit, least_width, most_pair_width); }

  bool fits(const Workload& workload, const ShapeKind& kind) const {
    const double ratio = rough_duration_ratio(*parts_of(workload), gpus_);
    return !kind.is_balanced || (least_balanced <= ratio && ratio <= most_balanced);
  }

  // --- Workloads ---

  PairWorkload pair(PairOp op, const ShapeKind& kind) {
    if (kind.is_of_model) return model_pair(op);
    for (;;)
      if (const PairWorkload drawn{op, rows(kind), width(), width()}; fits(drawn, kind)) return drawn;
  }

  /// A tensor-parallel layer's GEMM beside the communication that such a layer has there.
  PairWorkload model_pair(PairOp op) {
    const std::int64_t tokens = rows(least_rows, most_rows);
    const bool is_attention = dice_.one_in(2);
    const LayerGemms gemms = held_out_gemms(gpus_);
    const MatrixWidths& gemm = collective_comes_first(op) ? (is_attention ? gemms.qkv : gemms.gate_and_up)
                                                          : (is_attention ? gemms.attention_out : gemms.down);
    return {op, tokens, gemm.n, gemm.k};
  }

  ConcurrentPair concurrent_pair(const ShapeKind& kind) {
    constexpr double least_bytes = 1 << 20, most_bytes = 1 << 30;
    for (;;) {
      const PairWorkload gemm =
          pair(PairOp::gemm_all_reduce, {.has_few_rows = kind.has_few_rows, .is_of_model = kind.is_of_model});
      const ConcurrentPair drawn{gemm.m, gemm.n, gemm.k, bytes(least_bytes, most_bytes)};
      if (fits(drawn, kind)) return drawn;
    }
  }

  // --- Contests ---

  void add(DrawnContest& contest, const Workload& workload, const ScheduleChoice& choice = {}) {
    contest.push_back({.id = "", .gpus = gpus_, .workload = workload, .schedule = choice, .measured = {}});
  }

  void add_parts(DrawnContest& contest, const Workload& workload) {
    const Parts parts = *parts_of(workload);
    add(contest, parts.gemm);
    add(contest, parts.collective);
  }

  /// Those families of the first three that the rows can be cut into.
  std::vector<Family> cuts(const PairWorkload& pair) const {
    std::vector<Family> families{Serial{}};
    for (const int chunks : {2, 4, 8}) {
      const std::int64_t unit = std::int64_t{gpus_} * chunks;
      if (pair.op != PairOp::all_to_all_gemm && pair.m % unit == 0 && pair.m / unit >= least_rows_of_a_chunk)
        families.emplace_back(Decomposition{chunks});
    }
    return families;
  }

  void add_pairs(PairOp op, int count) {
    for (int i = 0; i < count; ++i) {
      const PairWorkload workload = pair(op, shape_kinds[i % shape_kinds.size()]);
      DrawnContest contest;
      if (dice_.one_in(2)) add_parts(contest, workload);
      const std::vector<Family> families = cuts(workload);
      for (const Family& family : families) add(contest, workload, {family});
      if (dice_.one_in(3)) {
        const int max_ctas = limit({4, 8, 16});
        for (const Family& family : families)
          if (!(family == Family{Decomposition{8}})) add(contest, workload, {family, max_ctas});
      }
      if (priorities_ == Priorities::both)
        for (const Family& family : families)
          if (std::holds_alternative<Decomposition>(family))
            add(contest, workload, {.family = family, .urgent = false});
      if (op == PairOp::gemm_reduce_scatter) add(contest, workload, {AsyncTp{}});
      if (op == PairOp::all_gather_gemm)
        for (const AsyncInput input : {AsyncInput::copied, AsyncInput::symmetric})
          add(contest, workload, {AsyncTp{input}});
      if (collective_comes_first(op) && workload.m % (std::int64_t{gpus_} * gpus_) == 0) add_ficco(contest, workload);
      contests_.push_back(std::move(contest));
    }
  }

  /// Two or three of the points with pulls by copy engines.
  void add_ficco(DrawnContest& contest, const PairWorkload& workload) {
    std::vector<Family> points;
    for (const FiccoCompute compute : {FiccoCompute::uniform, FiccoCompute::hetero})
      for (const FiccoGemm gemm : {FiccoGemm::fused, FiccoGemm::unfused})
        for (const FiccoChunks chunks : {FiccoChunks::rows, FiccoChunks::rows_and_columns})
          points.emplace_back(Ficco{compute, gemm, chunks, FiccoTransport::copy_engine});
    dice_.shuffle(points);
    points.resize(2 + dice_.below(2));
    for (const Family& point : points) add(contest, workload, {point});
  }

  void add_concurrent_pair(const ShapeKind& kind) {
    const ConcurrentPair workload = concurrent_pair(kind);
    const std::vector<Family> families{Serial{}, Concurrent{FirstLaunched::collective},
                                       Concurrent{FirstLaunched::gemm}};
    DrawnContest contest;
    add_parts(contest, workload);
    for (const Launch launch : {Launch::graph, Launch::eager})
      for (const Family& family : families) add(contest, workload, {family, 0, launch});
    if (dice_.one_in(3)) {
      const int max_ctas = limit({4, 8, 16});
      for (const Family& family : families) add(contest, workload, {family, max_ctas});
    }
    contests_.push_back(std::move(contest));
  }

  void add_gemm() {
    const std::int64_t m = dice_.log_uniform_multiple(1, 1, most_rows), n = width(), k = width();
    add(contests_.emplace_back(), GemmWorkload{m, n, k});
  }

  void add_collective(CollectiveKind kind) {
    constexpr double least_bytes = 1 << 16, most_bytes = 1 << 30;
    const CollectiveWorkload workload{kind, bytes(least_bytes, most_bytes)};
    DrawnContest& contest = contests_.emplace_back();
    add(contest, workload);
    add(contest, workload, {Serial{}, limit({1, 2, 4, 8, 16, 32})});
  }

  void add_copy(CopyPattern pattern) {
    constexpr double least_bytes = 1 << 18, most_bytes = 1 << 28;
    add(contests_.emplace_back(), CopyWorkload{bytes(least_bytes, most_bytes), pattern});
  }

  int limit(const std::vector<int>& max_ctas) { return dice_.pick(max_ctas); }

  std::vector<Case> numbered() {
    dice_.shuffle(contests_);
    std::vector<Case> cases;
    for (std::size_t contest = 0; contest < contests_.size(); ++contest)
      for (std::size_t i = 0; i < contests_[contest].size(); ++i) {
        cases.push_back(contests_[contest][i]);
        cases.back().id = std::to_string(contest) + "." + std::to_string(i);
      }
    return cases;
  }

  Dice dice_;
  int gpus_;
  Priorities priorities_;
  std::vector<DrawnContest> contests_;
};

}  // namespace

std::vector<Case> draw_cases(std::uint64_t seed, int gpus, Priorities priorities) {
  require_seed(seed);
  if (gpus != 2 && gpus != 4 && gpus != 8) throw InputError("gpus", "expected 2, 4 or 8, got " + std::to_string(gpus));
  return Draw(seed, gpus, priorities).cases();
}

double rough_duration_ratio(const Parts& parts, int gpus) {
  const double gemm_us = MatrixSize{parts.gemm.m, parts.gemm.n, parts.gemm.k}.flops() / gemm_flops_per_us;
  const double crossings = parts.collective.kind == CollectiveKind::all_reduce ? 2 : 1;
  const double port_bytes = crossings * (gpus - 1) / gpus * static_cast<double>(parts.collective.bytes);
  return gemm_us / (port_bytes / port_bytes_per_us);
}

}  // namespace weft::calibration::evidence
