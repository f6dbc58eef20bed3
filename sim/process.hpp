// Coroutines that wait for occurrences and for time: a stream reads like the program that it runs.
//
// A process is never a capturing lambda, and its parameters are values or references to what outlives the run:
// g++ 12 keeps no temporary alive across a suspension.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include "sim/engine.hpp"
#include "sim/frame_store.hpp"

namespace weft::sim {

/// Something that happens once. Whoever waits is called in the same instant, in the order of waiting; waiting for what
/// has already happened does not suspend.
class Occurrence {
 public:
  bool has_happened() const { return happened_; }
  Picoseconds time() const { return time_; }

  void happen(Engine& engine) {
    if (std::exchange(happened_, true)) return;
    time_ = engine.now();
    if (first_.call != nullptr) engine.at(time_, first_);
    for (const Waiter& waiter : others_) engine.at(time_, waiter);
    others_.clear();
  }
  void call_when_happened(Waiter waiter) {
    if (first_.call == nullptr)
      first_ = waiter;
    else
      others_.push_back(waiter);
  }
  /// It has happened then. Nobody waits for it.
  void note(Picoseconds time) {
    happened_ = true;
    time_ = time;
  }
  /// It may happen once more. Nobody waits for it.
  void rearm() {
    happened_ = false;
    time_ = {};
    first_ = {};
  }

 private:
  bool happened_ = false;
  Picoseconds time_;
  Waiter first_;  // few have more than one
  FrameVector<Waiter> others_;
};

class Processes;

/// A running coroutine, a member function of somebody whose processes() it joins. It starts at once and frees itself at
/// its end.
class Process {
 public:
  class promise_type {
   public:
    template <class Owner, class... Arguments>
    explicit promise_type(Owner& owner, const Arguments&...);
    promise_type(const promise_type&) = delete;
    ~promise_type();
    static void* operator new(std::size_t bytes) { return FrameStore::of_thread().take(bytes); }
    static void operator delete(void* frame, std::size_t bytes) { FrameStore::of_thread().give_back(frame, bytes); }

    Process get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept;

   private:
    friend class Processes;
    Processes& all_;
    std::uint64_t number_;
    promise_type *before_ = nullptr, *after_ = nullptr;  // of those that run
  };
};

/// The processes of one owner: those that are still suspended when it goes away are freed then.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  ~Processes() {
    while (latest_ != nullptr) std::coroutine_handle<Process::promise_type>::from_promise(*latest_).destroy();
  }
  /// Throws what a process threw; of several, what the one threw that was started first.
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  friend class Process::promise_type;
  Process::promise_type* latest_ = nullptr;
  std::uint64_t started_ = 0, failed_number_ = 0;
  std::exception_ptr failure_;
};

template <class Owner, class... Arguments>
Process::promise_type::promise_type(Owner& owner, const Arguments&...)
    : all_(owner.processes()), number_(all_.started_++), before_(std::exchange(all_.latest_, this)) {
  if (before_ != nullptr) before_->after_ = this;
}

inline Process::promise_type::~promise_type() {
  if (before_ != nullptr) before_->after_ = after_;
  (after_ != nullptr ? after_->before_ : all_.latest_) = before_;
}

inline void Process::promise_type::unhandled_exception() noexcept {
  if (all_.failure_ && all_.failed_number_ < number_) return;
  all_.failure_ = std::current_exception();
  all_.failed_number_ = number_;
}

inline Waiter resumption_of(std::coroutine_handle<> process) {
  return {[](void* address) { std::coroutine_handle<>::from_address(address).resume(); }, process.address()};
}

/// co_await Until{occurrence};
struct Until {
  Occurrence& occurrence;
  bool await_ready() const { return occurrence.has_happened(); }
  void await_suspend(std::coroutine_handle<> process) { occurrence.call_when_happened(resumption_of(process)); }
  void await_resume() const {}
};

/// co_await Sleep{engine, time}; goes on at `time`, or at once when it has passed.
struct Sleep {
  Engine& engine;
  Picoseconds until;
  bool await_ready() const { return until <= engine.now(); }
  void await_suspend(std::coroutine_handle<> process) { engine.at(until, resumption_of(process)); }
  void await_resume() const {}
};

}  // namespace weft::sim
