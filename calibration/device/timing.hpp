// How long an iteration takes, by the protocols of models/execution/timing_protocol.hpp.
#pragma once

#include "calibration/device/conditions.hpp"
#include "calibration/device/launcher.hpp"
#include "calibration/device/sm_clocks.hpp"
#include "calibration/device/turn_meeting.hpp"
#include "calibration/guest.hpp"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {

/// Two iterations by host calls, as every library wants them before a capture; those of a graph on one stream. (Where
/// two streams once ran kernels at one time outside of a graph, all kernels of the process follow each other later.)
void warm_up(const Program& program);

/// A program that is warm, its launcher prepared, and where its times go.
struct TimedProgram {
  const Program& program;
  const Launcher& launcher;
  Measurement& measurement;
};

/// What is read while a program runs.
struct Instruments {
  const Sensors& sensors;
  SmClocks& clocks;
};

/// All of these are collective, and fill condition, time_us, repeats_us, iterations, clocks and powers.
void measure_after_pause(const TimedProgram& one, RankView& ranks, const RunOptions& options,
                         const Instruments& instruments);
void measure_sustained(const TimedProgram& one, RankView& ranks, const RunOptions& options,
                       const Instruments& instruments);
/// The schedules take turns, with the guest where there is one (it is prepared), each of which begins with a meeting
/// where ranks can meet; `mix` is not empty.
void measure_in_turn(const std::vector<TimedProgram>& mix, RankView& ranks, const RunOptions& options,
                     const Instruments& instruments, Guest* guest, const TurnMeeting* meeting);

}  // namespace weft::calibration::device
