#include "sim/meaning/numerical_device.hpp"

#include <algorithm>

#include "models/schedule/facts.hpp"

namespace weft::sim::meaning {

Picoseconds RandomTimes::draw() {
  constexpr std::uint64_t lengths[] = {1, 10, 100, 1000};  // us, plus one; 1 us: at once
  const std::uint64_t length = lengths[generator_() % std::size(lengths)];
  return from_us(static_cast<double>(generator_() % length));
}

NumericalDevice::NumericalDevice(Engine& engine, const Schedule& schedule, NumericalMemory& memory, std::uint64_t seed)
    : engine_(engine), schedule_(schedule), memory_(memory), times_(seed) {
  require_integer_meaning(schedule);
  draw_slowest();
}

void NumericalDevice::draw_slowest() {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
    const auto id = static_cast<OperationId>(i);
    const Work& work = schedule_.operations[i].work;
    if (facts(work).role == Role::synchronisation) continue;
    for (int group = 0; group < std::max(1, tile_groups(work).count); ++group) parts.push_back({id, group});
  }
  if (!parts.empty()) slowest_ = parts[static_cast<std::size_t>(times_.draw_below(parts.size()))];
  if (times_.draw_below(2) == 0) slowest_rank_ = times_.draw_below(static_cast<std::size_t>(schedule_.gpus));
}

/// The time between reading and writing.
Sleep NumericalDevice::work(const Activity& activity, int tile_group) {
  constexpr double far_longer_us = 1e6;
  const bool is_slowest = activity.id == slowest_.operation && tile_group == slowest_.tile_group &&
                          activity.rank == slowest_rank_.value_or(activity.rank);
  return {engine_, engine_.now() + times_.draw() + from_us(is_slowest ? far_longer_us : 0)};
}

void NumericalDevice::start(Activity& activity) {
  match(
      activity.operation->work, [&](const Collective& collective) { run_collective(activity, collective); },
      [&](const AllReduceNorm&) { run_between_meetings(activity); },
      [&](const GroupedExchange& exchange) { run_exchange(activity, exchange); },
      [&](const Gemm& gemm) { run_gemm(activity, gemm); },
      [&](const OneOf<GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Barrier,
                      Delay> auto&) { run_alone(activity); });
}

/// SMs are no matter of meaning.
void NumericalDevice::admit(Activity& activity, int) {
  activity.first_cta_started.happen(engine_);
  activity.all_ctas_started.happen(engine_);
}

Process NumericalDevice::run_alone(Activity& activity) {
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  Underway underway = begin(activity, 0);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  for (Occurrence* released : activity.tile_waits) co_await Until{*released};  // of a wait that holds SMs
  co_await work(activity);
  finish(underway, activity.iteration);
  activity.finish(engine_);
}

Process NumericalDevice::run_gemm(Activity& activity, const Gemm& gemm) {
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  if (ranks_meet(gemm)) {
    Meeting& entry = meetings_[{activity.iteration, activity.id}];
    if (++entry.arrived == schedule_.gpus) entry.is_over.happen(engine_);
    co_await Until{entry.is_over};
  }
  for (int group = 0; group < tile_group_count(gemm); ++group) run_tile_group(activity, gemm, group);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  for (Occurrence& group_end : activity.tile_groups) co_await Until{group_end};
  if (ranks_meet_at_end(gemm)) {
    Meeting& exit = exits_[{activity.iteration, activity.id}];
    if (++exit.arrived == schedule_.gpus) exit.is_over.happen(engine_);
    co_await Until{exit.is_over};
  }
  co_await sleep();
  activity.finish(engine_);
}

Process NumericalDevice::run_tile_group(Activity& activity, const Gemm& gemm, int tile_group) {
  for (std::size_t i = 0; i < gemm.waits.size(); ++i)
    if (gemm.waits[i].tile_group == tile_group) co_await Until{*activity.tile_waits[i]};
  co_await sleep();
  Underway underway = begin(activity, tile_group);
  co_await work(activity, tile_group);
  finish(underway, activity.iteration);
  activity.tile_groups[static_cast<std::size_t>(tile_group)].happen(engine_);
}

Process NumericalDevice::run_collective(Activity& activity, const Collective& collective) {
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  Meeting& meeting = meetings_[{activity.iteration, activity.id}];
  meeting.inputs.resize(static_cast<std::size_t>(schedule_.gpus));
  const Rectangle input = rectangle_of(collective.input, activity.rank, schedule_.gpus);
  const Rectangle output = rectangle_of(collective.output, activity.rank, schedule_.gpus);
  meeting.inputs[static_cast<std::size_t>(activity.rank)] = memory_.read(input, activity.iteration);
  memory_.make_undefined(output);
  if (++meeting.arrived == schedule_.gpus) read_all(meeting, activity, collective);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  co_await Until{meeting.is_over};
  co_await work(activity);
  memory_.write(output, collective_result(collective.kind, meeting.inputs, activity.rank));
  activity.finish(engine_);
}

Process NumericalDevice::run_between_meetings(Activity& activity) {
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  const std::pair key{activity.iteration, activity.id};
  Meeting& entry = meetings_[key];
  if (++entry.arrived == schedule_.gpus) entry.is_over.happen(engine_);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  co_await Until{entry.is_over};
  co_await sleep();
  Underway underway = begin(activity, 0);
  co_await work(activity);
  finish(underway, activity.iteration);
  Meeting& exit = exits_[key];
  if (++exit.arrived == schedule_.gpus) exit.is_over.happen(engine_);
  co_await Until{exit.is_over};
  co_await sleep();
  activity.finish(engine_);
}

/// Inputs are in use on every rank until the last rank has come and a while longer. `last` is of that rank.
Process NumericalDevice::read_all(Meeting& meeting, const Activity& last, const Collective& collective) {
  co_await work(last);
  for (int rank = 0; rank < schedule_.gpus; ++rank) {
    const Rectangle input = rectangle_of(collective.input, rank, schedule_.gpus);
    const Rectangle output = rectangle_of(collective.output, rank, schedule_.gpus);
    IntegerMatrix& values = meeting.inputs[static_cast<std::size_t>(rank)];
    if (!overlap(input, output) && !is_unchanged(input, values, last.iteration))
      values = IntegerMatrix(values.rows, values.columns);
  }
  meeting.is_over.happen(engine_);
}

namespace {

/// The rows that a rank sends to another: where they lie in what it reads, and where in what the other writes.
struct SentRows {
  std::int64_t from = 0, to = 0, count = 0;
};
SentRows sent_rows(const GroupedExchange& exchange, std::size_t source, std::size_t destination) {
  const RowRange& range = exchange.rows[source][destination];
  std::int64_t before = 0;  // gathered one after the other
  if (exchange.kind == GroupedKind::cast) {
    for (std::size_t other = 0; other < source; ++other) before += exchange.rows[other][destination].count;
    return {range.first, before, range.count};
  }
  for (std::size_t other = 0; other < destination; ++other) before += exchange.rows[source][other].count;
  return {before, range.first, range.count};
}

Rectangle part_of(Rectangle whole, std::int64_t first, std::int64_t count) {
  whole.first_row += first;
  whole.rows = count;
  return whole;
}

}  // namespace

/// Reads what it sends when it starts; writes, or adds, what it gets once every rank that sends to it has started.
Process NumericalDevice::run_exchange(Activity& activity, const GroupedExchange& exchange) {
  const auto gpus = static_cast<std::size_t>(schedule_.gpus), rank = static_cast<std::size_t>(activity.rank);
  const auto on_rank = [&](const Slice& slice) { return rectangle_of(slice, activity.rank, schedule_.gpus); };
  std::vector<std::pair<Rectangle, Rectangle>> matrices{{on_rank(exchange.input), on_rank(exchange.output)}};
  if (exchange.input_log_sum_exp)
    matrices.emplace_back(on_rank(*exchange.input_log_sum_exp), on_rank(*exchange.output_log_sum_exp));
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  Exchange& meeting = exchanges_[{activity.iteration, activity.id}];
  meeting.sent.resize(gpus * gpus);
  meeting.has_started.resize(gpus);
  for (std::size_t peer = 0; peer < gpus; ++peer) {
    const SentRows out = sent_rows(exchange, rank, peer), in = sent_rows(exchange, peer, rank);
    for (const auto& [input, output] : matrices) {
      if (out.count > 0)
        meeting.sent[rank * gpus + peer].push_back(
            memory_.read(part_of(input, out.from, out.count), activity.iteration));
      if (in.count > 0 && exchange.kind == GroupedKind::cast) memory_.make_undefined(part_of(output, in.to, in.count));
    }
  }
  meeting.has_started[rank].happen(engine_);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  for (std::size_t peer = 0; peer < gpus; ++peer)
    if (sent_rows(exchange, peer, rank).count > 0) co_await Until{meeting.has_started[peer]};
  co_await work(activity);
  for (std::size_t peer = 0; peer < gpus; ++peer) {
    const SentRows in = sent_rows(exchange, peer, rank), out = sent_rows(exchange, rank, peer);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      if (out.count > 0) {  // whoever changed it meanwhile has spoilt it
        IntegerMatrix& sent = meeting.sent[rank * gpus + peer][i];
        if (!is_unchanged(part_of(matrices[i].first, out.from, out.count), sent, activity.iteration))
          sent = IntegerMatrix(sent.rows, sent.columns);
      }
      if (in.count == 0) continue;
      const Rectangle target = part_of(matrices[i].second, in.to, in.count);
      IntegerMatrix received = meeting.sent[peer * gpus + rank][i];
      if (exchange.kind == GroupedKind::reduce) {
        const IntegerMatrix before = memory_.read(target, activity.iteration);
        std::transform(received.values.begin(), received.values.end(), before.values.begin(), received.values.begin(),
                       sum_of);
      }
      memory_.write(target, received);
    }
  }
  activity.finish(engine_);
}

NumericalDevice::Underway NumericalDevice::begin(const Activity& activity, int tile_group) {
  Underway underway{effects(schedule_, *activity.operation, activity.rank, tile_group), {}};
  for (const Effect& effect : underway.effects) {
    std::vector<IntegerMatrix>& inputs = underway.inputs.emplace_back();
    for (const Rectangle& read : effect.reads) inputs.push_back(memory_.read(read, activity.iteration));
  }
  for (const Effect& effect : underway.effects)
    for (const Rectangle& write : effect.writes) memory_.make_undefined(write);
  return underway;
}

void NumericalDevice::finish(Underway& underway, int iteration) {
  for (std::size_t i = 0; i < underway.effects.size(); ++i) {
    const Effect& effect = underway.effects[i];
    std::vector<IntegerMatrix>& inputs = underway.inputs[i];
    for (std::size_t r = 0; r < effect.reads.size(); ++r) {
      const Rectangle& read = effect.reads[r];
      const bool is_own_output = std::any_of(effect.writes.begin(), effect.writes.end(),
                                             [&](const Rectangle& write) { return overlap(read, write); });
      if (!is_own_output && !is_unchanged(read, inputs[r], iteration))
        inputs[r] = IntegerMatrix(read.rows, read.columns);
    }
    const std::vector<IntegerMatrix> outputs = effect.result(inputs);
    for (std::size_t w = 0; w < effect.writes.size(); ++w) memory_.write(effect.writes[w], outputs[w]);
  }
}

bool NumericalDevice::is_unchanged(const Rectangle& where, const IntegerMatrix& was, int iteration) const {
  return memory_.read(where, iteration) == was;
}

}  // namespace weft::sim::meaning
