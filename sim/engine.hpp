// The event queue: integer time, a defined order, nothing heavy per event.
//
// Time never goes back, so the queue is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the
// shortest path problem", 1990): events wait in the bucket of the highest bit in which their time differs from a base
// that is not in the future, so every event of a lower bucket comes before every event of a higher one. Most events of
// a simulation are for the present instant: they only stand in line.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/base/units.hpp"

namespace weft::sim {

/// Phases of one instant: first everything that happens, then free SMs go to waiting CTAs, then rates are shared out
/// anew, once, for all of it.
enum class Phase : std::uint8_t { happen, dispatch, settle };

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

  /// A place in the order of scheduling, for an event whose time may still change: whoever comes by at_place() leaves
  /// as if it had been scheduled when the place was taken.
  std::uint64_t take_place() { return sequence_++; }
  /// In the phase `happen`. (time, place) must not lie before the event that is being called.
  void at_place(Picoseconds time, std::uint64_t place, Waiter waiter);

  /// Takes the earliest event, sets the clock, calls whoever waits. False when nothing is left.
  bool step();
  void run() {
    while (step()) {
    }
  }
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
    std::vector<Event> events;
    std::size_t next = 0;

    bool is_empty() const { return next == events.size(); }
    void join(const Event& event) { events.push_back(event); }
    const Event& first() const { return events[next]; }
    void leave() {
      if (++next < events.size()) return;
      events.clear();
      next = 0;
    }
  };
  static constexpr auto is_later = [](const Event& a, const Event& b) { return a.order > b.order; };

  void wait_for(Picoseconds time, const Event& event);
  Line* first_line();
  void begin_next_instant();
  std::vector<TimedEvent>& spread(std::vector<TimedEvent>& bucket);

  std::vector<Event> early_;   // of the present instant, scheduled before it or with an early place: the first one last
  std::array<Line, 3> lines_;  // by phase
  std::array<std::vector<TimedEvent>, 64> buckets_;  // later events, by the highest bit that differs from base_
  std::uint64_t filled_ = 0;                         // bit b: buckets_[b] has events
  Picoseconds base_;
  Picoseconds now_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft::sim
