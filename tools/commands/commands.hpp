// Every command of `weft` adds itself to the application here. A callback throws InputError for bad input (exit 2) and
// ExecutionError for work that failed (exit 1).
#pragma once

#include <CLI/CLI.hpp>

namespace weft::tools::commands {

void add_predict_command(CLI::App& app);
void add_explore_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_measure_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_ablate_command(CLI::App& app);
void add_draw_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_ask_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_validate_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_machines_command(CLI::App& app);
void add_calibrate_command(CLI::App& app);
void add_profile_command(CLI::App& app);

}  // namespace weft::tools::commands
