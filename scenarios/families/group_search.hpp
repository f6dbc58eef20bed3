// Which waves of a GEMM are sent together: two searches for the grouping that FlashOverlap's latency prediction likes
// best (Algorithm 1 of arXiv 2504.19519, section 4.1, as infinigence/FlashOverlap computes it in tune/search.py).
//
// Group i of w_i waves is computed after group i - 1, and sent once it is computed and the group before has been sent:
//   computed_i = computed_(i-1) + w_i x time of a wave        sent_i = max(computed_i, sent_(i-1)) + transfer time of i
// The prediction is sent_i of the last group. A GEMM in one group has no collective beside it, and so all SMs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {

/// Time to send some tiles while the GEMM goes on computing, or after it.
using TransferTime = std::function<double(std::int64_t tiles, bool beside_gemm)>;

/// The prediction for `groups`, in waves that together are those of the GEMM, in the unit of both times.
double predicted_end(const Waves& waves, const std::vector<int>& groups, const TransferTime& transfer_time);

/// The paper's choice. Tried are all ordered partitions into at most ten units of equally many waves; with more than
/// five groups the first may have two units at most. Of equally good ones the first, small groups first.
std::vector<int> algorithm_1_groups(const Waves& waves, const TransferTime& transfer_time);

/// The best grouping of each number of groups, and of those the `count` best, best first: the first is the optimum of
/// all partitions into waves, whatever their number of groups. They differ in what the prediction knows least about,
/// the cost of one transfer more; of groupings into equally many groups often dozens tie.
///
/// Exact by dynamic programming over (groups, waves): when a group has been computed depends on the waves before its
/// end alone, and everything after only grows with the time at which it has been sent, so of all groupings of the same
/// waves into as many groups only the one that has been sent first can matter. A GEMM of more than 256 waves is cut at
/// multiples of a divisor of Algorithm 1's unit, so that this one's choice is still among the groupings.
std::vector<std::vector<int>> best_groupings(const Waves& waves, const TransferTime& transfer_time, std::size_t count);

}  // namespace weft::scenarios::families
