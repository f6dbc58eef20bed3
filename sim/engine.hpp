// The event queue: integer time, a defined order, nothing heavy per event.
//
// Time never goes back, so the queue is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the
// shortest path problem", 1990): events wait in the bucket of the highest bit in which their time differs from a base
// that is not in the future, so every event of a lower bucket comes before every event of a higher one. Most events of
// a simulation are for the present instant: they only stand in line.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/frame_store.hpp"
#include "sim/planned_ends.hpp"

namespace weft::sim {

/// Phases of one instant: first everything that happens, then free SMs go to waiting CTAs. Then rates are shared out
/// anew, once, for all of it (Engine::request_settling).
enum class Phase : std::uint8_t { happen, dispatch };

/// Whoever waits for an event: a function and its context, so that an event costs no allocation.
struct Waiter {
  void (*call)(void* context) = nullptr;
  void* context = nullptr;
};

/// Calls a member function without arguments: waiter_for<&TiledKernel::submit>(this).
template <auto method, class Object>
Waiter waiter_for(Object* object) {
  return {[](void* context) { (static_cast<Object*>(context)->*method)(); }, object};
}

/// Events leave in the order (time, phase, order of scheduling); the last makes equal times reproducible.
class Engine {
 public:
  Picoseconds now() const { return now_; }

  /// `time` must not lie in the past.
  void at(Picoseconds time, Waiter waiter, Phase phase = Phase::happen) {
    const Event event{(static_cast<std::uint64_t>(phase) << 62) | sequence_++, waiter};
    time == now_ ? lines_[static_cast<std::size_t>(phase)].join(event) : wait_for(time, event);
  }
  void after(Picoseconds delay, Waiter waiter) { at(now_ + delay, waiter); }

  /// `ends` are events too, of the phase `happen`: whenever the first of them is due, `on_first` is called, who takes
  /// it out. Their times may change, but not to before the present. They outlive the engine's use.
  void serve(const PlannedEnds& ends, Waiter on_first) {
    ends_ = &ends;
    on_end_ = on_first;
  }
  /// Who settles what has changed in an instant, once nothing else is left of it: one for all that wish it.
  void settle_by(Waiter settler) { settler_ = settler; }
  void request_settling() {
    if (!std::exchange(is_settling_requested_, true)) ++sequence_;
  }
  /// Whoever only looks: called whenever all of an instant has happened. It is not forgotten by restart().
  void watch(Waiter onlooker) { onlooker_ = onlooker; }
  /// An end with this place leaves as if it had been scheduled now.
  std::uint64_t take_place() { return sequence_++; }

  /// Takes the earliest event, sets the clock, calls whoever waits. False when nothing is left.
  bool step();
  void run();
  /// Is nothing left of the present instant but what is being called, and ends?
  bool is_instant_over() const {
    return early_.empty() && lines_[0].is_empty() && lines_[1].is_empty() && !is_settling_requested_;
  }
  /// Until then nothing happens but the first end, which is due, and what comes of it: the next event or end is for
  /// this time. The present where something is left of this instant, or somebody looks on.
  Picoseconds quiet_until();
  /// Whoever has taken the first end out may go on with the one that is first now, if nothing else comes before it or
  /// with it: sets the clock to its time then.
  bool goes_on_with_first_end();
  /// Such an end has been followed by as many others, the last of them at this time: none of them called anybody.
  void pass_ends(std::uint64_t ends, Picoseconds last) {
    sequence_ += ends;
    now_ = last;
  }
  /// Would an event for the present instant be the next one? Who would wait for it may go on at once if it takes the
  /// event's place, and nothing that schedules events comes after it in who called it.
  bool is_next() const { return early_.empty() && lines_[0].is_empty() && !is_end_due(); }
  /// Back to time 0; nobody waits any more.
  void restart();
  std::uint64_t events() const { return sequence_; }  ///< scheduled, and places taken

 private:
  struct Event {
    std::uint64_t order;  // phase in the top two bits, sequence below
    Waiter waiter;
  };
  struct TimedEvent {
    Picoseconds time;
    Event event;
  };
  /// Events of one phase that were scheduled in the present instant: their order is that of their coming.
  struct Line {
    FrameVector<Event> events;
    std::size_t next = 0, waiting = 0;

    bool is_empty() const { return waiting == 0; }
    void join(const Event& event) {
      events.push_back(event);
      ++waiting;
    }
    const Event& first() const { return events[next]; }
    void leave() {
      ++next;
      if (--waiting > 0) return;
      events.clear();
      next = 0;
    }
  };
  static constexpr auto is_later = [](const Event& a, const Event& b) { return a.order > b.order; };

  static constexpr Picoseconds never{std::numeric_limits<std::int64_t>::max()}, unknown{-1};
  static const PlannedEnds no_ends;

  bool is_end_due() const { return !ends_->is_empty() && ends_->first().end.time == now_; }
  void wait_for(Picoseconds time, const Event& event);
  Picoseconds earliest_waiting();
  Line* first_line() {
    if (!lines_[0].is_empty()) return &lines_[0];
    return lines_[1].is_empty() ? nullptr : &lines_[1];
  }
  /// Is anything due that was planned before this instant, or an end?
  bool is_anything_due() const { return !early_.empty() || is_end_due(); }
  static void call_first(Line& line);
  void call_first_due();
  bool begins_next_instant();
  void begin_next_instant();
  using Bucket = FrameVector<TimedEvent>;
  Bucket& spread(Bucket& bucket);

  FrameVector<Event> early_;        // of the present instant, scheduled before it: the first one last
  std::array<Line, 2> lines_;       // by phase
  std::array<Bucket, 64> buckets_;  // later events, by the highest bit that differs from base_
  std::uint64_t filled_ = 0;        // bit b: buckets_[b] has events
  Picoseconds earliest_ = never;    // of those in buckets_, or unknown
  const PlannedEnds* ends_ = &no_ends;
  Waiter on_end_, settler_, onlooker_;
  bool is_settling_requested_ = false;
  Picoseconds base_;
  Picoseconds now_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft::sim
