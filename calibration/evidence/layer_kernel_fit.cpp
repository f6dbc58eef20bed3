#include "calibration/evidence/layer_kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>

#include "calibration/evidence/timed_case_fit.hpp"
#include "models/base/statistics.hpp"
#include "models/cost/attention_model.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/families/build.hpp"
#include "sim/energy.hpp"
#include "sim/operation_cost.hpp"

namespace weft::calibration::evidence {
namespace {

using fitting::FittedNumber, fitting::Number;
using scenarios::AttentionKernelWorkload, scenarios::RowKernel, scenarios::RowKernelWorkload;
using Loads = std::vector<Load>;

constexpr const char *heads_of_64 = "own_attention.heads_of_64", *heads_of_128 = "own_attention.heads_of_128",
                     *own_attention = "own_attention";
constexpr Number of_long_heads[] = {{heads_of_128, "efficiency", 0.05, 1}, {heads_of_128, "start", 0, 20}};
constexpr Number of_short_heads[] = {{heads_of_64, "efficiency", 0.05, 1}, {heads_of_64, "start", 0, 20}};
constexpr Number of_any_attention[] = {
    {heads_of_128, "efficiency", 0.05, 1}, {heads_of_128, "lone_efficiency", 0.05, 1},
    {heads_of_128, "start", 0, 20},        {heads_of_128, "lone_start", 0, 20},
    {heads_of_64, "efficiency", 0.05, 1},  {heads_of_64, "lone_efficiency", 0.05, 1},
    {heads_of_64, "start", 0, 20},         {heads_of_64, "lone_start", 0, 20},
    {own_attention, "once", 0, 20},        {own_attention, "full_start", 0, 20},
    {own_attention, "cold_keys", 0, 20},   {own_attention, "merge", 0, 20},
    {own_attention, "merged_split", 0, 5}, {own_attention, "merge_bandwidth", 100, 1e5}};
constexpr const char *up_to_8 = "own_attention.decode.up_to_8", *up_to_16 = "own_attention.decode.up_to_16",
                     *decode = "own_attention.decode";
constexpr Number of_decoding[] = {
    {up_to_8, "start", 0, 20}, {up_to_8, "item", 0, 20},       {up_to_8, "merge", 0, 20}, {up_to_16, "start", 0, 20},
    {up_to_16, "item", 0, 20}, {up_to_16, "merge", 0, 20},     {decode, "tile_64", 0, 5}, {decode, "tile_128", 0, 5},
    {decode, "group", 0, 20},  {decode, "hbm_share", 0.5, 1.5}};
constexpr Number of_few_decodings[] = {{up_to_8, "start", 0, 20}, {decode, "hbm_share", 0.5, 1.5}};
constexpr Number of_streaming_rows[] = {{"own_rows", "hbm_share", 0.1, 1}};
constexpr Number of_any_rows[] = {{"own_rows", "activation_sm_bandwidth", 1, 1000},
                                  {"own_rows", "norm_sm_bandwidth", 1, 1000},
                                  {"own_rows", "hbm_share", 0.1, 1},
                                  {"own_rows", "start", 0, 20},
                                  {"own_rows", "norm_start", 0, 20},
                                  {"own_rows", "norm_columns", 0, 5}};
constexpr Number of_tiles[] = {{"reordering", "norm_tiles", 0, 1}},
                 of_sub_tiles[] = {{"reordering", "norm_sub_tiles", 0, 1}},
                 of_rows_of_tiles[] = {{"reordering", "norm_rows", 0, 1}};

constexpr std::size_t enough_of_any = 300;      ///< attentions, or norms and activations, to tell all of their numbers
constexpr std::size_t enough_of_decoding = 60;  ///< to tell all numbers of our kernel of few queries
constexpr std::int64_t longest_short_head = 64;
constexpr double long_us = 30;  ///< whose power is that of the kernel and not of what lies between

bool is_attention(const Load& load) { return std::holds_alternative<AttentionKernelWorkload>(load.request.workload); }
/// Whose tiles CTAs take one by one; one thread merges their results, where there are several: those of many splits say
/// nothing of what a split takes.
bool is_attention_of_few_splits(const Load& load, const Machine& machine) {
  if (!is_attention(load)) return false;
  const Schedule schedule = scenarios::families::build(load.request, machine);
  return !decodes(machine, schedule) && !merges_many_splits(machine, schedule);
}
bool is_decoding(const Load& load, const Machine& machine) {
  return is_attention(load) && decodes(machine, scenarios::families::build(load.request, machine));
}
/// Of prefills: decode is as fast as its cache comes from memory. Null for all others.
const AttentionKernelWorkload* attention_of(const Load& load) {
  const auto* attention = std::get_if<AttentionKernelWorkload>(&load.request.workload);
  return attention != nullptr && attention->prefix == 0 ? attention : nullptr;
}
bool has_short_heads(const Load& load) {
  const auto* attention = attention_of(load);
  return attention != nullptr && attention->head_dim <= longest_short_head;
}
bool has_long_heads(const Load& load) { return attention_of(load) != nullptr && !has_short_heads(load); }

/// Norms, SwiGLUs and rotary embeddings whose rows lie as they are written.
bool is_of_plain_rows(const Load& load) {
  const auto* rows = std::get_if<RowKernelWorkload>(&load.request.workload);
  return rows != nullptr && rows->layout == LayoutKind::row_major && rows->kernel != RowKernel::all_reduce_norm;
}

/// Of matrices that do not fit the L2: what it adds, the residual, and the result.
bool is_streaming_norm(const Load& load, LayoutKind layout, const Machine& machine) {
  const auto* rows = std::get_if<RowKernelWorkload>(&load.request.workload);
  if (rows == nullptr || rows->kernel != RowKernel::add_rms_norm || rows->layout != layout) return false;
  return 3 * rows->m * rows->n * bytes_of(DataType::bf16) > machine.gpu.l2_bytes;
}

Loads those_of(const Loads& loads, const std::function<bool(const Load&)>& is_one) {
  Loads some;
  std::ranges::copy_if(loads, std::back_inserter(some), is_one);
  return some;
}

/// What the loads leave as it is, where they are too few, is not among them.
std::vector<FittedNumber> fit_times(Machine& machine, std::span<const Number> numbers, const Loads& loads) {
  if (loads.size() < fewest_loads) return {};
  std::vector<TimedCase> cases;
  for (const Load& load : loads) cases.push_back(timed(load, machine));
  return fit_to_times(machine, numbers, cases);
}

/// Energy is linear in it; the machine has it afterwards.
std::vector<FittedNumber> fit_energy(Machine& machine, const char* key, const Loads& loads) {
  Machine trial = machine;
  std::vector<double> found;
  for (const Load& load : loads) {
    if (load.power_W <= 0 || load.time_us < long_us) continue;
    const Schedule schedule = scenarios::families::build(load.request, trial);
    const auto with_uJ = [&](double pJ_per_flop) {
      number_of(trial, "power", key) = pJ_per_flop;
      return sim::IterationEnergy(schedule, trial, sim::operation_costs(schedule, trial)).total_uJ(load.clock_share);
    };
    const double one_uJ = with_uJ(1), of_flops_uJ = with_uJ(2) - one_uJ;
    const double iteration_us = load.time_us * schedule.repeats_per_iteration;
    found.push_back(1 + ((load.power_W - machine.power.idle_W) * iteration_us - one_uJ) / of_flops_uJ);
  }
  if (found.size() < fewest_loads) return {};
  const double median = number_of(machine, "power", key) = quantile(found, 0.5);
  const double spread = 1.96 * (quantile(found, 0.84) - quantile(found, 0.16)) / 2;
  return {{"power", key, median, spread / std::sqrt(static_cast<double>(found.size())), false}};
}

/// `long_heads` and `short_heads` have no cache.
std::vector<FittedNumber> fit_attention_times(Machine& machine, const Loads& loads, const Loads& long_heads,
                                              const Loads& short_heads) {
  const Loads any = those_of(loads, [&](const Load& load) { return is_attention_of_few_splits(load, machine); });
  if (any.size() >= enough_of_any) return fit_times(machine, of_any_attention, any);
  std::vector<FittedNumber> found = fit_times(machine, of_long_heads, long_heads);
  std::ranges::copy(fit_times(machine, of_short_heads, short_heads), std::back_inserter(found));
  return found;
}

std::vector<FittedNumber> fit_decode_times(Machine& machine, const Loads& decodings) {
  const bool are_enough = decodings.size() >= enough_of_decoding;
  return fit_times(machine, are_enough ? std::span<const Number>(of_decoding) : of_few_decodings, decodings);
}

std::vector<FittedNumber> fit_row_times(Machine& machine, const Loads& loads, const Loads& streaming_norms) {
  const Loads any = those_of(loads, is_of_plain_rows);
  return any.size() >= enough_of_any ? fit_times(machine, of_any_rows, any)
                                     : fit_times(machine, of_streaming_rows, streaming_norms);
}

}  // namespace

std::vector<FittedNumber> fit_layer_kernels(const Machine& given, const Loads& loads) {
  Machine machine = given;
  std::vector<FittedNumber> all;
  const auto add = [&](const std::vector<FittedNumber>& found) { all.insert(all.end(), found.begin(), found.end()); };
  const auto streaming_norms = [&](LayoutKind layout) {
    return those_of(loads, [&](const Load& load) { return is_streaming_norm(load, layout, machine); });
  };
  const Loads long_heads = those_of(loads, has_long_heads), short_heads = those_of(loads, has_short_heads);
  const Loads decodings = those_of(loads, [&](const Load& load) { return is_decoding(load, machine); });
  if (machine.own_attention) add(fit_attention_times(machine, loads, long_heads, short_heads));
  add(fit_decode_times(machine, decodings));
  add(fit_energy(machine, "attention_energy", long_heads));
  add(fit_energy(machine, "attention_energy_64", short_heads));
  add(fit_energy(machine, "decode_energy", decodings));
  if (machine.own_rows) add(fit_row_times(machine, loads, streaming_norms(LayoutKind::row_major)));
  if (!machine.reordering) return all;
  add(fit_times(machine, of_tiles, streaming_norms(LayoutKind::tile_ordered)));
  add(fit_times(machine, of_sub_tiles, streaming_norms(LayoutKind::sub_tile_ordered)));
  add(fit_times(machine, of_rows_of_tiles, streaming_norms(LayoutKind::per_destination)));
  return all;
}

}  // namespace weft::calibration::evidence
