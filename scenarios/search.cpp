#include "scenarios/search.hpp"

#include <algorithm>

#include "models/base/input_error.hpp"
#include "models/cost/all_reduce_norm_model.hpp"
#include "scenarios/families/attention_shards.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios {
namespace {

std::vector<AsyncTp> async_tp_points(PairOp op) {
  if (op == PairOp::all_gather_gemm) return {{AsyncInput::copied}, {AsyncInput::symmetric}};
  if (op == PairOp::gemm_reduce_scatter)
    return {{AsyncInput::copied, AsyncForm::all_to_all}, {AsyncInput::copied, AsyncForm::rotating}};
  return {};
}

/// Groups are searched when the schedule is built.
bool has_signaling(const PairWorkload& pair, std::int64_t gpus) {
  if (pair.n % families::tile_extent != 0 || pair.m % families::tile_extent != 0) return false;
  switch (pair.op) {
    case PairOp::gemm_all_reduce:
      return true;
    case PairOp::gemm_reduce_scatter:
    case PairOp::gemm_all_to_all:
      return families::tile_extent % gpus == 0;
    case PairOp::all_gather_gemm:
      return pair.m % (gpus * families::tile_extent) == 0;
    case PairOp::all_to_all_gemm:
      break;
  }
  return false;
}

std::vector<Family> families_of_pair(const PairWorkload& pair, std::int64_t gpus, const SearchSpace& space) {
  std::vector<Family> families;
  if (space.decomposition && pair.op != PairOp::all_to_all_gemm)
    for (const int chunks : space.chunks)
      if (pair.m % (gpus * chunks) == 0) families.emplace_back(Decomposition{chunks});
  if (space.signaling && has_signaling(pair, gpus)) families.emplace_back(Signaling{});
  if (pair.m % gpus != 0) return families;
  if (space.async_tp)
    for (const AsyncTp& async : async_tp_points(pair.op)) families.emplace_back(async);
  if (space.ficco)
    for (const Ficco& ficco : families::ficco_points(pair.op))
      if (ficco.chunks == FiccoChunks::rows ? pair.m % (gpus * gpus) == 0 : pair.k % gpus == 0)
        families.emplace_back(ficco);
  return families;
}

/// Splits are searched when the schedule is built.
std::vector<TokenSplit> token_splits(const SearchSpace& space, bool has_fused_norm) {
  std::vector<TokenSplit> splits{{}};
  if (!has_fused_norm) return splits;
  for (const int ctas : space.fused_norm_ctas) {
    TokenSplit& split = splits.emplace_back();
    split.fused_norm = true;
    split.comm_ctas = ctas;
  }
  return splits;
}

std::vector<Family> overlapping_families(const Workload& workload, int gpus, const SearchSpace& space) {
  if (const auto* pair = std::get_if<PairWorkload>(&workload)) return families_of_pair(*pair, gpus, space);
  std::vector<Family> families;
  if (space.concurrent && std::holds_alternative<ConcurrentPair>(workload))
    for (const FirstLaunched first : {FirstLaunched::collective, FirstLaunched::gemm})
      families.emplace_back(Concurrent{first});
  if (const auto* attention = std::get_if<AttentionWorkload>(&workload); attention && space.staged && gpus > 1) {
    for (const AttentionExchange exchange : {AttentionExchange::keys_values, AttentionExchange::queries}) {
      families.emplace_back(Staged{.stages = std::nullopt, .exchange = exchange});
      for (const int stages : space.stages)
        if (stages <= families::most_stages(*attention, gpus)) families.emplace_back(Staged{stages, exchange});
    }
  }
  if (const auto* layer = std::get_if<LayerWorkload>(&workload);
      layer && space.token_split && gpus > 1 && layer->tokens > 1 && !layer->sequence_parallel)
    for (const TokenSplit& split : token_splits(space, layer->tokens > gpus && layer->dtype == DataType::bf16))
      families.emplace_back(split);
  return families;
}

bool is_sensible(const ScheduleChoice& choice, const PairWorkload& pair, int gpus) {
  try {
    families::check_hybrid({.id = {}, .gpus = gpus, .workload = pair, .schedule = choice, .measured = {}});
    return true;
  } catch (const InputError&) {
    return false;
  }
}

bool runs_nccl(const Family& family, const Workload& workload) {
  if (const auto* ficco = std::get_if<Ficco>(&family)) return ficco->transport == FiccoTransport::collective;
  if (std::holds_alternative<Signaling>(family)) return op_of(workload) != name_of(PairOp::all_gather_gemm);
  if (const auto* hybrid = std::get_if<Hybrid>(&family)) return hybrid->mover == HybridMover::nccl;
  if (const auto* split = std::get_if<TokenSplit>(&family)) return !split->fused_norm;
  return !std::holds_alternative<AsyncTp>(family);
}

}  // namespace

std::vector<ScheduleChoice> hybrid_choices(const PairWorkload& pair, int gpus, const SearchSpace& space) {
  std::vector<int> gemm_sms{0}, max_ctas{0};
  gemm_sms.insert(gemm_sms.end(), space.gemm_sms.begin(), space.gemm_sms.end());
  max_ctas.insert(max_ctas.end(), space.max_ctas.begin(), space.max_ctas.end());
  std::vector<ScheduleChoice> choices;
  const auto add = [&](const Hybrid& hybrid) {
    for (const int ctas : max_ctas) {
      const ScheduleChoice choice{hybrid, ctas, space.launch};
      if ((ctas == 0 || hybrid.mover == HybridMover::nccl) && is_sensible(choice, pair, gpus))
        choices.push_back(choice);
    }
  };
  for (const auto& [trigger, trigger_name] : NamesOf<HybridTrigger>::names)
    for (const auto& [mover, mover_name] : NamesOf<HybridMover>::names)
      for (const auto& [pieces, pieces_name] : NamesOf<HybridPieces>::names)
        for (const int count : pieces == HybridPieces::shards ? std::vector{1, 2} : std::vector{2, 4})
          for (const auto& [lanes, lanes_name] : NamesOf<HybridLanes>::names)
            for (const bool ahead : {false, true})
              for (const bool urgent : {false, true})
                for (const int sms : gemm_sms)
                  for (const bool barrier : {false, true})
                    add({trigger, mover, pieces, count, lanes, ahead, urgent, sms, barrier});
  return choices;
}

std::vector<int> fused_norm_ctas(const Machine& machine) {
  if (!has_all_reduce_norm(machine)) return {};
  return {4, 8, 16};
}

std::vector<Case> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
  std::vector<Case> cases;
  const auto add = [&](const Family& family, int max_ctas) {
    const ScheduleChoice choice{family, max_ctas, space.launch};
    cases.push_back({.id = describe(choice), .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}});
  };
  add(Serial{}, 0);
  for (const Family& family : overlapping_families(workload, gpus, space)) {
    add(family, 0);
    if (!runs_nccl(family, workload)) continue;
    for (const int max_ctas : space.max_ctas) add(family, max_ctas);
  }
  if (const auto* pair = std::get_if<PairWorkload>(&workload); pair != nullptr && space.hybrids)
    for (const ScheduleChoice& choice : hybrid_choices(*pair, gpus, space)) add(choice.family, choice.max_ctas);
  return cases;
}

Ranking rank(const std::vector<Case>& cases, const std::function<Estimate(const Case&)>& estimate,
             std::optional<double> speedup_low) {
  Ranking ranking;
  for (const Case& request : cases) ranking.fastest_first.push_back({request, estimate(request), 1});
  const double serial_us = ranking.fastest_first.front().estimate.time_us;
  for (Candidate& candidate : ranking.fastest_first) candidate.speedup = serial_us / candidate.estimate.time_us;

  const auto is_faster = [](const Candidate& a, const Candidate& b) { return a.estimate.time_us < b.estimate.time_us; };
  // Serial was listed first: equally fast ones stay behind it, and slower ones do not move ahead of it.
  ranking.serial = static_cast<std::size_t>(
      std::count_if(ranking.fastest_first.begin(), ranking.fastest_first.end(),
                    [&](const Candidate& other) { return is_faster(other, ranking.fastest_first.front()); }));
  std::stable_sort(ranking.fastest_first.begin(), ranking.fastest_first.end(), is_faster);
  const bool may_lose = speedup_low ? ranking.fastest().speedup * (1 + *speedup_low) <= 1
                                    : ranking.fastest().estimate.high_us >= serial_us;
  ranking.too_close = ranking.serial != 0 && may_lose;
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
