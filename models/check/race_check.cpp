#include "models/check/race_check.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "models/check/happens_before.hpp"
#include "models/schedule/footprint.hpp"

namespace weft {
namespace {

constexpr std::size_t most_races = 10'000;                      ///< that are told apart; more help nobody
constexpr std::size_t bytes_of_table = std::size_t{256} << 20;  ///< of each of two tables of all moments

/// What an operation, or one tile group of it, does to one rectangle.
struct Access {
  int rank = 0;  ///< that executes it
  OperationId operation = 0;
  int part = 0;
  Rectangle where;
  bool is_write = false;
};

using Accesses = std::span<const Access>;

/// Of all ranks in one iteration: a span for each buffer of each rank that somebody writes, in launch order.
class MemoryAccesses {
 public:
  MemoryAccesses(const Schedule& schedule, const HappensBefore& order) {
    for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id)
      for (int part = 0; part < order.parts(id); ++part) {
        const Footprint slices = footprint(schedule, schedule.operations[at(id)], part);
        for (int rank = 0; rank < schedule.gpus; ++rank) {
          for (const Slice& slice : slices.writes)
            all_.push_back({rank, id, part, rectangle_of(slice, rank, schedule.gpus), true});
          for (const Slice& slice : slices.reads)
            all_.push_back({rank, id, part, rectangle_of(slice, rank, schedule.gpus), false});
        }
      }
    std::stable_sort(all_.begin(), all_.end(), [](const Access& a, const Access& b) { return memory(a) < memory(b); });
    for (auto first = all_.begin(); first != all_.end();) {
      const auto last =
          std::find_if(first, all_.end(), [&](const Access& one) { return memory(one) != memory(*first); });
      if (std::any_of(first, last, [](const Access& one) { return one.is_write; })) memories_.emplace_back(first, last);
      first = last;
    }
  }
  const std::vector<Accesses>& memories() const { return memories_; }

 private:
  static std::pair<int, BufferId> memory(const Access& access) { return {access.where.rank, access.where.buffer}; }

  std::vector<Access> all_;
  std::vector<Accesses> memories_;
};

/// What a part does to one memory: writes stand before reads.
struct PartAccesses {
  Accesses accesses;
  std::size_t writes = 0;
  const Access& first() const { return accesses.front(); }
  /// Those that may conflict with an access that only reads, or writes.
  Accesses against(bool is_write) const { return is_write ? accesses : accesses.first(writes); }
};

/// In launch order.
std::vector<PartAccesses> parts_of_rank(Accesses memory, int rank) {
  std::vector<PartAccesses> parts;
  for (std::size_t first = 0, last = 0; first < memory.size(); first = last) {
    const Access& one = memory[first];
    std::size_t writes = 0;
    for (; last < memory.size() && memory[last].rank == one.rank && memory[last].operation == one.operation &&
           memory[last].part == one.part;
         ++last)
      writes += memory[last].is_write ? 1 : 0;
    if (one.rank == rank) parts.push_back({memory.subspan(first, last - first), writes});
  }
  return parts;
}

struct Smaller {
  int operator()(int a, int b) const { return std::min(a, b); }
};
struct Larger {
  int operator()(int a, int b) const { return std::max(a, b); }
};

/// Of the races between what rank `rank` does and what any rank does.
class RaceSearch {
 public:
  RaceSearch(const Schedule& schedule, const HappensBefore& order, const MemoryAccesses& accesses, int rank)
      : schedule_(schedule), order_(order), accesses_(accesses), rank_(rank) {
    number_sources();
  }

  std::vector<Race> run() {
    const std::size_t at_once = std::max<std::size_t>(1, bytes_of_table / sizeof(int) / order_.moments());
    for (int first = 0; first < lines_; first += static_cast<int>(at_once))
      search(first, static_cast<int>(std::min(at_once, at(lines_ - first))));
    return sorted_races();
  }

 private:
  /// Parts of the rank that come one after the other form a line: the operations of a stream, and each tile group of a
  /// GEMM alone. How far one line is tells which of its parts are over.
  struct Place {
    int line = 0, number = 0;  ///< counted from 1
  };

  void number_sources() {
    std::vector<int> on_stream(schedule_.streams.size(), 0);
    lines_ = static_cast<int>(on_stream.size());
    for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id) {
      const StreamId stream = schedule_.operations[at(id)].stream;
      const bool is_apart = order_.has_own_parts(id);
      places_.push_back(is_apart ? Place{lines_, 1} : Place{stream, ++on_stream[at(stream)]});
      if (is_apart) lines_ += order_.parts(id);
    }
  }
  Place place_of(OperationId id, int part) const {
    const Place& first = places_[at(id)];
    return order_.has_own_parts(id) ? Place{first.line + part, 1} : first;
  }

  /// Of races with the parts on some of the lines.
  void search(int first_line, int lines) {
    constexpr int none_yet = std::numeric_limits<int>::max();
    Ended ended(order_.moments(), at(lines), 0);
    Begun begun(order_.moments(), at(lines), none_yet);
    for (OperationId id = 0; id < static_cast<OperationId>(places_.size()); ++id)
      for (int part = 0; part < order_.parts(id); ++part) {
        const auto [line, number] = place_of(id, part);
        if (line < first_line || line >= first_line + lines) continue;
        ended.add(order_.end(0, rank_, id, part), at(line - first_line), number);
        begun.add(order_.begin(0, rank_, id, part), at(line - first_line), number);
      }
    order_.carry_forward(ended);
    order_.carry_back(begun);
    for (const Accesses& memory : accesses_.memories()) search(memory, first_line, lines, ended, begun);
  }

  using Ended = MomentTable<int, Larger>;   ///< number of the part on each line that ended last before a moment
  using Begun = MomentTable<int, Smaller>;  ///< number of the part on each line that begins first after it

  /// Parts of one line that touch one memory, in their order.
  struct OnLine {
    std::size_t column = 0;
    std::vector<std::pair<int, PartAccesses>> parts;  ///< with their numbers
  };

  std::vector<OnLine> on_lines(Accesses memory, int first_line, int lines) const {
    std::map<int, OnLine> found;
    for (const PartAccesses& part : parts_of_rank(memory, rank_)) {
      const auto [line, number] = place_of(part.first().operation, part.first().part);
      if (line >= first_line && line < first_line + lines) found[line].parts.emplace_back(number, part);
    }
    std::vector<OnLine> result;
    for (auto& [line, parts] : found) result.push_back({at(line - first_line), std::move(parts.parts)});
    return result;
  }

  void search(Accesses memory, int first_line, int lines, const Ended& ended, const Begun& begun) {
    const std::vector<OnLine> own = on_lines(memory, first_line, lines);
    for (const Access& b : memory) {
      if (own.empty() || races_.size() >= most_races) return;
      const int* const ended_now = ended.row(order_.begin(0, b.rank, b.operation, b.part));
      const int* const begun_now = begun.row(order_.end(0, b.rank, b.operation, b.part));
      const int* const ended_later = ended.row(order_.begin(1, b.rank, b.operation, b.part));
      for (const OnLine& line : own) {
        const auto is_before = [](const auto& part, int number) { return part.first < number; };
        const auto from = [&](int number) {
          return std::lower_bound(line.parts.begin(), line.parts.end(), number, is_before);
        };
        const std::size_t c = line.column;
        for (auto one = from(ended_now[c] + 1); one != line.parts.end() && one->first < begun_now[c]; ++one)
          compare(one->second, b, 0);
        for (auto one = from(ended_later[c] + 1); one != line.parts.end(); ++one) compare(one->second, b, 1);
      }
    }
  }

  /// What nothing orders. Tile groups of one GEMM never write the same tile.
  void compare(const PartAccesses& part, const Access& b, int iterations_apart) {
    if (b.rank == rank_ && b.operation == part.first().operation) return;
    for (const Access& a : part.against(b.is_write))
      if (overlap(a.where, b.where)) report(a, b, iterations_apart);
  }

  /// A pair in one iteration is met twice, from the own side and, turned around, from the other's: keep one.
  bool is_seen_from_the_other_side(const Access& a, const Access& b) const {
    if (a.operation != b.operation) return a.operation > b.operation;
    const int distance = (b.rank - rank_ + schedule_.gpus) % schedule_.gpus;
    return distance > schedule_.gpus - distance;
  }

  /// Of several accesses that race the first ones are told.
  void report(const Access& a, const Access& b, int iterations_apart) {
    if (iterations_apart == 0) {
      if (race_now_.size() < most_races) race_now_.insert(std::minmax(a.operation, b.operation));
      if (is_seen_from_the_other_side(a, b)) return;
    }
    const std::pair found(&a, &b);
    const auto [known, is_new] =
        races_.try_emplace({iterations_apart, a.operation, b.operation, b.rank, a.where.rank, a.where.buffer}, found);
    if (!is_new) known->second = std::min(known->second, found);
  }

  std::string message(const Access& a, const Access& b, int iterations_apart) const {
    const auto name = [&](const Access& access) {
      return "\"" + schedule_.operations[at(access.operation)].name + "\"";
    };
    const auto first_row = std::max(a.where.first_row, b.where.first_row);
    const auto last_row = std::min(a.where.first_row + a.where.rows, b.where.first_row + b.where.rows) - 1;
    return name(a) + " on rank " + std::to_string(rank_) + " " + (a.is_write ? "writes" : "reads") + " rows " +
           std::to_string(first_row) + " to " + std::to_string(last_row) + " of \"" +
           schedule_.buffers[at(a.where.buffer)].name + "\" of rank " + std::to_string(a.where.rank) + " and " +
           name(b) + " on rank " + std::to_string(b.rank) + (b.is_write ? " writes" : " reads") + " them" +
           (iterations_apart > 0 ? " one iteration later" : "") + ": nothing orders the two";
  }

  /// What already races within an iteration is not told again for two.
  std::vector<Race> sorted_races() const {
    std::vector<Race> races;
    for (const auto& [key, pair] : races_) {
      const auto& [a, b] = pair;
      const int iterations_apart = std::get<0>(key);
      if (iterations_apart > 0 && race_now_.contains(std::minmax(a->operation, b->operation))) continue;
      races.push_back({a->operation, b->operation, rank_, b->rank, a->where.rank, a->where.buffer, iterations_apart,
                       message(*a, *b, iterations_apart)});
    }
    return races;
  }

  const Schedule& schedule_;
  const HappensBefore& order_;
  const MemoryAccesses& accesses_;
  int rank_;
  std::vector<Place> places_;  ///< by operation; of one with own parts, that of the first
  int lines_ = 0;
  /// Iterations apart, the two operations, the second one's rank, and the memory: in the order in which races are told.
  std::map<std::tuple<int, OperationId, OperationId, int, int, BufferId>, std::pair<const Access*, const Access*>>
      races_;
  std::set<std::pair<OperationId, OperationId>> race_now_;
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
  const HappensBefore order(schedule);
  const MemoryAccesses accesses(schedule, order);
  std::vector<Race> races = RaceSearch(schedule, order, accesses, 0).run();
  if (!ranks_differ(schedule)) return races;
  for (int rank = 1; rank < schedule.gpus; ++rank)
    for (Race& race : RaceSearch(schedule, order, accesses, rank).run()) races.push_back(std::move(race));
  return races;
}

}  // namespace weft
