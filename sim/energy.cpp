#include "sim/energy.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <utility>

#include "models/base/division.hpp"
#include "models/cost/attention_model.hpp"
#include "models/cost/governor.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"

namespace weft::sim {
namespace {

/// Kernels that signal and that wait draw next to nothing, and no other operation runs in between.
bool only_tells(const Work& work) {
  return match(
      work, [](const OneOf<Signal, Wait> auto&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Barrier, Delay> auto&) { return false; });
}

}  // namespace

bool is_steady_load(const Schedule& schedule) {
  int operations = 0;
  bool are_local = true;
  for (const Operation& operation : schedule.operations) {
    if (only_tells(operation.work)) continue;
    const Facts of_work = facts(operation.work);
    if (of_work.role == Role::matrix && of_work.meetings > 0) return false;
    ++operations;
    are_local = are_local && !of_work.crosses_ranks && of_work.role != Role::synchronisation;
  }
  return operations == 1 || (operations > 1 && are_local);
}

/// What an operation needs besides its HBM traffic.
class IterationEnergy::DemandOf {
 public:
  DemandOf(IterationEnergy& energy, const Schedule& schedule, const OperationCost& cost)
      : energy_(energy), power_(energy.machine_.power), schedule_(schedule), cost_(cost) {}

  Demand operator()(const Gemm& gemm) const {
    Demand demand = of_matrix(gemm, gemm.a);
    auto to_peers = stored_on_peers(gemm.c, gemm.replicas);
    for (const RowBlock& block : gemm.earlier) to_peers += stored_on_peers(block.c, block.replicas);
    const auto is_fetched = [](const auto& block) { return block.a_from && is_on_peer(*block.a_from); };
    const auto fetched = std::ranges::count_if(gemm.earlier, is_fetched) + (is_fetched(gemm) ? 1 : 0);
    const Bytes over_links = to_peers * bytes_of(gemm.c, schedule_) + fetched * bytes_of(gemm.a, schedule_);
    demand.fixed_uJ = power_.copy_pJ_per_byte * static_cast<double>(over_links) * 1e-6;
    return demand;
  }
  Demand operator()(const GroupedGemm& gemm) const { return of_matrix(gemm, gemm.a); }
  Demand operator()(const OneOf<Attention, PartialAttention> auto& attention) const {
    const double pJ_per_flop =
        power_.attention_pJ_per_flop > 0
            ? by_head_dim(attention.head_dim, power_.attention_64_pJ_per_flop, power_.attention_pJ_per_flop)
            : power_.tensor_pJ_per_flop;
    const double pJ = pJ_per_flop * computed_flops(energy_.machine_, schedule_, attention) +
                      power_.decode_pJ_per_byte * decoded(attention);
    return {.switching_uJ = pJ * 1e-6, .attention_us = lone_us(attention), .is_on_tensor_cores = true};
  }
  Demand operator()(const OneOf<Collective, AllReduceNorm> auto& work) const {
    const double pJ_per_byte =
        facts(work).runs_on_copy_engine ? power_.copy_pJ_per_byte : power_.collective_pJ_per_byte;
    return {.fixed_uJ = pJ_per_byte * cost_.collective.port_bytes * 1e-6};
  }
  /// Its energy a byte is that of one that leaves and one that enters.
  Demand operator()(const GroupedExchange& exchange) const {
    return {.fixed_uJ = power_.collective_pJ_per_byte * busiest_port(exchange, schedule_).mean() * 1e-6};
  }
  Demand operator()(const Copy& copy) const {
    if (copy.source.place == copy.destination.place) return {};
    return {.fixed_uJ = power_.copy_pJ_per_byte * static_cast<double>(bytes_of(copy.source, schedule_)) * 1e-6};
  }
  Demand operator()(const OneOf<MemoryBound, Signal, Wait, Barrier, Delay> auto&) const { return {}; }

 private:
  static bool is_on_peer(const Slice& slice) { return slice.place != 0; }
  static std::ptrdiff_t stored_on_peers(const Slice& c, const std::vector<Slice>& replicas) {
    return std::ranges::count_if(replicas, is_on_peer) + is_on_peer(c);
  }
  double decoded(const PartialAttention&) const { return 0; }
  double decoded(const Attention& attention) const { return decoded_bytes(energy_.machine_, schedule_, attention); }
  double lone_us(const PartialAttention& attention) const {
    return longest_staying_us(energy_.machine_, schedule_, attention);
  }
  double lone_us(const Attention& attention) const {
    const Machine& machine = energy_.machine_;
    const std::int64_t tokens = row_count(attention.output.rows, schedule_.gpus);
    const bool is_own = runs_own_attention(machine, schedule_, attention);
    if (attention.max_sms > 0 && !is_own)
      return staying_tiles(machine, schedule_, attention, tokens).on_ctas_us(machine.gpu.sms());
    const AttentionTiming timing = time_scheduled_attention(machine, schedule_, attention, 1);
    const auto waves = static_cast<double>(divided_up(timing.ctas, machine.gpu.sms()));
    return timing.setup_us + timing.start_us + waves * timing.cta_us + timing.tail_us + timing.once_us;
  }
  static Flops flops_on_tensor_cores(const MatrixSize& size, const GemmKernel&) { return size.flops(); }
  static Flops flops_on_tensor_cores(const GroupedSize& size, const GemmKernel& kernel) {
    return computed_flops(size, kernel);
  }
  /// What lies outside of a matrix is read as zeros, which draw next to nothing; fp8 takes as much less as it is
  /// faster.
  template <class AnyGemm>
  Demand of_matrix(const AnyGemm& gemm, const Slice& operand) const {
    const auto size = size_of(gemm, schedule_.gpus);
    const DataType dtype = schedule_.buffers[operand.buffer].dtype;
    const int busy = counted(size, dtype);
    const BusyGemm& one = energy_.gemms_[static_cast<std::size_t>(busy)];
    const double bf16_flops = flops_on_tensor_cores(size, cost_.kernel) / energy_.machine_.gpu.speedup(dtype);
    return {.switching_uJ = one.energy *
                            (power_.tensor_pJ_per_flop * bf16_flops +
                             power_.l2_pJ_per_byte * one.tile.l2_bytes() * static_cast<double>(one.tiles)) *
                            1e-6,
            .busy = busy,
            .is_on_tensor_cores = true};
  }

  /// The place of this GEMM among those that differ.
  template <class Size>
  int counted(const Size& size, DataType dtype) const {
    const GemmKernel& kernel = cost_.kernel;
    FrameVector<BusyGemm>& gemms = energy_.gemms_;
    const auto equal = std::find_if(gemms.begin(), gemms.end(), [&](const BusyGemm& one) {
      const auto* of_kind = std::get_if<Size>(&one.size);
      return of_kind != nullptr && *of_kind == size && one.dtype == dtype && one.b_share == cost_.factors.b_share &&
             one.kernel == kernel;
    });
    const auto place = static_cast<int>(equal - gemms.begin());
    if (equal != gemms.end()) {
      ++equal->count;
    } else {
      const Machine& machine = energy_.machine_;
      const TileOfWave tile = tiles_of(machine, size, kernel, dtype, cost_.factors);
      const std::int64_t tiles = tile_count(size, kernel);
      const double waves = static_cast<double>(tiles) / tile.wave().ctas;
      const double whole_waves = kernel.scheduler == TileScheduler::stream_k ? waves : std::ceil(waves);
      gemms.push_back({size, kernel, dtype, cost_.factors.b_share, tiles, whole_waves + machine.gemm.tile_spread, 1,
                       kernel_energy(machine, kernel, dtype) * tile.energy_factor(), tile});
    }
    return place;
  }

  IterationEnergy& energy_;
  const Power& power_;
  const Schedule& schedule_;
  const OperationCost& cost_;
};

IterationEnergy::IterationEnergy(const Schedule& schedule, const Machine& machine,
                                 const std::vector<OperationCost>& costs)
    : machine_(machine), mixed_(is_steady_load(schedule) ? 1 : machine.power.mixed_energy) {
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    Demand demand = match(schedule.operations[id].work, DemandOf(*this, schedule, costs[id]));
    demand.fixed_uJ += machine.power.hbm_pJ_per_byte * costs[id].traffic.hbm_bytes * 1e-6;
    fixed_uJ_ += demand.fixed_uJ;
    switching_uJ_ += demand.switching_uJ;
    attention_us_ += demand.attention_us;
    demands_.push_back(demand);
  }
}

bool IterationEnergy::uses_tensor_cores() const { return std::ranges::any_of(demands_, &Demand::is_on_tensor_cores); }

/// At the voltage of the maximum clock; 1 W us is 1 uJ.
EnergyAtClock IterationEnergy::of_one(const BusyGemm& gemm, double clock_share) const {
  const TileTiming timing = gemm.tile.at(clock_share);
  return {.total_uJ = gemm.energy * machine_.power.gemm_W * clock_share * busy_us(machine_.gpu, gemm.tiles, timing),
          .lone_us = gemm.waves * timing.tile_us + timing.once_us};
}

EnergyAtClock IterationEnergy::at(double clock_share) const {
  EnergyAtClock energy{.lone_us = attention_us_ / clock_share};
  double switching_uJ = switching_uJ_;
  for (const BusyGemm& gemm : gemms_) {
    const EnergyAtClock one = of_one(gemm, clock_share);
    energy.lone_us += gemm.count * one.lone_us;
    switching_uJ += gemm.count * one.total_uJ;
  }
  energy.total_uJ = mixed_ * (fixed_uJ_ + switching_energy_factor(machine_.power, clock_share) * switching_uJ);
  return energy;
}

std::vector<EnergyAtClock> IterationEnergy::of_each(double clock_share) const {
  boost::container::small_vector<EnergyAtClock, 8> gemms;
  for (const BusyGemm& gemm : gemms_) gemms.push_back(of_one(gemm, clock_share));
  std::vector<EnergyAtClock> operations;
  operations.reserve(demands_.size());
  for (const Demand& demand : demands_)
    operations.push_back(
        of_one(demand, demand.busy < 0 ? EnergyAtClock{} : gemms[static_cast<std::size_t>(demand.busy)], clock_share));
  return operations;
}

std::vector<EnergyAtClock> IterationEnergy::of_each(const std::vector<double>& clock_shares) const {
  std::vector<EnergyAtClock> operations;
  operations.reserve(demands_.size());
  for (std::size_t id = 0; id < demands_.size(); ++id) {
    const Demand& demand = demands_[id];
    const double share = clock_shares[id];
    operations.push_back(
        of_one(demand, demand.busy < 0 ? EnergyAtClock{} : of_one(gemms_[static_cast<std::size_t>(demand.busy)], share),
               share));
  }
  return operations;
}

double IterationEnergy::total_uJ(const std::vector<double>& clock_shares) const {
  double sum_uJ = 0;
  for (const EnergyAtClock& one : of_each(clock_shares)) sum_uJ += one.total_uJ;
  return sum_uJ;
}

EnergyAtClock IterationEnergy::of_one(const Demand& demand, const EnergyAtClock& gemm, double clock_share) const {
  const double factor = switching_energy_factor(machine_.power, clock_share);
  return {.total_uJ = mixed_ * (demand.fixed_uJ + factor * (demand.switching_uJ + gemm.total_uJ)),
          .lone_us = demand.attention_us / clock_share + gemm.lone_us};
}

PowerChanges::PowerChanges(const std::vector<PowerSpan>& spans, double period_us) {
  changes_.reserve(2 * spans.size() + 1);
  for (const PowerSpan& span : spans) {
    if (span.end_us <= span.start_us) continue;
    const double power_W = span.energy_uJ / (span.end_us - span.start_us);
    changes_.push_back({span.start_us, power_W, span.on_tensor_cores ? 1 : 0});
    changes_.push_back({span.end_us, -power_W, span.on_tensor_cores ? -1 : 0});
  }
  changes_.push_back({period_us, 0, 0});
  std::ranges::sort(changes_, {}, [](const Change& one) { return std::pair(one.at_us, one.power_W); });
}

std::vector<PowerStep> PowerChanges::steps(double idle_W) const {
  std::vector<PowerStep> steps;
  steps.reserve(changes_.size() + 1);
  steps.push_back({0, idle_W, 0});
  for (const auto& [at_us, change_W, change] : changes_)
    steps.push_back({at_us, std::max(idle_W, steps.back().power_W + change_W), steps.back().on_tensor_cores + change});
  return steps;
}

double decay(double x) {
  constexpr int squarings = 10;
  double value = 1 / (1 + x / (1 << squarings));
  for (int i = 0; i < squarings; ++i) value *= value;
  return value;
}

double peak_W(const PowerChanges& changes, double idle_W) {
  const std::vector<PowerStep> steps = changes.steps(idle_W);
  double sum = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    sum += (steps[i].from_us - steps[i - 1].from_us) * eighth_power(steps[i - 1].power_W);
  return eighth_root(sum / steps.back().from_us);
}

namespace {

/// Power that is remembered: its average at each step's beginning, of periods that follow each other. Empty of a period
/// of no length.
std::vector<double> averages_of(const std::vector<PowerStep>& steps, double memory_us) {
  std::vector<double> averages(steps.size(), 0.0), kept(steps.size(), 1.0);  // kept: of the average before, in a step
  double left = 1;                                                           // of what it was at the beginning
  for (std::size_t i = 1; i < steps.size(); ++i) {
    kept[i] = decay((steps[i].from_us - steps[i - 1].from_us) / memory_us);
    left *= kept[i];
  }
  if (left == 1) return {};
  const auto go_on_from_first = [&] {
    for (std::size_t i = 1; i < steps.size(); ++i)
      averages[i] = std::lerp(steps[i - 1].power_W, averages[i - 1], kept[i]);
  };
  go_on_from_first();
  // That with which a period begins is what it ends with.
  averages[0] = averages.back() / (1 - left);
  go_on_from_first();
  return averages;
}

}  // namespace

/// The average is highest where power changes.
double highest_over_mean(const PowerChanges& changes, double idle_W, double memory_us) {
  const std::vector<PowerStep> steps = changes.steps(idle_W);
  const std::vector<double> averages = averages_of(steps, memory_us);
  double energy_uJ = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    energy_uJ += (steps[i].from_us - steps[i - 1].from_us) * steps[i - 1].power_W;
  if (averages.empty() || energy_uJ == 0) return 1;
  return *std::ranges::max_element(averages) / (energy_uJ / steps.back().from_us);
}

std::vector<double> averages_at_ends(const std::vector<PowerSpan>& spans, const PowerChanges& changes, double idle_W,
                                     double memory_us) {
  const std::vector<PowerStep> steps = changes.steps(idle_W);
  const std::vector<double> averages = averages_of(steps, memory_us);
  std::vector<double> at_ends(spans.size(), idle_W);
  if (averages.empty()) return at_ends;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto next = std::ranges::upper_bound(steps, spans[i].end_us, {}, &PowerStep::from_us);
    at_ends[i] = averages[static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - steps.begin(), 1) - 1)];
  }
  return at_ends;
}

}  // namespace weft::sim
