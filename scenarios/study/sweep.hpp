// A sweep: many cases in one file, which names the values that they are made of.
//
//   {"format": "weft.sweep/1", "machines": ["h200x8-nvswitch"], "gpus": [2, 4, 8],
//    "workloads": [{"op": "gemm+all_reduce", "m": {"from": 256, "to": 32768, "times": 2}, "n": 8192, "k": [2048,
//    7168]}], "models": [{"config": "models/llama-3.3-70b.config.json", "tokens": [1024, 8192], "layers": true}],
//    "schedules": [{"family": "serial"}, {"family": "decomposition", "chunks": [2, 4]}],
//    "conditions": ["sustained"]}
//
// Values may span as spans.hpp says. Without `schedules`, all that the workload has by name; without `conditions`,
// sustained. Of workloads and models one may be left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// A workload on some GPUs of a machine, to be answered under every schedule.
struct SweepQuestion {
  std::size_t machine = 0;  ///< position among the sweep's
  int gpus = 1;
  RunCondition condition = {};
  std::string model = {};  ///< the config's path as the file has it; "" of plain workloads
  std::string part = {};   ///< "MLP down projection" of a model's layer; plain: the op
  Workload workload = {};
};

struct Sweep {
  std::vector<std::string> machines;      ///< names or paths of profiles
  std::vector<SweepQuestion> questions;   ///< by machine, GPUs, condition, and as the file has them
  std::vector<ScheduleChoice> schedules;  ///< empty: all named
};

/// Throws InputError that names the field for what is no sweep, and for one of no cases, or of too many. A workload
/// whose sizes do not fit its GPUs is none of that: its cases have errors. Paths of configs are relative to `folder`.
Sweep sweep_from_json(const nlohmann::json& json, const std::filesystem::path& folder);
/// Errors name the file.
Sweep read_sweep(const std::filesystem::path& path);

/// The profiles, in the order of the sweep. Throws InputError, field "gpus", where one has fewer GPUs than are asked
/// for.
std::vector<Machine> machines_of(const Sweep& sweep);

/// The question under every schedule, each with the schedule in words as its id; under serial alone where its sizes do
/// not fit its GPUs and the sweep names no schedules.
std::vector<Case> cases_of(const SweepQuestion& question, const Sweep& sweep, const Machine& machine);

/// What a store of this sweep's results belongs to: its questions and schedules, the profiles, and the version of weft.
/// 16 hexadecimal digits.
std::string checksum_of(const Sweep& sweep);

}  // namespace weft::scenarios::study
