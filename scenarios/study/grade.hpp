// How well founded a prediction is: the weakest kind of number that its time rests on by more than a tenth.
#pragma once

#include "models/machine/machine.hpp"
#include "models/machine/profile_grades.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// Each kind of work counts by the time that all of it takes alone, at least: GEMMs and attention at the peak of the
/// tensor cores, collectives by their own curves, copies at the rate of an engine, kernels that stream through memory
/// at that of the HBM, launches by the gap before each operation and each graph. `time_us` is of one repeat, as a
/// prediction has it.
Grade grade_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades);

/// Of what is advised of the leading answer (verdict.hpp).
Grade grade_of_advice(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                      const ProfileGrades& grades);

}  // namespace weft::scenarios::study
