// What the answers of a store say together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/study/sqlite.hpp"

namespace weft::scenarios::study {

/// A machine, a number of GPUs, an op.
struct SweepGroup {
  std::string machine, op;
  int gpus = 0;
  bool operator==(const SweepGroup&) const = default;
};

/// What a group's questions have as their fastest schedule.
struct SweepSummary {
  SweepGroup group;
  std::int64_t questions = 0;  ///< with an answer for serial and others
  std::int64_t gains = 0;      ///< where another than serial is predicted to be the fastest
  double mean_speedup = 1;     ///< of the fastest over serial, serial itself included
  double largest_speedup = 1;
  std::string usual_winner;  ///< the family that is the fastest most often; of equally frequent ones any
};

/// A question's fastest schedule at two of its sizes.
struct HeatCell {
  SweepGroup group;
  std::string x, y;  ///< values of the two keys
  double speedup = 1;
  std::string schedule;
};

/// A schedule that no other one of the same work beats in time, in GPUs and in energy.
struct ParetoPoint {
  std::string machine, work, schedule;
  int gpus = 0;
  double time_us = 0, energy_mJ = 0;  ///< energy: of all GPUs, in one iteration
};

class SweepFindings {
 public:
  /// Throws InputError for what is no store.
  explicit SweepFindings(const std::filesystem::path& store);

  std::int64_t cases();
  /// Those that cannot be done, and what most of them say.
  struct Errors {
    std::int64_t cases = 0;
    std::string most_common;
  };
  Errors errors();
  std::vector<SweepSummary> summaries();
  /// Keys of questions that have several values, the usual axes first: m, tokens, bytes, n, k, gpus.
  std::vector<std::string> axes();
  /// Where several questions have the same x and y, that of the largest speedup. Throws InputError, field "--x" or
  /// "--y", for what is no axis.
  std::vector<HeatCell> heat(const std::string& x, const std::string& y);
  /// A model's layer or pair at some size is one work on any number of GPUs; a plain workload on each number of GPUs is
  /// a work of its own. Per work in order of time.
  std::vector<ParetoPoint> pareto();

 private:
  Database database_;
};

}  // namespace weft::scenarios::study
