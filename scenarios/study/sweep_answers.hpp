// The answers to a part of a sweep, as they go into a store and from one process to another.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/execution/executor.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/sweep.hpp"

namespace weft::scenarios::study {

/// Questions that are answered, sent and stored together.
struct SweepChunk {
  std::size_t first_question = 0, questions = 0;
  std::size_t first_case = 0, cases = 0;
};

/// All of a sweep in order, in chunks of about as many cases: so many for each that a kill loses little, so few chunks
/// that each is worth a transaction.
std::vector<SweepChunk> chunks_of(const Sweep& sweep, const std::vector<Machine>& machines);

struct SweepAnswer {
  std::size_t question = 0;                                          ///< position in the sweep
  std::string family = {}, schedule_words = {}, schedule_json = {};  ///< as asked
  std::string as_run = {};  ///< in JSON, where searched values were filled in; else ""
  std::string error = {};   ///< why there is no time; else ""
  double time_us = 0, serial_us = 0, bound_us = 0, low_us = 0, high_us = 0, clock_MHz = 0, power_W = 0;
  std::string limited_by = {}, outside_calibration = {};  ///< the latter joined by ", "
  bool runnable = false;
  std::string why_not = {};  ///< chosen, however fast: what the machine lacks, or that nothing is transferred; else ""
  bool operator==(const SweepAnswer&) const = default;
};

/// The chunk's cases in their order. The serial schedule of a question is run once. `on_answer` is called after each.
std::vector<SweepAnswer> answers_of(const SweepChunk& chunk, const Sweep& sweep, const std::vector<Machine>& machines,
                                    Executor& executor, const std::function<void()>& on_answer);

/// A text that answers_from_text() reads back bit for bit.
std::string to_text(const std::vector<SweepAnswer>& answers);
std::vector<SweepAnswer> answers_from_text(const std::string& text);

}  // namespace weft::scenarios::study
