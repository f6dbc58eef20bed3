#include "scenarios/search.hpp"

#include <algorithm>
#include <utility>

#include "models/cost/all_reduce_norm_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/parts.hpp"

namespace weft::scenarios {
namespace {

/// The library's default, and the limits of NCCL's CTAs where they change anything. The pairs of a layer are asked
/// about by themselves, each with its limits.
std::vector<int> ctas_worth_trying(const Family& family, const Workload& workload, const SearchSpace& space) {
  std::vector<int> max_ctas{0};
  const bool is_pairs_of_layer =
      std::holds_alternative<LayerWorkload>(workload) && rules_of(family).add_pair != nullptr;
  if (!is_pairs_of_layer && rules_of(family).runs_nccl(family, workload))
    max_ctas.insert(max_ctas.end(), space.max_ctas.begin(), space.max_ctas.end());
  return max_ctas;
}

/// Attention's exchanges are grouped sends and receives.
bool has_collectives(const Workload& workload) {
  return std::visit(Overloaded{[](const OneOf<CollectiveWorkload, PairWorkload, ConcurrentPair, LayerWorkload> auto&) {
                                 return true;
                               },
                               [](const OneOf<GemmWorkload, CopyWorkload, AttentionWorkload, AttentionKernelWorkload,
                                              RowKernelWorkload> auto&) { return false; }},
                    workload);
}

}  // namespace

bool SearchSpace::has(std::string_view family) const {
  return !families || std::find(families->begin(), families->end(), family) != families->end();
}

std::vector<Hybrid> sensible_hybrids(const PairWorkload& pair, int gpus, const SearchSpace& space) {
  std::vector<int> gemm_sms{0};
  gemm_sms.insert(gemm_sms.end(), space.gemm_sms.begin(), space.gemm_sms.end());
  std::vector<Hybrid> sensible;
  // Beside the library's GEMMs, whose CTAs leave no registers, sums wait for SMs and hold up tiles: recorded on two
  // H200s and H100s, a GEMM of 24 to 50 us takes 3 to 17 us longer beside one, which is more than the sum takes alone.
  // Our own GEMM, which signals tile groups, leaves room for them.
  // Where a machine runs one launch, no chunks are sent or waited for by groups of tiles: of 271 such hybrids that 21
  // contests ran because they were predicted to be among the best five, none was the best, six came within 3 % of it,
  // and on average they took 16 % longer (calibration/peers, seeds 97 to 119). Accumulators that go round are not sent
  // by them on any machine: between two barriers that takes 2 to 4 % longer than in one launch (64 pairs), and where
  // copy engines bring them 4 to 9 % longer than predicted.
  const auto is_foreseen = [&](const Hybrid& hybrid) {
    if (families::is_one_launch(hybrid))
      return space.own_launches && hybrid.count <= (families::sums_in_gemm(hybrid) ? 2 : 1);
    const bool by_tiles = hybrid.trigger == HybridTrigger::tile_group, in_gemm = families::sums_in_gemm(hybrid);
    if (by_tiles && (in_gemm || (space.own_launches && hybrid.pieces == HybridPieces::chunks))) return false;
    const bool is_signaling = families::is_flagged_in_shards(hybrid, pair.op) && pair.op == PairOp::all_gather_gemm &&
                              hybrid.count == 1 && hybrid.gemm_sms == 0;  // the same program
    if (is_signaling && space.has("signaling")) return false;
    if (hybrid.pieces == HybridPieces::shards && hybrid.count > 2 && !by_tiles && !in_gemm) return false;
    return !families::sums_pieces(hybrid) || hybrid.late_sums || hybrid.mover == HybridMover::store || by_tiles;
  };
  const auto counts_of = [](HybridTrigger trigger, HybridPieces pieces) {
    if (pieces == HybridPieces::shards) return std::vector{1, 2, 4};
    return trigger == HybridTrigger::tile_group ? std::vector{2, 4, 8} : std::vector{2, 4};
  };
  std::vector lanes_to_peers{HybridLanes::one};
  if (gpus > 2) lanes_to_peers.push_back(HybridLanes::each_peer);
  const auto add = [&](const Hybrid& hybrid) {
    if (is_foreseen(hybrid) && !families::why_not(hybrid, pair, gpus)) sensible.push_back(hybrid);
  };
  for (const auto& [trigger, trigger_name] : NamesOf<HybridTrigger>::names)
    for (const auto& [mover, mover_name] : NamesOf<HybridMover>::names)
      for (const auto& [pieces, pieces_name] : NamesOf<HybridPieces>::names)
        for (const int count : counts_of(trigger, pieces))
          for (const HybridLanes lanes : lanes_to_peers)
            for (const bool ahead : {false, true})
              for (const bool urgent : {false, true})
                for (const int sms : gemm_sms)
                  for (const bool barrier : {false, true})
                    for (const auto& [sums, sums_name] : NamesOf<HybridSums>::names)
                      for (const bool late : {false, true})
                        add({trigger, mover, pieces, count, lanes, ahead, urgent, sms, barrier, sums, late});
  return sensible;
}

std::vector<ScheduleChoice> hybrid_choices(const PairWorkload& pair, int gpus, const SearchSpace& space) {
  std::vector<ScheduleChoice> choices;
  for (const Hybrid& hybrid : sensible_hybrids(pair, gpus, space))
    for (const int max_ctas : ctas_worth_trying(hybrid, pair, space))
      choices.push_back({hybrid, max_ctas, space.launch});
  return choices;
}

std::vector<int> fused_norm_ctas(const Machine& machine) {
  if (!has_all_reduce_norm(machine)) return {};
  return {4, 8, 16};
}

namespace {

/// Over peer memory: on H100s eight CTAs moved 12 to 24 % less beside GEMMs than predicted, where 1 % was gained by
/// them at best. In the switch eight move all that sixteen do on eight H100s (TokenWeave, arXiv 2505.11329, figure 7).
std::vector<int> kernel_ctas(const Machine& machine, Collectives by) {
  if (by == Collectives::two_shot && has_peer_kernels(machine)) return {16, 24};
  if (by == Collectives::multimem && has_switch_kernels(machine)) return {8, 16};
  return {};
}

/// The switch adds up and spreads, and has no all-to-all.
bool can_do(Collectives by, const std::optional<Parts>& parts) {
  return by != Collectives::multimem || !parts || parts->collective.kind != CollectiveKind::all_to_all;
}

/// Of NCCL, on memory that all ranks have registered; none for the others.
std::optional<Transport> window_transport(Collectives by) {
  switch (by) {
    case Collectives::nccl_symmetric:
      return Transport::nccl_symmetric;
    case Collectives::nccl_copy_engine:
      return Transport::nccl_copy_engine;
    case Collectives::nccl:
    case Collectives::nccl_nvls:
    case Collectives::one_shot:
    case Collectives::two_shot:
    case Collectives::multimem:
    case Collectives::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::vector<WindowCollective> window_collectives(const Machine& machine, int gpus,
                                                 const std::vector<Collectives>& ways) {
  std::vector<WindowCollective> found;
  for (const Collectives by : ways)
    for (const CollectiveCurve& curve : machine.symmetric_collectives)
      if (curve.gpus == gpus && curve.max_ctas == 0 && curve.transport == window_transport(by))
        found.push_back({by, curve.kind});
  return found;
}

std::vector<KernelCollective> kernel_collectives(const Machine& machine, const std::vector<Collectives>& ways) {
  std::vector<KernelCollective> found;
  for (const Collectives by : ways)
    for (const int ctas : kernel_ctas(machine, by)) found.push_back({by, ctas});
  return found;
}

std::vector<Case> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
  std::vector<Case> cases;
  const auto add_choice = [&](const ScheduleChoice& choice) {
    cases.push_back({.id = describe(choice), .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}});
  };
  const auto add = [&](const Family& family, int max_ctas) { add_choice({family, max_ctas, space.launch}); };
  const std::optional<Parts> parts = parts_of(workload);
  const auto add_kernels = [&](const Family& family) {
    if (!has_collectives(workload) || !rules_of(family).runs_nccl(family, workload)) return;
    for (const auto& [by, ctas] : space.kernels)
      if (can_do(by, parts))
        add_choice({.family = family, .max_ctas = ctas, .launch = space.launch, .collectives = by});
  };
  const auto* pair = std::get_if<PairWorkload>(&workload);
  const auto exchanges_own_rows = [&](const Family& family) {  // no kernel for windows does; hybrids give all as many
    return pair != nullptr && pair->imbalance > 1 && !std::holds_alternative<Hybrid>(family);
  };
  const auto add_windows = [&](const Family& family) {
    if (!parts || exchanges_own_rows(family) || !rules_of(family).runs_nccl(family, workload)) return;
    for (const auto& [by, kind] : space.windows)
      if (kind == parts->collective.kind) add_choice({.family = family, .launch = space.launch, .collectives = by});
  };
  add(Serial{}, 0);
  add_kernels(Serial{});
  add_windows(Serial{});
  for (const FamilyRules* rules : all_families()) {
    if (rules->candidates == nullptr || !space.has(rules->name)) continue;
    for (const Family& family : rules->candidates(workload, gpus, space)) {
      for (const int max_ctas : ctas_worth_trying(family, workload, space)) add(family, max_ctas);
      add_kernels(family);
      add_windows(family);
    }
  }
  return cases;
}

double promised_gain(const Odds& odds, Rule rule) { return rule == Rule::careful ? odds.worst_gain : odds.gain; }

Odds certain_odds(const Candidate& candidate, double) {
  const double gain = 1 - 1 / candidate.speedup;
  return {.faster = gain > 0 ? 1.0 : 0.0, .gain = gain, .worst_gain = gain};
}

namespace {

void mark(std::vector<Candidate>& all, bool is_assumed_advised) {
  for (Candidate& one : all)
    one.why_not = one.estimate.is_out_of_reach                     ? WhyNot::needs_peer_access
                  : one.estimate.is_assumed && !is_assumed_advised ? WhyNot::assumed
                                                                   : WhyNot::nothing;
}

/// Who overlaps has to promise more than serial with faster collectives does, by more than this share of serial's time.
constexpr double worth_overlapping = 0.005;

std::size_t most_promising(const Ranking& ranking, Rule rule) {
  const std::vector<Candidate>& all = ranking.fastest_first;
  const auto promise = [&](std::size_t i) { return promised_gain(all[i].odds, rule); };
  const auto best_of = [&](const auto& is_asked) {
    std::size_t best = ranking.serial;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_asked(all[i]) && all[i].may_be_advised() && promise(i) > promise(best)) best = i;
    return best;
  };
  const std::size_t best = best_of([](const Candidate&) { return true; });
  const std::size_t best_serial =
      best_of([](const Candidate& one) { return std::holds_alternative<Serial>(one.request.schedule.family); });
  const bool is_as_good = promise(best) <= promise(best_serial) + worth_overlapping;
  return best_serial != ranking.serial && is_as_good ? best_serial : best;
}

}  // namespace

Ranking rank(const std::vector<Case>& cases, const std::function<Estimate(const Case&)>& estimate, const Judge& judge,
             Rule rule) {
  Ranking ranking;
  for (const Case& request : cases) ranking.fastest_first.push_back({request, estimate(request), 1});
  const double serial_us = ranking.fastest_first.front().estimate.time_us;
  for (Candidate& candidate : ranking.fastest_first) {
    candidate.speedup = serial_us / candidate.estimate.time_us;
    if (&candidate != ranking.fastest_first.data()) candidate.odds = judge(candidate, serial_us);
  }

  const auto is_before = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.estimate.is_out_of_reach, a.estimate.time_us) <
           std::pair(b.estimate.is_out_of_reach, b.estimate.time_us);
  };
  // Serial was listed first: equally fast ones stay behind it, and slower ones do not move ahead of it.
  ranking.serial = static_cast<std::size_t>(
      std::count_if(ranking.fastest_first.begin(), ranking.fastest_first.end(),
                    [&](const Candidate& other) { return is_before(other, ranking.fastest_first.front()); }));
  std::stable_sort(ranking.fastest_first.begin(), ranking.fastest_first.end(), is_before);
  const bool all_are_assumed =
      std::ranges::all_of(ranking.fastest_first, [](const Candidate& one) { return one.estimate.is_assumed; });
  mark(ranking.fastest_first, all_are_assumed);
  ranking.advised = most_promising(ranking, rule);
  if (!ranking.overlap_pays() && ranking.reference().estimate.is_assumed) {
    mark(ranking.fastest_first, true);
    ranking.advised = most_promising(ranking, rule);
  }
  return ranking;
}

std::optional<std::int64_t> crossover(std::vector<SizeVerdict> verdicts) {
  std::sort(verdicts.begin(), verdicts.end(),
            [](const SizeVerdict& a, const SizeVerdict& b) { return a.size > b.size; });
  std::optional<std::int64_t> smallest;
  for (const SizeVerdict& verdict : verdicts) {
    if (!verdict.pays) break;
    smallest = verdict.size;
  }
  return smallest;
}

}  // namespace weft::scenarios
