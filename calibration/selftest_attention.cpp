#include "calibration/selftest_attention.hpp"

namespace weft::calibration {
namespace {

constexpr int heads = 8, kv_heads = 2;
constexpr StreamId compute = 0, communication = 1;
constexpr std::int64_t even_rows = 2048, uneven_rows = 1000;  // tiles divide halves of halves, or none of them

struct Size {
  AttentionMask mask = AttentionMask::causal;
  int head_dim = 128;
  std::int64_t rows = 0;  ///< of each rank, even
};

struct Result {
  BufferId rows = 0, log_sum_exp = 0;
};

/// Where a reference reads queries, keys and values, and what they are to give.
struct Attended {
  BufferId queries, keys_values, result;
};
Meaning meaning_of(std::int64_t rows, int head_dim, AttentionMask mask, const Attended& buffers) {
  const std::int64_t query_columns = std::int64_t{heads} * head_dim;
  return {.op = "distributed_attention",
          .m = rows,
          .n = query_columns,
          .k = query_columns,
          .a = buffers.queries,
          .b = buffers.keys_values,
          .result = buffers.result,
          .attention = AttentionShape{heads, kv_heads, head_dim, mask}};
}

/// The schedules of one size: two stages, each with half of the rows that a pair of ranks exchanges.
class Attentions {
 public:
  Attentions(const std::string& name, int gpus, const Size& size) : size_(size) {
    schedule_.name = name + ", " + std::string(name_of(size.mask)) + ", heads of " + std::to_string(size.head_dim) +
                     ", " + std::to_string(size.rows) + " rows, gpus=" + std::to_string(gpus);
    schedule_.family = "staged";
    schedule_.gpus = gpus;
    schedule_.streams = {{"compute", 0}, {"communication", -5}};
    queries_ = add_buffer("queries", size.rows, query_columns(), Memory::symmetric);
    keys_values_ = add_buffer("keys and values", size.rows, 2 * kv_heads * size.head_dim, Memory::symmetric);
    output_ = add_result("output", size.rows);
    schedule_.meaning = meaning_of(size.rows * gpus, size.head_dim, size.mask, {queries_, keys_values_, output_.rows});
  }

  /// Each stage's attention begins once the next stage's cast has its CTAs.
  Schedule keys_travel() && {
    std::vector<BufferId> received;
    for (int stage = 0; stage < stages; ++stage) received.push_back(add_cast(stage, keys_values_));
    std::vector<Result> results{add_result("own result", size_.rows)};
    add_attention("own", queries_, keys_values_, results[0], own_parts(), {{1, Point::all_ctas_started, 0}});
    for (int stage = 0; stage < stages; ++stage) {
      results.push_back(add_result("result " + std::to_string(stage), size_.rows));
      add_attention("attention " + std::to_string(stage), queries_, received[at(stage)], results.back(),
                    parts_of_stage(stage, false), {{stage, Point::end, 0}});
    }
    MemoryBound merge{.kernel = MemoryKernel::log_sum_exp_merge,
                      .reads = {},
                      .writes = {whole(output_.rows), whole(output_.log_sum_exp)}};
    for (const Result& result : results)
      for (const BufferId buffer : {result.rows, result.log_sum_exp}) merge.reads.push_back(whole(buffer));
    schedule_.operations.push_back({"merge", compute, {}, merge});
    return std::move(schedule_);
  }

  Schedule queries_travel() && {
    std::vector<BufferId> received;
    for (int stage = 0; stage < stages; ++stage) received.push_back(add_cast(stage, queries_));
    add_attention("own", queries_, keys_values_, output_, own_parts(), {});
    for (int stage = 0; stage < stages; ++stage) {
      const std::string number = std::to_string(stage);
      const Result result = add_result("result " + number, buffer(received[at(stage)]).rows, Memory::symmetric);
      const OperationId computed = add_attention("attention " + number, received[at(stage)], keys_values_, result,
                                                 parts_of_stage(stage, true), {{stage, Point::end, 0}});
      GroupedExchange reduce{.kind = GroupedKind::reduce,
                             .input = whole(result.rows),
                             .output = whole(output_.rows),
                             .transport = Transport::peer_kernel,
                             .input_log_sum_exp = whole(result.log_sum_exp),
                             .output_log_sum_exp = whole(output_.log_sum_exp),
                             .rows = exchanged_rows(stage, true)};
      for (std::size_t i = 0; i < reduce.rows.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(reduce.rows[i][j], reduce.rows[j][i]);
      schedule_.operations.push_back({"reduce " + number, communication, {{computed, Point::end, 0}}, reduce});
    }
    return std::move(schedule_);
  }

 private:
  static constexpr int stages = 2;
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::int64_t query_columns() const { return std::int64_t{heads} * size_.head_dim; }
  const Buffer& buffer(BufferId id) const { return schedule_.buffers[at(id)]; }

  BufferId add_buffer(const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory,
                      DataType dtype = DataType::bf16) {
    schedule_.buffers.push_back(
        {.name = name, .rows = rows, .columns = columns, .dtype = dtype, .memory = memory, .layout = {}});
    return static_cast<BufferId>(schedule_.buffers.size()) - 1;
  }
  Result add_result(const std::string& name, std::int64_t rows, Memory memory = Memory::local) {
    const BufferId result = add_buffer(name, rows, query_columns(), memory);
    return {result, add_buffer(name + " log_sum_exp", rows, heads, memory, DataType::fp32)};
  }
  Slice whole(BufferId id) const { return {id, 0, RowRange{0, buffer(id).rows}, 0, buffer(id).columns}; }

  /// Of rank `holder`'s keys those that rank `asker`'s queries see, or of the asker's queries those that see them: a
  /// causal mask's chunks are the ranks' and then the ranks' backwards.
  RowRange needed(int asker, int holder, bool of_queries) const {
    const std::int64_t half = size_.rows / 2;
    if (size_.mask == AttentionMask::full || asker == holder) return {0, size_.rows};
    if (of_queries) return holder > asker ? RowRange{half, half} : RowRange{0, size_.rows};
    return holder < asker ? RowRange{0, half} : RowRange{0, size_.rows};
  }
  static RowRange of_stage(const RowRange& rows, int stage) {
    const std::int64_t first = rows.count * stage / stages, last = rows.count * (stage + 1) / stages;
    return {rows.first + first, last - first};
  }
  /// rows[source][destination] of a cast.
  std::vector<std::vector<RowRange>> exchanged_rows(int stage, bool of_queries) const {
    std::vector rows(at(schedule_.gpus), std::vector<RowRange>(at(schedule_.gpus)));
    for (int source = 0; source < schedule_.gpus; ++source)
      for (int destination = 0; destination < schedule_.gpus; ++destination)
        if (source != destination)
          rows[at(source)][at(destination)] =
              of_stage(of_queries ? needed(source, destination, true) : needed(destination, source, false), stage);
    return rows;
  }

  BufferId add_cast(int stage, BufferId source) {
    const std::string number = std::to_string(stage);
    const BufferId received =
        add_buffer("received " + number, schedule_.gpus * size_.rows, buffer(source).columns, Memory::local);
    schedule_.operations.push_back({"cast " + number,
                                    communication,
                                    {},
                                    GroupedExchange{.kind = GroupedKind::cast,
                                                    .input = whole(source),
                                                    .output = whole(received),
                                                    .transport = Transport::peer_kernel,
                                                    .rows = exchanged_rows(stage, source == queries_),
                                                    .max_ctas = stage == 0 ? 8 : 0}});
    return received;
  }

  using Parts = std::vector<std::vector<AttentionPart>>;
  Parts own_parts() const {
    const std::int64_t rows = size_.rows, half = rows / 2;
    std::vector<AttentionPart> parts{{0, rows, 0, rows, AttentionMask::full}};
    if (size_.mask == AttentionMask::causal)
      parts = {{0, half, 0, half, AttentionMask::causal},
               {half, half, 0, half, AttentionMask::full},
               {half, half, half, half, AttentionMask::causal}};
    return Parts(at(schedule_.gpus), parts);
  }
  Parts parts_of_stage(int stage, bool of_queries) const {
    Parts parts(at(schedule_.gpus));
    for (int rank = 0; rank < schedule_.gpus; ++rank) {
      std::int64_t first = 0;
      for (int peer = 0; peer < schedule_.gpus; ++peer) {
        if (peer == rank) continue;
        const std::int64_t count = exchanged_rows(stage, of_queries)[at(peer)][at(rank)].count;
        const RowRange own = of_queries ? needed(peer, rank, false) : needed(rank, peer, true);
        parts[at(rank)].push_back(of_queries ? AttentionPart{first, count, own.first, own.count}
                                             : AttentionPart{own.first, own.count, first, count});
        first += count;
      }
    }
    return parts;
  }

  OperationId add_attention(const std::string& name, BufferId queries, BufferId keys_values, const Result& result,
                            Parts parts, std::vector<After> after) {
    schedule_.operations.push_back({name, compute, std::move(after),
                                    PartialAttention{.queries = whole(queries),
                                                     .keys_values = whole(keys_values),
                                                     .output = whole(result.rows),
                                                     .log_sum_exp = whole(result.log_sum_exp),
                                                     .heads = heads,
                                                     .kv_heads = kv_heads,
                                                     .head_dim = size_.head_dim,
                                                     .parts = std::move(parts),
                                                     .max_sms = name == "own" ? 100 : 0}});
    return static_cast<OperationId>(schedule_.operations.size()) - 1;
  }

  Size size_;
  Schedule schedule_;
  BufferId queries_ = 0, keys_values_ = 0;
  Result output_;
};

Attention causal_attention(const Slice& qkv, const Slice& output, int head_dim, int max_sms = 0) {
  return {.qkv = qkv, .output = output, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .max_sms = max_sms};
}

/// Queries, keys and values lie apart where a reference reads them, and are packed first.
Schedule packed_attention(int head_dim, std::int64_t rows, int max_sms) {
  const std::int64_t query_columns = std::int64_t{heads} * head_dim,
                     key_columns = std::int64_t{2} * kv_heads * head_dim;
  Schedule schedule;
  schedule.name = "causal attention, heads of " + std::to_string(head_dim) + ", " + std::to_string(rows) + " rows, " +
                  (max_sms > 0 ? std::to_string(max_sms) + " SMs" : "a grid");
  schedule.family = "serial";
  schedule.gpus = 1;
  schedule.streams = {{"compute", 0}};
  schedule.buffers = {{"queries", rows, query_columns, DataType::bf16, Memory::local},
                      {"keys and values", rows, key_columns, DataType::bf16, Memory::local},
                      {"packed", rows, query_columns + key_columns, DataType::bf16, Memory::local},
                      {"output", rows, query_columns, DataType::bf16, Memory::local}};
  const auto slice = [&](BufferId buffer, std::int64_t first_column, std::int64_t columns) {
    return Slice{.buffer = buffer, .rows = RowRange{0, rows}, .first_column = first_column, .columns = columns};
  };
  const BufferId queries = 0, keys_values = 1, packed = 2, output = 3;
  schedule.operations = {
      {"pack queries", 0, {}, Copy{slice(queries, 0, query_columns), slice(packed, 0, query_columns)}},
      {"pack keys", 0, {}, Copy{slice(keys_values, 0, key_columns), slice(packed, query_columns, key_columns)}},
      {"attention",
       0,
       {},
       causal_attention(slice(packed, 0, query_columns + key_columns), slice(output, 0, query_columns), head_dim,
                        max_sms)}};
  schedule.meaning = meaning_of(rows, head_dim, AttentionMask::causal, {queries, keys_values, output});
  return schedule;
}

/// Sequences of `cached` keys and then `tokens` more, together an even number, each of which a reference computes as a
/// whole: the rows of the first by attention without a cache, the further ones of all sequences by one over what has
/// been put into it.
class CachedAttention {
 public:
  /// `prefix`: of the tokens of a lone sequence so many are one attention, and those behind them another one.
  CachedAttention(int head_dim, int sequences, std::int64_t tokens, std::int64_t cached, int max_sms = 0,
                  std::int64_t prefix = 0)
      : head_dim_(head_dim), tokens_(tokens), cached_(cached) {
    schedule_.name = "attention of " + std::to_string(sequences) + " x " + std::to_string(tokens) +
                     " tokens, heads of " + std::to_string(head_dim) + ", behind " + std::to_string(cached) +
                     " cached" + (max_sms > 0 ? " on " + std::to_string(max_sms) + " SMs" : "") +
                     (prefix > 0 ? " and " + std::to_string(prefix) + " of their own" : "");
    schedule_.family = "serial";
    schedule_.gpus = 1;
    schedule_.streams = {{"compute", 0}};
    const BufferId cache = add_buffer("cache", sequences * cached, key_columns());
    const BufferId packed = add_buffer("packed", sequences * tokens, query_columns() + key_columns());
    const BufferId output = add_buffer("output", sequences * tokens, query_columns());
    for (int sequence = 0; sequence < sequences; ++sequence) add_sequence(sequence, cache, packed);
    const auto attend = [&](std::int64_t first, std::int64_t count) {
      Attention one = causal_attention(rows(packed, first, count), rows(output, first, count), head_dim_, max_sms);
      one.prefix = first, one.sequences = sequences, one.cached = whole(cache);
      add("attention", one);
    };
    if (prefix > 0) attend(0, prefix);
    attend(prefix, sequences * tokens - prefix);
    for (int sequence = 0; sequence < sequences; ++sequence)
      add("keep", Copy{rows(output, sequence * tokens, tokens), rows(results_[at(sequence)], cached, tokens)});
  }
  Schedule schedule() && { return std::move(schedule_); }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::int64_t query_columns() const { return std::int64_t{heads} * head_dim_; }
  std::int64_t key_columns() const { return std::int64_t{2} * kv_heads * head_dim_; }

  BufferId add_buffer(const std::string& name, std::int64_t rows, std::int64_t columns) {
    schedule_.buffers.push_back({.name = name, .rows = rows, .columns = columns, .layout = {}});
    return static_cast<BufferId>(schedule_.buffers.size()) - 1;
  }
  void add(const std::string& name, Work work) {
    const std::string number = " " + std::to_string(schedule_.operations.size());
    schedule_.operations.push_back({name + number, 0, {}, std::move(work)});
  }
  Slice rows(BufferId id, std::int64_t first, std::int64_t count) const {
    return {id, 0, RowRange{first, count}, 0, schedule_.buffers[at(id)].columns};
  }
  Slice whole(BufferId id) const { return rows(id, 0, schedule_.buffers[at(id)].rows); }
  static Slice columns_of(Slice slice, std::int64_t first, std::int64_t count) {
    slice.first_column = first, slice.columns = count;
    return slice;
  }

  void add_sequence(int sequence, BufferId cache, BufferId packed) {
    const std::string number = " " + std::to_string(sequence);
    const std::int64_t all = cached_ + tokens_;
    const BufferId queries = add_buffer("queries" + number, all, query_columns()),
                   keys_values = add_buffer("keys and values" + number, all, key_columns()),
                   alone = add_buffer("packed" + number, cached_, query_columns() + key_columns()),
                   result = add_buffer("result" + number, all, query_columns());
    results_.push_back(result);
    const auto pack = [&](std::int64_t first, std::int64_t count, const Slice& into) {
      add("pack", Copy{rows(queries, first, count), columns_of(into, 0, query_columns())});
      add("pack", Copy{rows(keys_values, first, count), columns_of(into, query_columns(), key_columns())});
    };
    pack(0, cached_, whole(alone));
    add("attention", causal_attention(whole(alone), rows(result, 0, cached_), head_dim_));
    add("cache", Copy{rows(keys_values, 0, cached_), rows(cache, sequence * cached_, cached_)});
    pack(cached_, tokens_, rows(packed, sequence * tokens_, tokens_));
    Meaning meaning = meaning_of(all, head_dim_, AttentionMask::causal, {queries, keys_values, result});
    if (schedule_.meaning)
      schedule_.meaning->also.push_back(std::move(meaning));
    else
      schedule_.meaning = std::move(meaning);
  }

  int head_dim_;
  std::int64_t tokens_, cached_;
  Schedule schedule_;
  std::vector<BufferId> results_;
};

std::vector<Schedule> packed_attention_schedules() {
  constexpr int few_sms = 20;
  std::vector<Schedule> schedules;
  for (const int head_dim : {64, 128})
    for (const std::int64_t rows : {even_rows, uneven_rows})
      for (const int max_sms : {0, few_sms}) schedules.push_back(packed_attention(head_dim, rows, max_sms));
  for (const int head_dim : {64, 128}) {
    schedules.push_back(CachedAttention(head_dim, 1, 300, 200).schedule());  // a chunk of a prompt
    schedules.push_back(CachedAttention(head_dim, 2, 5, 6001).schedule());   // in more splits than one thread merges
    schedules.push_back(CachedAttention(head_dim, 3, 1, 999).schedule());    // decode
    schedules.push_back(CachedAttention(head_dim, 40, 1, 399).schedule());   // of many sequences
    schedules.push_back(CachedAttention(head_dim, 67, 1, 399).schedule());   // more items than CTAs, some in pieces
    schedules.push_back(CachedAttention(head_dim, 35, 4, 396).schedule());   // 70 items of 16 queries
    schedules.push_back(CachedAttention(head_dim, 1, 1, 19999).schedule());  // in groups of pieces
    schedules.push_back(CachedAttention(head_dim, 2, 3, 6001).schedule());   // 12 queries that see the same keys
    schedules.push_back(CachedAttention(head_dim, 5, 4, 128).schedule());    // 16, behind whole tiles
    schedules.push_back(CachedAttention(head_dim, 8, 40, 78).schedule());    // two tiles of packed heads
    schedules.push_back(CachedAttention(head_dim, 60, 1, 63).schedule());    // less than a tile of keys
    schedules.push_back(CachedAttention(head_dim, 3, 1, 5).schedule());      // less than a warp of them
    schedules.push_back(CachedAttention(head_dim, 40, 1, 175).schedule());   // a tile and part of one
    schedules.push_back(CachedAttention(head_dim, 1, 16, 2998, 0, 12).schedule());  // 16 keys of their own
    schedules.push_back(CachedAttention(head_dim, 6, 3, 2999, few_sms).schedule());
    schedules.push_back(CachedAttention(head_dim, 1, 5, 2999, 0, 2).schedule());    // tokens behind some of their own
    schedules.push_back(CachedAttention(head_dim, 1, 21, 2999, 0, 20).schedule());  // behind more than few
  }
  return schedules;
}

}  // namespace

std::vector<Schedule> attention_schedules(int gpus) {
  if (gpus == 1) return packed_attention_schedules();
  std::vector<Schedule> schedules;
  for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::full})
    for (const int head_dim : {64, 128})
      for (const std::int64_t rows : {even_rows, uneven_rows}) {
        const Size size{mask, head_dim, rows};
        schedules.push_back(Attentions("keys travel", gpus, size).keys_travel());
        schedules.push_back(Attentions("queries travel", gpus, size).queries_travel());
      }
  return schedules;
}

}  // namespace weft::calibration
