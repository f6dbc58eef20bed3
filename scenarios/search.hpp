// Which schedules are worth asking about, and what the answers say.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// A kind of collective that NCCL does on windows of symmetric memory: by nccl_symmetric or nccl_copy_engine.
struct WindowCollective {
  Collectives by = Collectives::nccl_symmetric;
  CollectiveKind kind = CollectiveKind::all_reduce;
  bool operator==(const WindowCollective&) const = default;
};

/// Collectives by kernels that the library does not have, over peer memory or in the switch, and their CTAs.
struct KernelCollective {
  Collectives by = Collectives::two_shot;
  int ctas = 0;
  bool operator==(const KernelCollective&) const = default;
};

/// What candidates are made of. Serial is always among them: it is what the others are compared with.
struct SearchSpace {
  std::optional<std::vector<std::string>> families{};  ///< names of those to look at besides serial; empty: all
  std::vector<int> chunks{2, 4, 8};     ///< of decomposition; those that the rows cannot be cut into are skipped
  std::vector<int> stages{1, 2, 4, 8};  ///< of staged, besides the searched number
  std::vector<int> max_ctas{4, 8, 16};  ///< besides the library's default, wherever NCCL overlaps
  /// Who does collectives besides NCCL, where the machine can.
  std::vector<Collectives> collectives{Collectives::two_shot, Collectives::multimem, Collectives::nccl_symmetric,
                                       Collectives::nccl_copy_engine};
  std::vector<KernelCollective> kernels{};  ///< of these; kernel_collectives() has a machine's
  std::vector<WindowCollective> windows{};  ///< of these; window_collectives() has a machine's
  std::vector<int> fused_norm_ctas{};  ///< comm_ctas of token_split's fused norm; fused_norm_ctas() has a machine's
  Launch launch = Launch::graph;
  bool hybrids = false;       ///< all that the choices of a hybrid allow, besides the named families
  bool own_launches = false;  ///< hybrids that are one launch and not sent by tile groups, on machines with our kernels
  std::vector<int> gemm_sms{};  ///< of hybrids, besides no limit
  bool has(std::string_view family) const;
  bool operator==(const SearchSpace&) const = default;
};

/// Every combination of a hybrid's choices that makes sense for the pair and whose time is foreseen, with its pieces
/// cut in 2 or 4, shards also in one. Limits of SMs as `space` has them.
std::vector<Hybrid> sensible_hybrids(const PairWorkload& pair, int gpus, const SearchSpace& space);
/// The same with the limits of CTAs that `space` has for those that NCCL moves.
std::vector<ScheduleChoice> hybrid_choices(const PairWorkload& pair, int gpus, const SearchSpace& space);

/// Those of `ways` that are kernels which the machine's profile has, each with the CTAs worth trying.
std::vector<KernelCollective> kernel_collectives(const Machine& machine, const std::vector<Collectives>& ways);

/// Those of `ways` that the machine's profile has curves of for so many GPUs. NCCL needs few CTAs for them, or none, so
/// that no limits are tried.
std::vector<WindowCollective> window_collectives(const Machine& machine, int gpus,
                                                 const std::vector<Collectives>& ways);

/// CTAs worth trying for the fused all-reduce and norm; none where the machine has no such kernel.
std::vector<int> fused_norm_ctas(const Machine& machine);

/// Serial first, then every schedule of the space that the workload has. Each id is the schedule in words.
std::vector<Case> candidates(const Workload& workload, int gpus, const SearchSpace& space = {});

struct Estimate {
  double time_us = 0;
  double low_us = 0, high_us = 0;  ///< where 90 % of measurements are expected
  bool is_assumed = false;         ///< it rests on numbers of the profile that nobody has measured or published
  bool is_out_of_reach = false;    ///< it needs access to peers that these GPUs do not have
};

/// What keeps a schedule from being advised, however fast it is.
enum class WhyNot {
  nothing,
  assumed,            ///< its numbers, while others' are known
  needs_peer_access,  ///< which these GPUs do not have
};
/// What measurements let expect of a predicted speedup over serial.
struct Odds {
  double faster = 0;      ///< probability that it is faster, measured
  double gain = 0;        ///< expected share of serial's time that is saved; below 0: a loss
  double worst_gain = 0;  ///< the same in the worst of twenty such cases
  bool operator==(const Odds&) const = default;
};

struct Candidate {
  Case request;
  Estimate estimate;
  double speedup = 1;  ///< over serial
  Odds odds = {};      ///< of serial all 0
  WhyNot why_not = WhyNot::nothing;

  /// Never what is predicted to be slower than serial, whatever the errors of the past let expect.
  bool may_be_advised() const { return why_not == WhyNot::nothing && speedup > 1; }
};

/// Which schedule is advised: that of the least expected regret, which is that of the least expected time; or, careful,
/// that which is fastest in the worst of twenty cases.
enum class Rule { least_regret, careful };
/// By which the rule compares schedules, each over the same baseline.
double promised_gain(const Odds& odds, Rule rule);

/// The odds of a candidate, whose speedup is known, over serial with that time.
using Judge = std::function<Odds(const Candidate& candidate, double serial_us)>;
/// Predictions that are never wrong.
Odds certain_odds(const Candidate& candidate, double serial_us);

struct Ranking {
  /// Of equally fast ones, the one that was listed first; those that these GPUs cannot run come after all others.
  std::vector<Candidate> fastest_first;
  std::size_t serial = 0;   ///< position of serial
  std::size_t advised = 0;  ///< position of what to run

  const Candidate& fastest() const { return fastest_first.front(); }
  const Candidate& reference() const { return fastest_first[serial]; }
  const Candidate& advice() const { return fastest_first[advised]; }
  /// Some schedule overlaps, whether it pays or not: none does where the rows cannot be cut.
  bool may_overlap() const {
    return std::ranges::any_of(fastest_first, [](const Candidate& one) {
      return !std::holds_alternative<Serial>(one.request.schedule.family);
    });
  }
  /// Something else than serial is advised.
  bool overlap_pays() const { return advised != serial; }
  /// And it is more than serial with faster collectives.
  bool overlaps() const { return !std::holds_alternative<Serial>(advice().request.schedule.family); }
  double saved_us() const { return reference().estimate.time_us - advice().estimate.time_us; }
};

/// Asks `estimate` for each case once, in order, and `judge` for each but serial. `cases` holds serial first, as
/// candidates() gives them. What promises no more than serial is not advised; what is assumed only where all is, or
/// where serial is and nothing better founded promises more.
Ranking rank(const std::vector<Case>& cases, const std::function<Estimate(const Case&)>& estimate,
             const Judge& judge = certain_odds, Rule rule = Rule::least_regret);

struct SizeVerdict {
  std::int64_t size = 0;  ///< tokens or rows
  bool pays = false;
};

/// The smallest size from which on overlap pays at every size that was asked about; empty where it does not pay at the
/// largest. Any order.
std::optional<std::int64_t> crossover(std::vector<SizeVerdict> verdicts);

}  // namespace weft::scenarios

namespace weft {

template <>
struct NamesOf<scenarios::Rule> {
  using enum scenarios::Rule;
  static constexpr std::array names{std::pair{least_regret, std::string_view{"least_regret"}},
                                    std::pair{careful, std::string_view{"careful"}}};
};
template <>
struct NamesOf<scenarios::WhyNot> {
  using enum scenarios::WhyNot;
  static constexpr std::array names{std::pair{nothing, std::string_view{"nothing"}},
                                    std::pair{assumed, std::string_view{"assumed"}},
                                    std::pair{needs_peer_access, std::string_view{"needs peer access"}}};
};

}  // namespace weft
