#include "sim/numerical_device.hpp"

#include <algorithm>

namespace weft::sim {

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
    const auto* gemm = std::get_if<Gemm>(&work);
    for (int group = 0; gemm != nullptr && group < tile_group_count(*gemm); ++group) parts.push_back({id, group});
    if (is_collective(work) || std::holds_alternative<Copy>(work) || std::holds_alternative<MemoryBound>(work) ||
        std::holds_alternative<Attention>(work) || std::holds_alternative<GroupedGemm>(work))
      parts.push_back({id, 0});
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
  const Work& work = activity.operation->work;
  if (const auto* collective = std::get_if<Collective>(&work)) {
    processes_.push_back(run_collective(activity, *collective));
  } else if (std::holds_alternative<AllReduceNorm>(work)) {
    processes_.push_back(run_between_meetings(activity));
  } else if (std::holds_alternative<Gemm>(work)) {
    processes_.push_back(run_gemm(activity));
  } else {
    processes_.push_back(run_alone(activity));
  }
}

Process NumericalDevice::run_alone(Activity& activity) {
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  Underway underway = begin(activity, 0);
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  co_await work(activity);
  finish(underway, activity.iteration);
  activity.end.happen(engine_);
}

Process NumericalDevice::run_gemm(Activity& activity) {
  const Gemm& gemm = std::get<Gemm>(activity.operation->work);
  co_await sleep();
  activity.first_cta_started.happen(engine_);
  for (int group = 0; group < tile_group_count(gemm); ++group)
    processes_.push_back(run_tile_group(activity, gemm, group));
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  for (Occurrence& group_end : activity.tile_groups) co_await Until{group_end};
  co_await sleep();
  activity.end.happen(engine_);
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
  if (++meeting.arrived == schedule_.gpus) processes_.push_back(read_all(meeting, activity, collective));
  co_await sleep();
  activity.all_ctas_started.happen(engine_);
  co_await Until{meeting.is_over};
  co_await work(activity);
  memory_.write(output, collective_result(collective.kind, meeting.inputs, activity.rank));
  activity.end.happen(engine_);
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
  activity.end.happen(engine_);
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

}  // namespace weft::sim
