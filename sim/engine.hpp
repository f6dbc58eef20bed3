// The event queue: integer time, a defined order, nothing heavy per event.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"

namespace weft::sim {

/// Phases of one instant: first everything that happens, then free SMs go to waiting CTAs, then rates are shared out
/// anew, once, for all of it.
enum class Phase : std::uint8_t { happen, dispatch, settle };

/// Whoever waits for an event: a function and its context, so that an event costs no allocation.
struct Waiter {
  void (*call)(void* context) = nullptr;
  void* context = nullptr;
};

/// Events leave in the order (time, phase, order of scheduling); the last makes equal times reproducible.
class Engine {
 public:
  Picoseconds now() const { return now_; }

  /// `time` must not lie in the past.
  void at(Picoseconds time, Waiter waiter, Phase phase = Phase::happen);
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
  std::uint64_t events() const { return sequence_; }  ///< scheduled, and places taken

 private:
  struct Entry {
    Picoseconds time;
    std::uint64_t order;  // phase in the top two bits, sequence below
    Waiter waiter;
  };
  static bool later(const Entry& a, const Entry& b) { return a.time != b.time ? a.time > b.time : a.order > b.order; }

  std::vector<Entry> heap_;
  Picoseconds now_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft::sim
