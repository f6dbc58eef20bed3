// Distributed attention in stages, as MagiAttention does it: the part of the next stage travels beside the attention of
// the stage before.
//
// Keys and values travel (group-cast):
//   s1: cast 0 | cast 1      | cast 2      | …
//   s0: own    | attention 0 | attention 1 | … | merge
// Queries travel, and their results back (group-reduce):
//   s1: cast 0 | cast 1      | cast 2      | …
//   s0: own    | attention 0 | attention 1 | …
//   s2:                      | reduce 0    | …
//
// "own" is the attention of the own queries over the own keys; attention i waits for cast i. With kernel barriers a
// compute kernel also waits until the exchanges beside it have started, so that they have their SMs before it takes the
// rest. A stage is the same share of what each rank needs of each other one, so all stages are alike and balanced.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/input_error.hpp"
#include "models/cost/attention_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/sequence_order.hpp"
#include "scenarios/families/attention_shards.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/program.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::families {
namespace {

// MagiAttention's solver: magi_attention/meta/solver/overlap_solver.py, commit 2c64135: dynamic_max_degree and
// min_chunk_tokens.
constexpr int most_searched_stages = 8;
constexpr std::int64_t least_stage_tokens = 512;

RowRange share_of(const RowRange& range, int stage, int stages) {
  const std::int64_t first = range.count * stage / stages, last = range.count * (stage + 1) / stages;
  return {range.first + first, last - first};
}

const AttentionWorkload& attention_of(const Case& request) {
  if (const auto* attention = std::get_if<AttentionWorkload>(&request.workload)) return *attention;
  throw InputError("schedule.family", "expected the op that staged has (distributed_attention), got " +
                                          std::string(op_of(request.workload)));
}

/// Our own kernel adds up what comes back while it comes, which the library's sends and receives leave to others.
Transport transport_on(const Machine& machine) {
  return has_peer_kernels(machine) ? Transport::peer_kernel : Transport::nccl;
}

/// The buffers and operations of all ways to do it.
class AttentionProgram {
 public:
  AttentionProgram(const Case& request, const AttentionWorkload& attention, int stages, AttentionExchange exchange,
                   int max_sms, Transport transport)
      : attention_(attention),
        gpus_(request.gpus),
        stages_(stages),
        exchange_(exchange),
        max_sms_(max_sms),
        max_ctas_(request.schedule.max_ctas),
        transport_(transport),
        shards_(attention, request.gpus),
        program_(request) {
    if (stages > most_stages(attention, gpus_))
      throw InputError("schedule.stages", "expected at most the " + std::to_string(most_stages(attention, gpus_)) +
                                              " rows that a pair of GPUs exchanges, got " + std::to_string(stages));
    queries_ = program_.add_buffer("queries", shards_.rows(), query_columns(), DataType::bf16,
                                   queries_travel() ? Memory::symmetric : Memory::local);
    keys_values_ = program_.add_buffer("keys and values", shards_.rows(), key_columns(), DataType::bf16,
                                       queries_travel() ? Memory::local : Memory::symmetric);
    output_ = add_result("output", shards_.rows());
    program_.set_meaning(
        {.op = "distributed_attention",
         .m = attention.tokens,
         .n = query_columns(),
         .k = query_columns(),
         .a = queries_,
         .b = keys_values_,
         .result = output_.rows,
         .attention = AttentionShape{static_cast<int>(attention.heads), static_cast<int>(attention.kv_heads),
                                     static_cast<int>(attention.head_dim), attention.mask}});
  }

  Program& program() { return program_; }

  OperationId add_cast(StreamId stream, int stage) {
    GroupedExchange cast = exchange(GroupedKind::cast, stage);
    std::int64_t most_rows = 0;
    for (int rank = 0; rank < gpus_; ++rank) {
      std::int64_t rows = 0;
      for (int peer = 0; peer < gpus_; ++peer) rows += cast.rows[at(peer)][at(rank)].count;
      most_rows = std::max(most_rows, rows);
    }
    const BufferId source = queries_travel() ? queries_ : keys_values_;
    received_ = program_.add_buffer("received " + std::to_string(stage), most_rows, program_.buffer(source).columns);
    cast.input = program_.whole(source);
    cast.output = program_.whole(received_);
    received_by_stage_.push_back(received_);
    return program_.add(stream, "group_cast " + std::to_string(stage), cast);
  }

  /// Own queries, own keys.
  OperationId add_own_attention(StreamId stream) {
    const Result result = queries_travel() ? output_ : add_result("own result", shards_.rows());
    partial_results_.push_back(result);
    return add_attention(stream, "own attention", queries_, keys_values_, result,
                         std::vector(at(gpus_), shards_.own_parts()));
  }

  OperationId add_stage_attention(StreamId stream, int stage, OperationId arrived) {
    const BufferId received = received_by_stage_[at(stage)];
    const std::string number = std::to_string(stage);
    std::vector<std::vector<AttentionPart>> parts;
    for (int rank = 0; rank < gpus_; ++rank) parts.push_back(parts_of(rank, stage));
    const Result result = queries_travel()
                              ? add_result("result " + number, program_.buffer(received).rows, Memory::symmetric)
                              : add_result("result " + number, shards_.rows());
    partial_results_.push_back(result);
    return add_attention(stream, "attention " + number, queries_travel() ? received : queries_,
                         queries_travel() ? keys_values_ : received, result, std::move(parts), {arrived});
  }

  OperationId add_reduce(StreamId stream, int stage, OperationId computed) {
    GroupedExchange reduce = exchange(GroupedKind::reduce, stage);
    const Result& result = partial_results_[at(stage) + 1];
    reduce.input = program_.whole(result.rows);
    reduce.output = program_.whole(output_.rows);
    reduce.input_log_sum_exp = program_.whole(result.log_sum_exp);
    reduce.output_log_sum_exp = program_.whole(output_.log_sum_exp);
    return program_.add(stream, "group_reduce " + std::to_string(stage), reduce, {computed});
  }

  void add_merge(StreamId stream) {
    MemoryBound merge{.kernel = MemoryKernel::log_sum_exp_merge, .reads = {}, .writes = {}};
    for (const Result& result : partial_results_) {
      merge.reads.push_back(program_.whole(result.rows));
      merge.reads.push_back(program_.whole(result.log_sum_exp));
    }
    merge.writes = {program_.whole(output_.rows), program_.whole(output_.log_sum_exp)};
    program_.add(stream, "merge", std::move(merge));
  }

  Schedule finish() && { return std::move(program_).finish(); }

 private:
  struct Result {
    BufferId rows = 0, log_sum_exp = 0;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  bool queries_travel() const { return exchange_ == AttentionExchange::queries; }
  std::int64_t query_columns() const { return attention_.heads * attention_.head_dim; }
  std::int64_t key_columns() const { return 2 * attention_.kv_heads * attention_.head_dim; }

  /// Peers read what lies in symmetric memory.
  Result add_result(const std::string& name, std::int64_t rows, Memory memory = Memory::local) {
    return {program_.add_buffer(name, rows, query_columns(), DataType::bf16, memory),
            program_.add_buffer(name + " log_sum_exp", rows, attention_.heads, DataType::fp32, memory)};
  }

  /// What rank `peer` sends to `rank` in a cast, or adds to it in a reduce.
  RowRange exchanged(int peer, int rank, int stage) const {
    return share_of(queries_travel() ? shards_.needed_queries(peer, rank) : shards_.needed_keys(peer, rank), stage,
                    stages_);
  }

  GroupedExchange exchange(GroupedKind kind, int stage) const {
    GroupedExchange exchange;
    exchange.kind = kind;
    exchange.transport = transport_;
    exchange.max_ctas = max_ctas_;
    exchange.rows.assign(at(gpus_), std::vector<RowRange>(at(gpus_)));
    for (int source = 0; source < gpus_; ++source)
      for (int destination = 0; destination < gpus_; ++destination)
        if (source != destination)
          exchange.rows[at(source)][at(destination)] =
              kind == GroupedKind::cast ? exchanged(source, destination, stage) : exchanged(destination, source, stage);
    return exchange;
  }

  /// Of the rows that a cast brought to `rank`, one rank's after the other's.
  std::vector<AttentionPart> parts_of(int rank, int stage) const {
    std::vector<AttentionPart> parts;
    std::int64_t first = 0;
    for (int peer = 0; peer < gpus_; ++peer) {
      if (peer == rank) continue;
      const std::int64_t count = exchanged(peer, rank, stage).count;
      const RowRange own = queries_travel() ? shards_.needed_keys(rank, peer) : shards_.needed_queries(rank, peer);
      if (count > 0)
        parts.push_back(queries_travel() ? AttentionPart{first, count, own.first, own.count}
                                         : AttentionPart{own.first, own.count, first, count});
      first += count;
    }
    return parts;
  }

  OperationId add_attention(StreamId stream, std::string name, BufferId queries, BufferId keys_values,
                            const Result& result, std::vector<std::vector<AttentionPart>> parts,
                            std::initializer_list<OperationId> after = {}) {
    return program_.add(stream, std::move(name),
                        PartialAttention{.queries = program_.whole(queries),
                                         .keys_values = program_.whole(keys_values),
                                         .output = program_.whole(result.rows),
                                         .log_sum_exp = program_.whole(result.log_sum_exp),
                                         .heads = static_cast<int>(attention_.heads),
                                         .kv_heads = static_cast<int>(attention_.kv_heads),
                                         .head_dim = static_cast<int>(attention_.head_dim),
                                         .parts = std::move(parts),
                                         .max_sms = max_sms_},
                        after);
  }

  const AttentionWorkload attention_;
  const int gpus_, stages_;
  const AttentionExchange exchange_;
  const int max_sms_, max_ctas_;
  const Transport transport_;
  const AttentionShards shards_;
  Program program_;
  BufferId queries_ = 0, keys_values_ = 0, received_ = 0;
  Result output_;
  std::vector<BufferId> received_by_stage_;
  std::vector<Result> partial_results_;  // the own one first, then by stage
};

/// Of a stage: its exchanges, and its attention on the rank that has most to do.
struct StageTimes {
  double exchange_us = 0, attention_us = 0;
};

double exchange_us(const GroupedExchange& exchange, const Schedule& schedule, const Machine& machine) {
  const CollectiveTiming timing = time_grouped_exchange(machine, exchange, schedule);
  return timing.latency_us + timing.transfer_us;
}

/// MagiAttention's objective: what is exchanged in a stage is hidden behind the attention of the stage before, with the
/// own keys as stage 0:
///   sum over stages i of max(exchange i, attention i - 1), plus the last attention (and what follows it)
double solver_cost_us(const Schedule& schedule, const Machine& machine) {
  std::vector<double> casts, attentions, reduces;
  for (const Operation& operation : schedule.operations) {
    match(
        operation.work,
        [&](const PartialAttention& attention) {
          attentions.push_back(longest_staying_us(machine, schedule, attention));
        },
        [&](const GroupedExchange& exchange) {
          (exchange.kind == GroupedKind::cast ? casts : reduces).push_back(exchange_us(exchange, schedule, machine));
        },
        [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, Copy, MemoryBound, Attention, Signal, Wait,
                       Barrier, Delay> auto&) {});
  }
  double total_us = attentions.back() + (reduces.empty() ? 0 : reduces.back());
  for (std::size_t stage = 0; stage < casts.size(); ++stage) {
    const double back_us = stage >= 2 && !reduces.empty() ? reduces[stage - 2] : 0;
    total_us += std::max({casts[stage], attentions[stage], back_us});
  }
  return total_us;
}

}  // namespace

std::vector<AttentionPart> AttentionShards::own_parts() const {
  if (mask_ == AttentionMask::full) return {{0, rows_, 0, rows_, AttentionMask::full}};
  const std::int64_t chunk = rows_ / 2;
  return {{0, chunk, 0, chunk, AttentionMask::causal},
          {chunk, chunk, 0, chunk, AttentionMask::full},
          {chunk, chunk, chunk, chunk, AttentionMask::causal}};
}

int most_stages(const AttentionWorkload& attention, int gpus) {
  return static_cast<int>(
      std::min<std::int64_t>(attention.tokens / token_unit(attention.mask, gpus), std::numeric_limits<int>::max()));
}

Schedule build_serial_attention(const Case& request, const AttentionWorkload& attention, const Machine& machine) {
  AttentionProgram parts(request, attention, 1, AttentionExchange::keys_values, 0, transport_on(machine));
  const OperationId arrived = parts.add_cast(main_stream, 0);
  parts.add_own_attention(main_stream);
  parts.add_stage_attention(main_stream, 0, arrived);
  parts.add_merge(main_stream);
  return std::move(parts).finish();
}

namespace {

struct StagedRules {
  static constexpr std::string_view name = "staged";
  static constexpr std::string_view meaning = "distributed attention in stages";
  static std::string in_words(const Staged& choice) {
    std::string words = ", stages " + (choice.stages ? std::to_string(*choice.stages) : "searched");
    if (choice.exchange == AttentionExchange::queries) words += ", queries travel";
    if (!choice.kernel_barrier) words += ", no kernel barrier";
    if (choice.sm_margin > 0) words += ", sm_margin " + std::to_string(choice.sm_margin);
    return words;
  }
  /// `stages` is filled in; a margin of SMs is one of `machine`.
  static Schedule build(const Case& request, const Machine& machine);
  static bool is_open(const Staged& choice) { return !choice.stages; }
  /// With the number of stages that MagiAttention's solver would take.
  static std::vector<Staged> searched(const Case& request, const Machine& machine);

  static std::vector<Staged> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    std::vector<Staged> found;
    const auto* attention = std::get_if<AttentionWorkload>(&workload);
    if (attention == nullptr || gpus < 2) return found;
    for (const AttentionExchange exchange : {AttentionExchange::keys_values, AttentionExchange::queries}) {
      found.push_back({.stages = std::nullopt, .exchange = exchange});
      for (const int stages : space.stages)
        if (stages <= most_stages(*attention, gpus)) found.push_back({stages, exchange});
    }
    return found;
  }
};

std::vector<Staged> StagedRules::searched(const Case& request, const Machine& machine) {
  const AttentionWorkload& attention = attention_of(request);
  Staged staged = std::get<Staged>(request.schedule.family);
  staged.stages = 1;
  const std::int64_t remote_tokens = attention.tokens - attention.tokens / request.gpus;
  const auto most = std::clamp<std::int64_t>(remote_tokens / least_stage_tokens, 1, most_searched_stages);
  double least_us = std::numeric_limits<double>::infinity();
  for (int stages = 1; stages <= std::min<std::int64_t>(most, most_stages(attention, request.gpus)); ++stages) {
    Case one = request;
    Staged with_stages = staged;
    with_stages.stages = stages;
    one.schedule.family = with_stages;
    const double cost_us = std::round(solver_cost_us(build(one, machine), machine));
    if (cost_us < least_us) staged.stages = stages, least_us = cost_us;
  }
  return {staged};
}

Schedule StagedRules::build(const Case& request, const Machine& machine) {
  const AttentionWorkload& attention = attention_of(request);
  const auto& staged = std::get<Staged>(request.schedule.family);
  if (staged.sm_margin >= machine.gpu.sms())
    throw InputError("schedule.sm_margin", "expected fewer than the " + std::to_string(machine.gpu.sms()) + " SMs of " +
                                               machine.name + ", got " + std::to_string(staged.sm_margin));
  const int max_sms = staged.sm_margin > 0 ? machine.gpu.sms() - staged.sm_margin : 0;
  AttentionProgram parts(request, attention, *staged.stages, staged.exchange, max_sms, transport_on(machine));
  Program& program = parts.program();
  if (staged.sm_margin > 0) program.set_machine(machine.name);
  const StreamId casts = program.add_stream("s1", highest_priority);
  const bool queries_travel = staged.exchange == AttentionExchange::queries;
  const StreamId reduces = queries_travel ? program.add_stream("s2", highest_priority) : casts;
  const auto wait_for_start = [&](OperationId exchange) {
    if (staged.kernel_barrier)
      program.wait(main_stream, After{.operation = exchange, .point = Point::all_ctas_started});
  };

  OperationId arrived = parts.add_cast(casts, 0);
  wait_for_start(arrived);
  parts.add_own_attention(main_stream);
  for (int stage = 0; stage < *staged.stages; ++stage) {
    const OperationId own = arrived;
    if (stage + 1 < *staged.stages) {
      arrived = parts.add_cast(casts, stage + 1);
      wait_for_start(arrived);
    }
    const OperationId computed = parts.add_stage_attention(main_stream, stage, own);
    if (queries_travel) {
      const OperationId reduced = parts.add_reduce(reduces, stage, computed);
      if (stage + 1 < *staged.stages) wait_for_start(reduced);
    }
  }
  if (!queries_travel) parts.add_merge(main_stream);
  return std::move(parts).finish();
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Staged::rules =
    FamilyRules::of<Staged, families::StagedRules>();
