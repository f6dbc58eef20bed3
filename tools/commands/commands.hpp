// The commands of `weft`. Each adds itself to the application; what it does throws InputError for bad input (exit 2)
// and ExecutionError for work that failed (exit 1).
#pragma once

#include <CLI/CLI.hpp>
#include <array>

namespace weft::tools::commands {

using AddCommand = void(CLI::App& app);

AddCommand add_predict_command, add_compare_command, add_explore_command, add_check_command, add_simulate_command,
    add_run_command, add_measure_command, add_doctor_command, add_ablate_command, add_draw_command, add_plan_command,
    add_ask_command, add_tune_command, add_sweep_command, add_validate_command, add_reproduce_command,
    add_machines_command, add_calibrate_command, add_profile_command;

/// In the order of the help.
inline constexpr std::array all_commands{
    add_predict_command,   add_compare_command,  add_explore_command,   add_check_command,  add_simulate_command,
    add_run_command,       add_measure_command,  add_doctor_command,    add_ablate_command, add_draw_command,
    add_plan_command,      add_ask_command,      add_tune_command,      add_sweep_command,  add_validate_command,
    add_reproduce_command, add_machines_command, add_calibrate_command, add_profile_command};

}  // namespace weft::tools::commands
