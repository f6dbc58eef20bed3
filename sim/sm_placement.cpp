#include "sim/sm_placement.hpp"

#include <algorithm>
#include <cstring>

namespace weft::sim {

SmOccupancy::SmOccupancy(const SmLayout& layout)
    : kinds{{layout.empty_sm(), layout.sms()}}, kind_of(static_cast<std::size_t>(layout.sms()), 0) {}

void SmOccupancy::take_room(std::span<const int> sms, const CtaShape& cta, int ctas) {
  for (std::size_t begin = 0, end = 0; begin < sms.size(); begin = end) {
    const std::uint16_t from = kind_of[sms[begin]];
    const std::uint16_t to = kind_with(kinds[from].room.without(cta, ctas));
    for (; end < sms.size() && kind_of[sms[end]] == from; ++end) kind_of[sms[end]] = to;
    const int moved = static_cast<int>(end - begin);
    kinds[to].sms += moved;
    kinds[from].sms -= moved;
    if (kinds[from].sms == 0) kinds[from].room = {};
  }
  residents += ctas * static_cast<int>(sms.size());
}

std::size_t SmOccupancy::digest() const {
  constexpr std::size_t at_once = sizeof(std::uint64_t) / sizeof(std::uint16_t);
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  auto digest = static_cast<std::uint64_t>(residents);
  for (const Kind& kind : kinds)
    digest = digest * golden + static_cast<std::uint64_t>(kind.room.registers + kind.room.shared_memory);
  for (std::size_t sm = 0; sm + at_once <= kind_of.size(); sm += at_once) {  // the last few SMs say little
    std::uint64_t kinds_of_some = 0;
    std::memcpy(&kinds_of_some, &kind_of[sm], sizeof kinds_of_some);
    digest = digest * golden + kinds_of_some;
  }
  return digest ^ (digest >> 32);
}

/// A new kind takes the place of one that no SM is of any more.
std::uint16_t SmOccupancy::kind_with(const SmRoom& room) {
  const auto is_alike = [&](const Kind& kind) { return kind.sms > 0 && kind.room == room; };
  auto found = std::find_if(kinds.begin(), kinds.end(), is_alike);
  if (found == kinds.end())
    found = std::find_if(kinds.begin(), kinds.end(), [](const Kind& kind) { return kind.sms == 0; });
  if (found == kinds.end()) found = kinds.insert(found, Kind{});
  found->room = room;
  return static_cast<std::uint16_t>(found - kinds.begin());
}

int SmState::room(const CtaShape& cta) const {
  if (room_ >= 0 && asked_ == cta) return room_;
  asked_ = cta;
  room_ = 0;
  for (const SmOccupancy::Kind& kind : occupancy.kinds)
    if (kind.sms > 0) room_ += kind.sms * kind.room.ctas(cta);
  return room_;
}

SmPlacement::SmPlacement(SmLayout& layout)
    : layout_(layout),
      nobody_(new SmState(SmOccupancy(layout), 0)),
      candidates_(static_cast<std::size_t>(layout.gpcs())),
      candidate_sms_(static_cast<std::size_t>(layout.sms())) {}

/// Of requests for more than there is room for, all that leave as many CTAs over for a last cluster are the same.
SmListPointer SmPlacement::place(SmStatePointer& state, const CtaShape& cta, int cluster, int most) {
  const int free = state->room(cta);
  if (free == 0) return no_sms_;
  const int enough = free + cluster;
  const Request request{cta, cluster, most > enough ? enough + (most - enough) % cluster : most};
  const auto is_answered = [&](const Placed& one) { return one.before == state->number && one.request == request; };
  const auto [answer, is_known] =
      find(placed_, state->number * 31 + static_cast<std::size_t>(request.most), is_answered);
  if (!is_known) {
    SmOccupancy occupancy = state->occupancy;
    answer.request = request;
    answer.before = state->number;
    answer.list = place_ctas(request, occupancy);
    answer.after = state_of(occupancy);
  }
  state = answer.after;
  return answer.list;
}

void SmPlacement::leave(SmStatePointer& state, std::span<const int> sms, const CtaShape& cta) {
  if (state->occupancy.residents == static_cast<int>(sms.size())) {
    state = nobody_;
    return;
  }
  const auto is_answered = [&](const Left& one) {
    return one.before == state->number && one.cta == cta && std::ranges::equal(one.sms, sms);
  };
  const std::size_t question = (state->number * 31 + static_cast<std::size_t>(sms.front())) * 31 + sms.size();
  const auto [answer, is_known] = find(left_, question, is_answered);
  if (!is_known) {
    SmOccupancy occupancy = state->occupancy;
    occupancy.take_room(sms, cta, -1);
    answer.cta = cta;
    answer.before = state->number;
    answer.sms.assign(sms.begin(), sms.end());
    answer.after = state_of(occupancy);
  }
  state = answer.after;
}

/// Where all places that the question has are taken, the answer takes the first.
template <class Answer, class IsIt>
inline std::pair<Answer&, bool> SmPlacement::find(std::array<Answer, kept>& answers, std::size_t first,
                                                  const IsIt& is_it) {
  for (std::size_t i = 0; i < places; ++i) {
    Answer& one = answers[(first + i) % kept];
    if (!one) return {one, false};
    if (is_it(one)) return {one, true};
  }
  return {answers[first % kept], false};
}

/// That of this occupancy; a new one where none is kept.
SmStatePointer SmPlacement::state_of(const SmOccupancy& occupancy) {
  if (occupancy.residents == 0) return nobody_;
  const auto is_it = [&](const SmStatePointer& one) { return one->occupancy == occupancy; };
  const auto [known, is_known] = find(states_, occupancy.digest(), is_it);
  if (!is_known) known = new SmState(occupancy, ++last_number_);
  return known;
}

SmListPointer SmPlacement::place_ctas(const Request& request, SmOccupancy& occupancy) {
  const boost::intrusive_ptr<SmList> list(new SmList);
  is_placed_at_once(request, occupancy) ? place_at_once(request, occupancy, list->sms)
                                        : place_round_by_round(request, occupancy, list->sms);
  return list;
}

/// On an empty GPU all rounds are the same: single CTAs, or whole clusters of which an SM holds one CTA.
bool SmPlacement::is_placed_at_once(const Request& request, const SmOccupancy& occupancy) const {
  const auto& [cta, cluster, most] = request;
  return occupancy.residents == 0 && (cluster == 1 || (most % cluster == 0 && layout_.empty_sm().ctas(cta) == 1));
}

/// What place_round_by_round() comes to there: every SM of the round gets as many, or one less.
void SmPlacement::place_at_once(const Request& request, SmOccupancy& occupancy, std::vector<int>& placed) {
  const auto& [cta, cluster, most] = request;
  const std::span<const int> round = layout_.round_of(cluster);
  const auto width = static_cast<int>(round.size());
  const int ctas = std::min(most, layout_.empty_sm().ctas(cta) * width);
  if (ctas == 0) return;
  for (int left = ctas; left > 0; left -= width)
    placed.insert(placed.end(), round.begin(), round.begin() + std::min(left, width));
  const int each = ctas / width, one_more = ctas % width;
  if (one_more > 0) occupancy.take_room(round.first(one_more), cta, each + 1);
  if (each > 0) occupancy.take_room(round.subspan(one_more), cta, each);
}

/// SMs with more residents come in when no emptier ones can take any.
void SmPlacement::place_round_by_round(const Request& request, SmOccupancy& occupancy, std::vector<int>& placed) {
  const int full = layout_.empty_sm().slots;
  find_fitting(request, occupancy);
  for (int most_load = least_load(0); most_load < full && static_cast<int>(placed.size()) < request.most;) {
    find_candidates(occupancy, most_load);
    const std::size_t before = placed.size();
    place_round(request, placed);
    occupancy.take_room(std::span(placed).subspan(before), request.cta, 1);
    find_fitting(request, occupancy);
    most_load = placed.size() > before ? std::max(most_load + 1, least_load(0)) : least_load(most_load + 1);
  }
}

void SmPlacement::place_round(const Request& request, std::vector<int>& placed) {
  layout_.go_round([&](int gpc) {
    Candidates& candidates = candidates_[gpc];
    const int wanted = std::min(request.cluster, request.most - static_cast<int>(placed.size()));
    if (wanted == 0 || wanted > candidates.end - candidates.next) return false;
    for (int i = 0; i < wanted; ++i) placed.push_back(*candidates.next++);
    return true;
  });
}

void SmPlacement::find_fitting(const Request& request, const SmOccupancy& occupancy) {
  fitting_load_.clear();
  for (const SmOccupancy::Kind& kind : occupancy.kinds) {
    const bool is_fitting = kind.sms > 0 && kind.room.fits(request.cta);
    fitting_load_.push_back(is_fitting ? layout_.empty_sm().slots - kind.room.slots : -1);
  }
}

/// Resident CTAs, at least `from`, on the emptiest SMs that can take one such CTA more; as many as an SM can have where
/// there are none.
int SmPlacement::least_load(int from) const {
  int least = layout_.empty_sm().slots;
  for (const int load : fitting_load_)
    if (load >= from) least = std::min(least, load);
  return least;
}

/// SMs with at most so many residents that can take one such CTA more.
void SmPlacement::find_candidates(const SmOccupancy& occupancy, int most_load) {
  for (int gpc = 0; gpc < layout_.gpcs(); ++gpc) {
    int* const first = &candidate_sms_[layout_.first_sm(gpc)];
    candidates_[gpc] = {first, first};
  }
  for (int now = least_load(0); now <= most_load; now = least_load(now + 1))
    for (int sm = 0; sm < layout_.sms(); ++sm)
      if (fitting_load_[occupancy.kind_of[sm]] == now) *candidates_[layout_.gpc_of(sm)].end++ = sm;
}

std::shared_ptr<KnownSms> KnownSms::of_thread(const Gpu& gpu) {
  thread_local std::shared_ptr<KnownSms> last;
  if (last == nullptr || !last->layout.is_of(gpu)) last = std::make_shared<KnownSms>(gpu);
  return last;
}

}  // namespace weft::sim
