#include "scenarios/likely_hybrids.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/division.hpp"
#include "models/base/harmonic_number.hpp"
#include "models/cost/collective_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/library_model.hpp"
#include "scenarios/families/flagged_shards.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/one_launch.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios {
namespace {

/// Of what the first tiles hold up that a CTA stores: CTAs drift apart, so that its n-th ones hold up 1 / n of that.
double mean_hold(double waves) {
  const auto stored = static_cast<int>(std::max(1.0, waves));
  return harmonic_number(stored) / stored;
}

class Pipeline {
 public:
  Pipeline(const PairWorkload& pair, int gpus, const ScheduleChoice& choice, const Machine& machine,
           KernelChoices& kernels)
      : pair_(pair),
        gpus_(gpus),
        hybrid_(std::get<Hybrid>(choice.family)),
        max_ctas_(choice.max_ctas),
        machine_(machine),
        kernels_(kernels),
        gemm_first_(!collective_comes_first(pair.op)),
        pieces_(hybrid_.pieces == HybridPieces::shards ? gpus * hybrid_.count : hybrid_.count),
        rows_(rows_of(pair, hybrid_, gpus)) {}

  double time_us() const {
    if (families::is_one_launch(hybrid_)) return one_launch_us();
    if (families::is_flagged_in_shards(hybrid_, pair_.op)) return flagged_us();
    if (families::sums_in_gemm(hybrid_))
      return hybrid_.trigger == HybridTrigger::tile_group ? fused_rotation_us() : rotated_us();
    if (families::stores(hybrid_)) return stored_us();
    const double transfer = transfer_us();
    const std::vector<double> gemms = gemms_us();
    // Of shards the own ones are not sent: they are the first to be multiplied or the last.
    const int own = is_copied() && hybrid_.pieces == HybridPieces::shards ? hybrid_.count : 0;
    double computed_us = 0, moved_us = 0;
    for (int piece = 0; piece < pieces_; ++piece) {
      const double gemm = gemms[static_cast<std::size_t>(piece)];
      if (gemm_first_) {
        computed_us += gemm;
        if (piece < pieces_ - own) moved_us = std::max(computed_us, moved_us) + transfer;
      } else {
        // Started together with a GEMM, a transfer begins no sooner than it.
        if (hybrid_.trigger == HybridTrigger::kernel_start && piece > 0)
          moved_us = std::max(moved_us, computed_us - gemm);
        if (piece >= own) moved_us += transfer;
        computed_us = std::max(computed_us, moved_us) + gemm;
      }
      if (hybrid_.mover == HybridMover::peer_kernel) computed_us = moved_us = std::max(computed_us, moved_us);
    }
    return std::max(computed_us, moved_us) + added_us();
  }

 private:
  bool is_copied() const { return hybrid_.mover != HybridMover::nccl; }
  bool uses_engines() const { return hybrid_.mover == HybridMover::pull || hybrid_.mover == HybridMover::push; }
  bool reduces() const { return families::reduces(pair_.op); }
  bool sends_sums_of_pieces() const {
    return pair_.op == PairOp::gemm_all_reduce && hybrid_.sums == HybridSums::by_piece;
  }
  /// Of the busiest GPU; whole tiles for tile groups.
  static std::int64_t rows_of(const PairWorkload& pair, const Hybrid& hybrid, int gpus) {
    const auto rows = static_cast<std::int64_t>(std::ceil(static_cast<double>(pair.m) * pair.imbalance));
    const bool by_tiles =
        hybrid.trigger == HybridTrigger::tile_group || families::is_one_launch(hybrid) || families::stores(hybrid);
    const std::int64_t unit = by_tiles ? families::unit_of_rows(hybrid, gpus) : 1;
    return divided_up(rows, unit) * unit;
  }
  /// What nccl-tests would call the size of the whole collective.
  double bytes() const {
    const auto columns = static_cast<double>(gemm_first_ ? pair_.n : pair_.k);
    const DataType dtype = gemm_first_ ? DataType::bf16 : pair_.dtype;
    return static_cast<double>(rows_) * columns * static_cast<double>(bytes_of(dtype));
  }

  // --- The GEMM of one piece -----------------------------------------------------------------------------------

  double gemm_us() const {
    MatrixSize size{rows_, pair_.n, pair_.k};
    const double fewer_sms = slowdown_on_fewer_sms();
    if (hybrid_.trigger == HybridTrigger::tile_group) {
      const GemmKernel kernel = families::fastest_tiles(size, choice_of_tiles(size.m / hybrid_.count), machine_);
      return estimated_gemm_us(machine_, size, kernel, pair_.dtype) / pieces_ * fewer_sms;
    }
    if (hybrid_.pieces == HybridPieces::columns)
      (gemm_first_ ? size.n : size.k) /= hybrid_.count;
    else
      size.m /= pieces_;
    const double gap_us = machine_.latencies.join_gap_us;
    return estimated_gemm_us(machine_, size, kernels_.of(size, pair_.dtype), pair_.dtype) * fewer_sms + gap_us;
  }
  /// Of each piece: groups of tiles end with the waves that their last tiles are in.
  std::vector<double> gemms_us() const {
    const double mean_us = gemm_us();
    std::vector<double> all(static_cast<std::size_t>(pieces_), mean_us);
    if (hybrid_.trigger != HybridTrigger::tile_group || !gemm_first_) return all;
    const MatrixSize size{rows_, pair_.n, pair_.k};
    const GemmKernel kernel = families::fastest_tiles(size, choice_of_tiles(size.m / hybrid_.count), machine_);
    const int of_sm = kernel.scheduler == TileScheduler::grid ? ctas_per_sm(machine_, kernel, pair_.dtype) : 1;
    const std::int64_t tiles = tile_count(size, kernel), ctas = of_sm * persistent_ctas(machine_.gpu, kernel);
    const double wave_us = mean_us * pieces_ / static_cast<double>(divided_up(tiles, ctas));
    std::int64_t before = 0;
    for (int piece = 0; piece < pieces_; ++piece) {
      const std::int64_t waves = divided_up(divided_up(tiles * (piece + 1), pieces_), ctas);
      all[static_cast<std::size_t>(piece)] = wave_us * static_cast<double>(waves - std::exchange(before, waves));
    }
    return all;
  }
  double slowdown_on_fewer_sms() const {
    const int sms = machine_.gpu.sms();
    const int left = hybrid_.gemm_sms > 0 ? std::min(hybrid_.gemm_sms, sms) : sms;
    return static_cast<double>(sms) / std::max(1, std::min(left, sms - sms_of_transfers()));
  }
  int sms_of_transfers() const { return is_copied() ? 0 : collective().ctas; }

  // --- The transfers of one piece ------------------------------------------------------------------------------

  CollectiveTiming collective() const {
    const auto piece_bytes = static_cast<Bytes>(bytes() / hybrid_.count);
    return time_collective(machine_, collective_of(pair_.op), gpus_, piece_bytes, max_ctas_);
  }
  double transfer_us() const {
    if (!is_copied()) {
      const CollectiveTiming timing = collective();
      return (timing.latency_us + timing.transfer_us) * (1 + machine_.collective_kernel.beside_gemm) +
             machine_.latencies.fork_gap_us;
    }
    const int parcels = hybrid_.pieces == HybridPieces::shards ? 1 : gpus_ - 1;
    const double meeting_us = gemm_first_ && hybrid_.mover != HybridMover::push ? machine_.latencies.barrier_us : 0;
    const bool goes_everywhere = hybrid_.sums == HybridSums::everywhere;
    const double one_way_us = parcels_us(parcels, bytes() / (goes_everywhere ? 1 : gpus_) / hybrid_.count);
    return meeting_us + (sends_sums_of_pieces() ? 2 : 1) * one_way_us;
  }
  /// Parcels to or from different peers, while all other GPUs do the same.
  double parcels_us(int parcels, double parcel_bytes) const { return parcels_us(parcels, parcel_bytes, links_GBps()); }
  double parcels_us(int parcels, double parcel_bytes, double out_GBps) const {
    const CopyEngines& engines = machine_.copy_engines;
    if (const double kernels_GBps = peer_kernel_GBps(machine_); !uses_engines() && kernels_GBps > 0)
      out_GBps = std::min(out_GBps, kernels_GBps);
    const double through_port_us = parcels * parcel_bytes / bytes_per_us(out_GBps);
    const int at_once =
        hybrid_.lanes == HybridLanes::one ? 1 : std::min(parcels, uses_engines() ? engines.per_gpu : parcels);
    const int rounds = (parcels + at_once - 1) / std::max(1, at_once);
    const double begin_us = uses_engines() ? engines.setup_us + engines.turnaround_us
                                           : machine_.other_kernels.overhead_us + machine_.latencies.kernel_gap_us;
    const double GBps = hybrid_.mover == HybridMover::push ? engines.rate_of_push_GBps() : engines.GBps;
    const double one_us = uses_engines() ? parcel_bytes / bytes_per_us(GBps) : 0;
    return rounds * begin_us + std::max(through_port_us, rounds * one_us);
  }
  /// Out of each GPU, when all send as much to each of the others.
  double links_GBps() const { return busiest_link(machine_.fabric, CollectiveAlgorithm::direct, gpus_).GBps; }

  // --- Accumulators that go round ------------------------------------------------------------------------------

  /// From each GPU to the next, all at once.
  double next_GBps() const {
    std::map<FabricLink, int> passing;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      for (const FabricLink& link : route(machine_.fabric, gpu, (gpu + 1) % gpus_)) ++passing[link];
    double least = 0;
    for (const auto& [link, count] : passing) {
      const double GBps = rate_of(machine_.fabric, link).GBps / count;
      least = least == 0 ? GBps : std::min(least, GBps);
    }
    return least;
  }
  /// A GEMM of a step waits for what the rank before computed in the step before.
  double rotated_us() const {
    const bool waits = hybrid_.mover == HybridMover::push;
    const double meeting_us = waits ? 0 : machine_.latencies.barrier_us, piece_bytes = bytes() / pieces_;
    const double gemm = gemm_us() + (waits ? machine_.latencies.kernel_gap_us : 0);
    const double transfer = meeting_us + parcels_us(1, piece_bytes, next_GBps());
    const double sum = meeting_us + parcels_us(gpus_ - 1, piece_bytes);
    std::vector<double> arrived_us(static_cast<std::size_t>(hybrid_.count), 0);
    double computed_us = 0, moved_us = 0;
    for (int step = 0; step < gpus_; ++step)
      for (double& piece_us : arrived_us) {
        computed_us = std::max(computed_us, piece_us) + gemm;
        if (step + 1 < gpus_)
          piece_us = moved_us = std::max(computed_us, moved_us) + transfer;
        else if (pair_.op == PairOp::gemm_all_reduce)
          moved_us = std::max(computed_us, moved_us) + sum;
      }
    return std::max(computed_us, moved_us) + 2 * machine_.latencies.barrier_us;
  }

  // --- Tiles that the GEMM stores on peers ---------------------------------------------------------------------

  families::TileChoice choice_of_tiles(std::int64_t band_rows) const {
    return {.band_rows = band_rows,
            .dtype = pair_.dtype,
            .scheduler = families::tiles_of(hybrid_, machine_),
            .columns = families::TileColumns::ragged};
  }

  /// They leave while the next ones are computed; those of the last wave, when nothing is left to compute.
  double stored_us() const {
    const bool goes_everywhere = hybrid_.sums == HybridSums::everywhere;
    const int gemms = goes_everywhere ? 1 : pieces_;
    const MatrixSize size{rows_ / gemms, pair_.n, pair_.k};
    const GemmKernel kernel =
        families::fastest_tiles(size, choice_of_tiles(goes_everywhere ? rows_ / pieces_ : size.m), machine_);
    const double stored_share = goes_everywhere ? gpus_ - 1 : 1 - 1.0 / gpus_;
    const double GBps = machine_.gemm.own_store_GBps > 0 ? machine_.gemm.own_store_GBps : links_GBps();
    const double links_us = stored_share * bytes() / bytes_per_us(GBps) + machine_.gemm.own_store_latency_us;
    const auto waves = static_cast<double>(tile_count(size, kernel)) / machine_.gpu.sms();
    const double last_us = goes_everywhere ? links_us / std::max(1.0, waves) : 0;  // a shard's, the own GEMM hides
    const double gemm_us =
        gemms * (estimated_gemm_us(machine_, size, kernel, pair_.dtype) + machine_.latencies.kernel_gap_us);
    if (kernel.scheduler == TileScheduler::grid) return gemm_us + links_us + added_us();  // a CTA stores, and ends
    const double held_us = machine_.gemm.own_store_hold * mean_hold(waves) * std::max(0.0, links_us - last_us);
    return std::max(gemm_us + held_us + last_us, links_us) + added_us();
  }

  /// All but the first block's rows travel while the GEMM goes on; an all-reduce's last block does when it is over.
  double fused_rotation_us() const {
    const MatrixSize size{rows_, pair_.n, pair_.k};
    const GemmKernel kernel = families::fastest_tiles(size, choice_of_tiles(rows_ / pieces_), machine_);
    const bool is_all_reduce = pair_.op == PairOp::gemm_all_reduce;
    const double gemm_us = estimated_gemm_us(machine_, size, kernel, pair_.dtype), piece_bytes = bytes() / pieces_;
    const int sent = hybrid_.count * (gpus_ - 1);
    double links_us = 0, last_us = 0;
    if (families::stores(hybrid_)) {
      const double GBps = machine_.gemm.own_store_GBps > 0 ? machine_.gemm.own_store_GBps : links_GBps();
      links_us = (is_all_reduce ? 2 : 1) * sent * piece_bytes / bytes_per_us(GBps);
      last_us = machine_.gemm.own_store_latency_us;
    } else {
      last_us = parcels_us(gpus_ - 1, piece_bytes);
      links_us = sent * parcels_us(1, piece_bytes, next_GBps()) + (is_all_reduce ? hybrid_.count * last_us : 0);
    }
    const double first_us = gemm_us / pieces_;
    return std::max(gemm_us + (is_all_reduce ? last_us : 0), first_us + links_us) +
           (is_all_reduce ? 2 : 1) * machine_.latencies.barrier_us;
  }

  double one_launch_us() const {
    const GemmKernel kernel = families::tiles_of_launch(pair_, hybrid_, gpus_, rows_, machine_);
    return families::estimated_launch_us(pair_, hybrid_, gpus_, rows_, kernel, machine_) +
           2 * machine_.latencies.signal_us;
  }

  double flagged_us() const {
    const families::BlocksOfRanks blocks{gpus_, hybrid_.count};
    const GemmKernel kernel =
        families::tiles_of_flagged(pair_, blocks, rows_, families::tiles_of(hybrid_, machine_), machine_);
    return families::estimated_flagged_us(pair_, blocks, rows_, kernel, machine_) * slowdown_on_fewer_sms();
  }

  // --- What the serial schedule does not do --------------------------------------------------------------------

  double added_us() const {
    if (!is_copied()) return 0;
    double time_us = 2 * machine_.latencies.barrier_us;
    if (families::sums_pieces(hybrid_)) return time_us + last_sum_us();
    const double share_us = bytes() / gpus_ / bytes_per_us(machine_.gpu.hbm_GBps);
    if (reduces())
      time_us += (gpus_ + 1) * share_us;  // reads all partial sums, writes the sum
    else if (hybrid_.pieces != HybridPieces::shards)
      time_us += 2 * share_us;                                                                   // copies the own rows
    if (pair_.op == PairOp::gemm_all_reduce) time_us += parcels_us(gpus_ - 1, bytes() / gpus_);  // of the sums
    return time_us;
  }

  /// Of the last piece: those before are added up beside the GEMM, or after it, while the last piece travels.
  double last_sum_us() const {
    const double summed_bytes = bytes() / (hybrid_.sums == HybridSums::everywhere ? 1 : gpus_) / hybrid_.count;
    const double meeting_us = sends_sums_of_pieces() ? machine_.latencies.barrier_us : 0;
    const double sum_us = machine_.other_kernels.overhead_us + machine_.latencies.kernel_gap_us +
                          (gpus_ + 1) * summed_bytes / bytes_per_us(machine_.gpu.hbm_GBps);
    const double before_us = hybrid_.late_sums ? (hybrid_.count - 1) * sum_us : 0;
    return meeting_us + sum_us + std::max(0.0, before_us - transfer_us());
  }

  const PairWorkload& pair_;
  const int gpus_;
  const Hybrid hybrid_;
  const int max_ctas_;
  const Machine& machine_;
  KernelChoices& kernels_;
  const bool gemm_first_;
  const int pieces_;
  const std::int64_t rows_;
};

auto kind_of(const Hybrid& hybrid) {
  return std::tuple(hybrid.trigger, hybrid.mover, hybrid.pieces, families::sums_in_gemm(hybrid));
}
auto what_is_seen(const ScheduleChoice& choice) {
  const auto& hybrid = std::get<Hybrid>(choice.family);
  return std::tuple(kind_of(hybrid), hybrid.count, hybrid.lanes, hybrid.gemm_sms, hybrid.sums, hybrid.late_sums,
                    choice.max_ctas);
}

}  // namespace

double estimated_hybrid_us(const PairWorkload& pair, int gpus, const ScheduleChoice& hybrid, const Machine& machine) {
  KernelChoices kernels(machine);
  return Pipeline(pair, gpus, hybrid, machine, kernels).time_us();
}

std::vector<ScheduleChoice> likely_hybrids(const PairWorkload& pair, int gpus, const SearchSpace& space,
                                           const Machine& machine) {
  struct Rated {
    ScheduleChoice choice;
    double time_us;
    int round;
  };
  std::vector<Rated> rated;
  KernelChoices kernels(machine);
  for (const ScheduleChoice& choice : hybrid_choices(pair, gpus, space))
    rated.push_back({choice, Pipeline(pair, gpus, choice, machine, kernels).time_us(), 0});
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.time_us < b.time_us; });
  std::set<decltype(kind_of(Hybrid{}))> kinds;
  std::set<decltype(what_is_seen(ScheduleChoice{}))> seen;
  for (Rated& one : rated) {
    const bool is_new_kind = kinds.insert(kind_of(std::get<Hybrid>(one.choice.family))).second;
    const bool looks_new = seen.insert(what_is_seen(one.choice)).second;
    one.round = is_new_kind ? 0 : looks_new ? 1 : 2;
  }
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.round < b.round; });
  std::vector<ScheduleChoice> choices;
  for (const Rated& one : rated) choices.push_back(one.choice);
  return choices;
}

}  // namespace weft::scenarios
