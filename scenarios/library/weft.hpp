// weft as a library: will overlapping communication with computation pay, by which schedule, and by how much?
//
//   const weft::Profile machine("h200x8-nvswitch");
//   weft::Case pair{.id = "mlp", .gpus = 4, .workload = {{"op", "gemm+all_reduce"}, {"m", 8192}, {"n", 8192}, {"k",
//   7168}}}; const weft::Ranking ranking = machine.choose(pair); if (ranking.overlap_pays()) pair.schedule =
//   ranking.fastest().schedule; const double time_us = machine.predict(pair).time_us;
//
// Workloads and schedules have the keys and words that `weft predict` reads. Times end in _us and are microseconds of
// one iteration of the slowest GPU in the steady state. The same question gets the same bits, whoever asks.
//
// Whatever is wrong with a question is an InputError, whose what() names the field ("workload.m: expected …"); so is a
// schedule that gets stuck. Nothing else is thrown, but for std::bad_alloc. Everything const may be called by several
// threads at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/input_error.hpp"

/// The folder share/weft of the installation that a program is built with: the CMake target weft::weft defines it.
#ifndef WEFT_SHARE
#define WEFT_SHARE ""
#endif

namespace weft {

struct Machine;
namespace scenarios::library {
struct OpenProfile;
}

// --- Questions -------------------------------------------------------------------------------------------------

/// What a key of a workload or a schedule has.
struct Value {
  Value() = default;
  Value(bool flag) : content(flag) {}
  template <std::integral Integer>
  Value(Integer number) : content(static_cast<std::int64_t>(number)) {}
  Value(double number) : content(number) {}
  Value(const char* word) : content(std::string(word)) {}
  Value(std::string word) : content(std::move(word)) {}
  Value(std::initializer_list<std::int64_t> numbers) : content(std::vector(numbers)) {}
  Value(std::vector<std::int64_t> numbers) : content(std::move(numbers)) {}
  Value(std::vector<std::string> words) : content(std::move(words)) {}
  template <std::same_as<std::map<std::string, Value>> Object>
  Value(Object fields) : content(std::move(fields)) {}
  bool operator==(const Value&) const = default;

  std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>,
               std::map<std::string, Value>>
      content;
};

/// A workload, such as {{"op", "gemm+all_reduce"}, {"m", 8192}, {"n", 8192}, {"k", 3584}}, or a schedule, such as
/// {{"family", "decomposition"}, {"chunks", 4}}.
using Fields = std::map<std::string, Value>;

struct Case {
  std::string id;  ///< the caller's; the prediction has it again
  int gpus = 1;    ///< the first so many of the machine
  Fields workload = {};
  Fields schedule = {{"family", "serial"}};
  /// Times of the whole GEMM or the whole collective alone, where the caller has measured them.
  std::optional<double> measured_gemm_us = {}, measured_collective_us = {};
  bool operator==(const Case&) const = default;
};

/// A case in JSON, as a line of `weft predict`.
Case case_from_json(std::string_view json);

/// What `weft explore` is asked.
struct Question {
  /// A model's config.json or its folder, a scenario file (weft.scenario/1), or words: "m=4096 n=8192 k=3584
  /// op=gemm+all_reduce".
  std::string what;
  std::optional<int> gpus = {};          ///< where left out the scenario's, or else all of the machine
  std::vector<std::int64_t> sizes = {};  ///< tokens or rows; where left out the scenario's, or else 512, 1024, … 16384
};

// --- Answers ---------------------------------------------------------------------------------------------------

struct Prediction {
  std::string id;
  double time_us = 0;
  double serial_us = 0;            ///< of the same workload without overlap
  double bound_us = 0;             ///< no schedule can be faster
  double low_us = 0, high_us = 0;  ///< where 90 % of measurements on other servers of the type are expected
  /// compute, hbm, link, copy_engine, latency, launch or power.
  std::string limited_by;
  std::vector<std::string> outside_calibration;  ///< what about the case nobody has measured on such a machine
  bool runnable = false;                         ///< by `weft run`, today
  Fields schedule;                               ///< as run: searched values filled in
  std::string json;                              ///< all of this on one line, as `weft predict` writes it
};

/// A part of the time that a schedule takes beyond perfect overlap; negative where the schedule gains.
struct Loss {
  std::string cause;  ///< in words: "exposed communication"
  double time_us = 0;
};

/// One of several schedules of a workload.
struct RankedSchedule {
  std::string name;  ///< in words: "decomposition, chunks 4"
  Fields schedule;
  double time_us = 0, low_us = 0, high_us = 0, bound_us = 0;  ///< as of a Prediction
  double speedup = 1;                                         ///< over serial
  std::string limited_by;
  bool runnable = false;
  /// What measurements of such predictions let expect: the probability that it is faster than serial, the expected
  /// share of serial's time that is saved, and that share in the worst of twenty cases. Of serial all 0.
  double probability_faster = 0, expected_gain = 0, worst_gain = 0;
  std::vector<Loss> losses;  ///< of what explore() explains; they add up to the time beyond perfect overlap
};

struct Ranking {
  std::string question;   ///< the op, or which pair of a model's layer
  std::int64_t size = 0;  ///< rows or tokens of a scenario's question
  std::vector<RankedSchedule> fastest_first;
  std::size_t serial = 0;   ///< position of the serial schedule, which is always there
  std::size_t advised = 0;  ///< position of what to run: the least expected time

  const RankedSchedule& fastest() const { return fastest_first.front(); }
  bool overlap_pays() const { return advised != serial; }
  const RankedSchedule& advice() const { return fastest_first[advised]; }
};

/// One iteration of a schedule.
struct Simulation {
  struct Span {
    std::string operation, stream;  ///< as the schedule names them
    int gpu = 0;
    double start_us = 0, end_us = 0;
    std::string limited_by;
  };
  double time_us = 0;
  std::string limited_by;
  std::vector<Span> spans;
};

/// What `weft explore` says of a question, in words, tables and pictures. Copies share it.
class Report {
 public:
  /// Sentences: what to do, what it gains, how sure that is, and what of it runs today.
  const std::vector<std::string>& verdict() const;
  /// All of it as "text", in lines of at most 100 characters, "json", "csv" or "markdown". InputError for other
  /// formats.
  std::string written(std::string_view format) const;
  /// SVG: where the time goes under each schedule of the pair that gains most.
  std::string losses_picture() const;
  /// HTML that needs no other file: curves, ranking, lanes, sources. InputError where weft was built without the page.
  std::string page() const;

 private:
  friend class Profile;
  struct Contents;
  explicit Report(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

// --- Asking ----------------------------------------------------------------------------------------------------

/// The schedules that choose() looks at.
enum class Among { all, runnable };

/// The profile of one machine, open for questions. Copies share it.
class Profile {
 public:
  /// A profile's name, or the path of its file. Names are looked up in $WEFT_MACHINES where that is set, else in
  /// `share`/machines, else around the running program (in share/weft of an installation or in a source tree).
  explicit Profile(const std::string& name_or_path, const std::string& share = WEFT_SHARE);

  const std::string& name() const;
  int gpus() const;

  Prediction predict(const Case& request) const;
  Prediction predict(std::string_view case_json) const;

  /// These schedules for the case's workload; its own is not looked at.
  Ranking choose(const Case& request, const std::vector<Fields>& schedules) const;
  /// All schedules that have a name, or those of them that `weft run` can run today. The case's own is not looked at.
  Ranking choose(const Case& request, Among among = Among::all) const;
  /// The named schedules and the most likely ones of those without a name, some 60 in all; it explains what the fastest
  /// and serial lose. The case's own schedule is not looked at. Uses all cores.
  Ranking explore(const Case& request) const;
  /// The same for each question of a scenario file (weft.scenario/1): by size, then by pair, then the whole layer.
  std::vector<Ranking> explore_scenario(const std::string& path) const;
  /// The whole answer to a question: verdict, crossovers, ranking and losses. Uses all cores.
  Report report(const Question& question) const;

  /// The operations of the case's schedule in JSON (weft.schedule/1), for simulate() and `weft run`.
  std::string build(const Case& request) const;
  /// A schedule in JSON.
  Simulation simulate(std::string_view schedule_json) const;
  Simulation simulate_file(const std::string& path) const;
  /// SVG: what GPU 0 does in one iteration of a schedule in JSON, a lane for each stream.
  std::string lanes_picture(std::string_view schedule_json) const;

 private:
  const Machine& machine() const;

  std::shared_ptr<const scenarios::library::OpenProfile> opened_;
  std::string share_;
};

}  // namespace weft
