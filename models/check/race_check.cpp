#include "models/check/race_check.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "models/check/happens_before.hpp"
#include "models/schedule/footprint.hpp"

namespace weft {
namespace {

/// An operation, or one tile group of it.
struct Part {
  OperationId operation = 0;
  int part = 0;
};

struct Access {
  int rank = 0;  ///< that executes it
  std::size_t part = 0;
  Rectangle where;
  bool is_write = false;
};

class RaceSearch {
 public:
  /// Of the races between what rank `rank` does and what any rank does.
  RaceSearch(const Schedule& schedule, int rank)
      : schedule_(schedule),
        rank_(rank),
        order_(schedule),
        parts_(all_parts()),
        before_(order_.before(own_moments(true))),
        after_(order_.after(own_moments(false))) {
    collect_accesses();
  }

  std::vector<Race> run() {
    for (const std::vector<Access>& accesses : accesses_)
      for (const Access& a : accesses)
        if (a.rank == rank_)
          for (const Access& b : accesses)
            if (conflict(a, b)) check(a, b);
    return sorted_races();
  }

 private:
  std::vector<Part> all_parts() const {
    std::vector<Part> parts;
    for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id)
      for (int part = 0; part < order_.parts(id); ++part) parts.push_back({id, part});
    return parts;
  }

  std::vector<int> own_moments(bool ends) const {
    std::vector<int> moments;
    for (const Part& part : parts_)
      moments.push_back(ends ? order_.end(0, rank_, part.operation, part.part)
                             : order_.begin(0, rank_, part.operation, part.part));
    return moments;
  }

  /// Sorted by the memory they touch.
  void collect_accesses() {
    accesses_.resize(static_cast<std::size_t>(schedule_.gpus) * schedule_.buffers.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Operation& operation = schedule_.operations[static_cast<std::size_t>(parts_[i].operation)];
      const Footprint slices = footprint(schedule_, operation, parts_[i].part);
      for (int rank = 0; rank < schedule_.gpus; ++rank) {
        for (const Slice& slice : slices.reads) add(rank, i, slice, false);
        for (const Slice& slice : slices.writes) add(rank, i, slice, true);
      }
    }
  }
  void add(int rank, std::size_t part, const Slice& slice, bool is_write) {
    const Rectangle where = rectangle_of(slice, rank, schedule_.gpus);
    const auto memory =
        static_cast<std::size_t>(where.rank) * schedule_.buffers.size() + static_cast<std::size_t>(where.buffer);
    accesses_[memory].push_back({rank, part, where, is_write});
  }

  OperationId operation_of(const Access& access) const { return parts_[access.part].operation; }

  /// Tile groups of one GEMM never write the same tile.
  bool conflict(const Access& a, const Access& b) const {
    return (a.is_write || b.is_write) && (a.rank != b.rank || operation_of(a) != operation_of(b)) &&
           overlap(a.where, b.where);
  }

  void check(const Access& a, const Access& b) {
    const Part& part = parts_[b.part];
    const bool is_ordered_now = before_.has(order_.begin(0, b.rank, part.operation, part.part), a.part) ||
                                after_.has(order_.end(0, b.rank, part.operation, part.part), a.part);
    if (!is_ordered_now) report(a, b, 0);
    if (!before_.has(order_.begin(1, b.rank, part.operation, part.part), a.part)) report(a, b, 1);
  }

  /// A pair in one iteration is met twice, from the own side and, turned around, from the other's: keep one.
  bool is_seen_from_the_other_side(const Access& a, const Access& b) const {
    if (operation_of(a) != operation_of(b)) return operation_of(a) > operation_of(b);
    const int distance = (b.rank - rank_ + schedule_.gpus) % schedule_.gpus;
    return distance > schedule_.gpus - distance;
  }

  void report(const Access& a, const Access& b, int iterations_apart) {
    const OperationId first = operation_of(a), second = operation_of(b);
    if (iterations_apart == 0) {
      race_now_.insert(std::minmax(first, second));
      if (is_seen_from_the_other_side(a, b)) return;
    }
    if (!reported_.insert({first, second, b.rank, a.where.rank, a.where.buffer, iterations_apart}).second) return;
    races_.push_back({first, second, rank_, b.rank, a.where.rank, a.where.buffer, iterations_apart,
                      message(a, b, iterations_apart)});
  }

  std::string message(const Access& a, const Access& b, int iterations_apart) const {
    const auto name = [&](const Access& access) {
      return "\"" + schedule_.operations[static_cast<std::size_t>(operation_of(access))].name + "\"";
    };
    const auto first_row = std::max(a.where.first_row, b.where.first_row);
    const auto last_row = std::min(a.where.first_row + a.where.rows, b.where.first_row + b.where.rows) - 1;
    return name(a) + " on rank " + std::to_string(rank_) + " " + (a.is_write ? "writes" : "reads") + " rows " +
           std::to_string(first_row) + " to " + std::to_string(last_row) + " of \"" +
           schedule_.buffers[static_cast<std::size_t>(a.where.buffer)].name + "\" of rank " +
           std::to_string(a.where.rank) + " and " + name(b) + " on rank " + std::to_string(b.rank) +
           (b.is_write ? " writes" : " reads") + " them" + (iterations_apart > 0 ? " one iteration later" : "") +
           ": nothing orders the two";
  }

  /// What already races within an iteration is not told again for two.
  std::vector<Race> sorted_races() {
    std::erase_if(races_, [&](const Race& race) {
      return race.iterations_apart > 0 && race_now_.contains(std::minmax(race.a, race.b));
    });
    const auto key = [](const Race& race) {
      return std::tuple(race.iterations_apart, race.a, race.b, race.b_rank, race.buffer_rank, race.buffer);
    };
    std::sort(races_.begin(), races_.end(), [&](const Race& a, const Race& b) { return key(a) < key(b); });
    return std::move(races_);
  }

  const Schedule& schedule_;
  int rank_;
  HappensBefore order_;
  std::vector<Part> parts_;
  MomentSets before_, after_;  ///< which ends of the rank's parts come before a moment, which begins after it
  std::vector<std::vector<Access>> accesses_;
  std::set<std::tuple<OperationId, OperationId, int, int, BufferId, int>> reported_;
  std::set<std::pair<OperationId, OperationId>> race_now_;
  std::vector<Race> races_;
};

bool ranks_differ(const Schedule& schedule) {
  const auto differs = [](const Slice& slice) { return differ_by_rank(slice.rows); };
  return std::any_of(schedule.operations.begin(), schedule.operations.end(), [&](const Operation& operation) {
    const Footprint slices = footprint(schedule, operation);
    return std::any_of(slices.reads.begin(), slices.reads.end(), differs) ||
           std::any_of(slices.writes.begin(), slices.writes.end(), differs);
  });
}

}  // namespace

std::vector<Race> find_races(const Schedule& schedule) {
  std::vector<Race> races = RaceSearch(schedule, 0).run();
  if (!ranks_differ(schedule)) return races;
  for (int rank = 1; rank < schedule.gpus; ++rank)
    for (Race& race : RaceSearch(schedule, rank).run()) races.push_back(std::move(race));
  return races;
}

}  // namespace weft
