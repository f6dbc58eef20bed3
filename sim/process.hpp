// Coroutines that wait for occurrences and for time: a stream reads like the program that it runs.
//
// A process is never a capturing lambda, and its parameters are values or references to what outlives the run:
// g++ 12 keeps no temporary alive across a suspension.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

#include "sim/engine.hpp"

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

 private:
  bool happened_ = false;
  Picoseconds time_;
  Waiter first_;  // few have more than one
  std::vector<Waiter> others_;
};

/// A running coroutine. It starts at once and frees itself at its end; a process that is still suspended when its owner
/// goes away is freed by the owner.
class Process {
 public:
  struct promise_type {
    std::exception_ptr failure;
    Process get_return_object() { return Process(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };

  explicit Process(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Process(Process&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (handle_) handle_.destroy();
  }

  bool is_done() const { return handle_.done(); }
  void rethrow_failure() const {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

inline void resume_coroutine(void* address) { std::coroutine_handle<>::from_address(address).resume(); }

/// co_await Until{occurrence};
struct Until {
  Occurrence& occurrence;
  bool await_ready() const { return occurrence.has_happened(); }
  void await_suspend(std::coroutine_handle<> handle) {
    occurrence.call_when_happened({resume_coroutine, handle.address()});
  }
  void await_resume() const {}
};

/// co_await Sleep{engine, time}; goes on at `time`, or at once when it has passed.
struct Sleep {
  Engine& engine;
  Picoseconds until;
  bool await_ready() const { return until <= engine.now(); }
  void await_suspend(std::coroutine_handle<> handle) { engine.at(until, {resume_coroutine, handle.address()}); }
  void await_resume() const {}
};

}  // namespace weft::sim
