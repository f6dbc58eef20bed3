// How well founded a prediction is: the weakest kind of number that its time rests on by more than a tenth.
#pragma once

#include <string>
#include <vector>

#include "models/machine/machine.hpp"
#include "models/machine/profile_grades.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// What replaces a number of a profile by one's own: logs of nccl-tests or times of GEMMs, by `weft profile new`; or
/// only a calibration.
enum class MeasuredBy { nccl_tests, gemms, calibration };

struct AssumedNumbers {
  std::string words;  ///< "the rate of all-reduce of 4 GPUs"
  MeasuredBy measured_by = MeasuredBy::calibration;
  auto operator<=>(const AssumedNumbers&) const = default;
};

struct Evidence {
  Grade grade = Grade::assumed;
  std::vector<AssumedNumbers> assumed = {};  ///< of an assumed one: what of the profile is behind it, most time first
  std::vector<std::string> outside = {};     ///< of an advice: as outside_calibration() has it
};

/// Each kind of work counts by the time that all of it takes alone, at least: GEMMs and attention at the peak of the
/// tensor cores, collectives by their own curves, copies at the rate of an engine, kernels that stream through memory
/// at that of the HBM, launches by the gap before each operation and each graph. `time_us` is of one repeat, as a
/// prediction has it.
///
/// So a number counts by the time that would change with it, and one that a share of that time hides does not: a gap of
/// a microsecond before a GEMM of a millisecond, the efficiency of small tiles where the library takes large ones, how
/// many channels a collective has where the links limit it. A collective without a curve counts apart by its latency
/// and by its rate, each by the numbers of the protocol that the library takes and by the link that limits it: where
/// both were published, what follows from them by the library's law is public too, if that law meets a published figure
/// that its share of the rate was not taken from (profile_grades.hpp).
Evidence evidence_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades);
Grade grade_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades);

/// Of what is advised of the leading answer (verdict.hpp).
Evidence evidence_of_advice(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                            const ProfileGrades& grades);

}  // namespace weft::scenarios::study
