// A device part without GPUs: answers every schedule with a time made from its name, or gets into the trouble that
// WEFT_FAKE_DEVICE says, as "TROUBLE RANK POSITION": on that rank, at that position of the list of schedules.
// WEFT_FAKE_DEVICE_MS is how long a schedule takes.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "calibration/device_module.hpp"
#include "calibration/guest.hpp"

namespace weft::calibration {
namespace {

using nlohmann::json;

struct Trouble {
  std::string what;
  int rank = 0;
  std::size_t position = 0;
};

Trouble trouble_of_environment() {
  Trouble trouble;
  if (const char* text = std::getenv("WEFT_FAKE_DEVICE")) {
    std::istringstream words(text);
    words >> trouble.what >> trouble.rank >> trouble.position;
  }
  return trouble;
}

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

[[noreturn]] void hang() {
  for (;;) pause();
}

/// The same in every process: 1 to 1,000 us.
double time_us_of(const Schedule& schedule) {
  unsigned hash = 0;
  for (const char letter : schedule.name) hash = 31 * hash + static_cast<unsigned char>(letter);
  return 1 + (hash % 100000) * 1e-2;
}

json kernel_of(const Schedule& schedule, int rank) {
  return {{"operation", schedule.operations.front().name},
          {"kernel", "kernel of " + schedule.name},
          {"grid", {1, 1, 1}},
          {"block", {128, 1, 1}},
          {"cluster", {1, 1, 1}},
          {"registers_per_thread", 32},
          {"static_shared_memory_bytes", 0},
          {"dynamic_shared_memory_bytes", 0},
          {"gpu", rank},
          {"stream", "main"},
          {"bytes", 0},
          {"start_us", 0},
          {"end_us", time_us_of(schedule)}};
}

json answer_of(const Schedule& schedule, std::size_t index, const RankJob& job) {
  if (job.profiled) return {{"index", index}, {"spans", json::array()}, {"kernels", {kernel_of(schedule, job.rank)}}};
  const double time_us = time_us_of(schedule);
  json measurement{{"condition", name_of(job.options.condition)}, {"time_us", time_us}, {"repeats_us", {time_us}}};
  if (job.options.guests.are_there()) measurement["beside_guests"] = true;
  return {{"index", index}, {"measurement", measurement}};
}

/// It has the rank's pipe open, and ends by itself should nobody end it; a `daemon` is not in the rank's group.
void start_another(bool is_daemon) {
  const pid_t other = fork();
  if (other == 0) {
    if (is_daemon) setsid();
    alarm(60);
    hang();
  }
  while (is_daemon && getsid(other) != other) sleep_s(1e-3);
}

/// What may befall a rank while it times a schedule.
void get_into(const Trouble& trouble, const RankJob& job, const Send& send) {
  if (trouble.what == "hang" || trouble.what == "hang_always") hang();
  if (trouble.what == "dawdle") sleep_s(8 * job.options.time_limit_s);
  if (trouble.what == "crash") std::raise(SIGKILL);
  if (trouble.what == "leave") _exit(0);
  if (trouble.what == "babble") send("\"measured\" {");
  if (trouble.what == "mislabel") send(R"({"index": 1000, "error": "of nothing"})");
  if (trouble.what == "repeat") send(answer_of(job.schedules->front(), 0, job).dump());
  if (trouble.what == "lose") job.state->status[static_cast<std::size_t>(job.rank)].schedule = 1000, hang();
  if (trouble.what == "fail") throw ExecutionError("no \xff memory\n");
  if (trouble.what == "fork") start_another(false);
  if (trouble.what == "daemon") start_another(true);
}

/// What is said of a schedule on which all ranks came so far.
void answer(std::size_t index, const Trouble& trouble, const RankJob& job, const Send& send) {
  const bool is_befallen = trouble.position == index;
  if (is_befallen && trouble.what == "forget") return;
  if (is_befallen && trouble.what == "drop" && job.profiled) {
    if (job.rank == 0) send(json{{"index", index}, {"error", "CUPTI dropped 3 records"}}.dump());
  } else if (job.profiled || job.rank == 0) {
    send(answer_of((*job.schedules)[index], index, job).dump());
  }
}

void take_turns(Guest& guest, const std::string& one_case) {
  guest.prepare(one_case);
  for (int i = 0; i < 3; ++i) guest.turn();
  guest.end(2, 2);
}

void run_schedules(const RankJob& job, const Send& send) {
  const Trouble trouble = trouble_of_environment();
  const char* pace_ms = std::getenv("WEFT_FAKE_DEVICE_MS");
  RankView ranks(*job.state, job.rank, job.ranks, job.options.rank_limit_s());
  json environment = json::array();
  if (const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")) environment.push_back(connections);
  if (job.rank == 0)
    send(json{{"conditions", {{"gpu", "fake"}, {"gpus", job.ranks}, {"environment", environment}}}}.dump());
  std::optional<Guest> guest;
  const std::chrono::duration<double> limit(job.options.longest_limit_s());
  if (job.in_turn && job.options.guests.are_there()) guest.emplace(job.options.guests.folder, job.rank, limit);
  for (const Mix& mix : job.mixes) {
    if (guest) take_turns(*guest, job.options.guests.cases[mix.front()]);
    for (const std::size_t index : mix) {
      ranks.begin(static_cast<int>(index), Activity::timing);
      const bool is_here = trouble.position == index || trouble.what == "hang_always";
      if (trouble.rank == job.rank && is_here) get_into(trouble, job, send);
      if (pace_ms != nullptr) sleep_s(std::atof(pace_ms) * 1e-3);
      ranks.barrier();
      answer(index, trouble, job, send);
    }
  }
  ranks.enter(Activity::finished);
  if (trouble.what == "linger") hang();
}

int run_rank(const RankJob& job, const Send& send, std::string& failed) {
  try {
    run_schedules(job, send);
    return 0;
  } catch (const ExecutionError& error) {
    failed = error.what();
    return 1;
  }
}

int count_gpus(int& gpus, std::string&) {
  if (trouble_of_environment().what == "hang_counting") hang();
  if (trouble_of_environment().what == "leave_counting") _exit(0);
  gpus = 4;
  return 0;
}

int ask_library(const std::vector<MatrixSize>& sizes, DataType, const Send& send, std::string&) {
  const Trouble trouble = trouble_of_environment();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (trouble.position == i && trouble.what == "hang_asking") hang();
    if (trouble.position == i && trouble.what == "leave_asking") return 0;
    send(json{{"m", sizes[i].m}, {"n", sizes[i].n}, {"k", sizes[i].k}, {"error", "no kernel"}}.dump());
  }
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void weft_fill_device_module(DeviceModule& module) {
  module = {run_rank, count_gpus, ask_library};
}

}  // namespace weft::calibration
