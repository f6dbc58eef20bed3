#include "scenarios/study/sweep_answers.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/base/failure_text.hpp"
#include "models/base/text.hpp"
#include "models/check/machine_support.hpp"
#include "scenarios/case_json.hpp"

namespace weft::scenarios::study {
namespace {

constexpr std::size_t usual_chunks = 200, least_cases = 16, most_cases_of_chunk = 512;

/// How many cases each question has.
std::vector<std::size_t> case_counts(const Sweep& sweep, const std::vector<Machine>& machines) {
  std::vector<std::size_t> counts;
  counts.reserve(sweep.questions.size());
  for (const SweepQuestion& question : sweep.questions)
    counts.push_back(sweep.schedules.empty() ? cases_of(question, sweep, machines[question.machine]).size()
                                             : sweep.schedules.size());
  return counts;
}

/// Times of a question's serial schedules, by how they are launched, and whose they are.
class SerialTimes {
 public:
  SerialTimes(const Machine& machine, Executor& executor) : machine_(machine), executor_(executor) {}

  double of(Case request) {
    const ScheduleChoice asked = std::exchange(request.schedule, {});
    request.schedule.launch = asked.launch;
    request.schedule.implementation = asked.implementation;
    const auto [known, is_new] = times_us_.try_emplace({asked.launch, asked.implementation}, 0);
    if (is_new) known->second = predict(request, machine_, executor_, {.serial = false}).time_us;
    return known->second;
  }

 private:
  const Machine& machine_;
  Executor& executor_;
  std::map<std::pair<Launch, Implementation>, double> times_us_;
};

std::string why_not(const Prediction& prediction, const Machine& machine) {
  if (prediction.choice.collectives == Collectives::none) return "transfers nothing";
  return lacks_peer_access(machine, prediction.schedule) ? "needs peer access" : "";
}

void fill(SweepAnswer& answer, const Prediction& prediction, const ScheduleChoice& asked, const Machine& machine) {
  answer.time_us = prediction.time_us;
  answer.bound_us = prediction.bound_us;
  answer.low_us = prediction.low_us;
  answer.high_us = prediction.high_us;
  answer.clock_MHz = prediction.trace.clock_MHz;
  answer.power_W = prediction.trace.power_W;
  answer.limited_by = name_of(prediction.limited_by);
  answer.outside_calibration = joined(prediction.outside_calibration);
  answer.runnable = prediction.runnable;
  answer.why_not = why_not(prediction, machine);
  if (!(prediction.choice == asked)) answer.as_run = to_json(prediction.choice).dump();
}

SweepAnswer answer_of(const Case& request, std::size_t question, const Machine& machine, Executor& executor,
                      SerialTimes& serial) {
  SweepAnswer answer{.question = question,
                     .family = std::string(family_of(request.schedule)),
                     .schedule_words = request.id,
                     .schedule_json = to_json(request.schedule).dump()};
  try {
    check_sizes(request.workload, request.gpus);
    fill(answer, predict(request, machine, executor, {.serial = false}), request.schedule, machine);
    answer.serial_us = serial.of(request);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // of this case; the others go on
    answer = {.question = question,
              .family = std::move(answer.family),
              .schedule_words = std::move(answer.schedule_words),
              .schedule_json = std::move(answer.schedule_json),
              .error = failure_text(error)};
  }
  return answer;
}

}  // namespace

std::vector<SweepChunk> chunks_of(const Sweep& sweep, const std::vector<Machine>& machines) {
  const std::vector<std::size_t> counts = case_counts(sweep, machines);
  std::size_t all = 0;
  for (const std::size_t count : counts) all += count;
  const std::size_t enough = std::clamp(all / usual_chunks, least_cases, most_cases_of_chunk);
  std::vector<SweepChunk> chunks;
  SweepChunk open;
  const auto close = [&] {
    if (open.questions == 0) return;
    chunks.push_back(open);
    open = {.first_question = open.first_question + open.questions, .first_case = open.first_case + open.cases};
  };
  for (const std::size_t count : counts) {
    ++open.questions;
    open.cases += count;
    if (open.cases >= enough) close();
  }
  close();
  return chunks;
}

std::vector<SweepAnswer> answers_of(const SweepChunk& chunk, const Sweep& sweep, const std::vector<Machine>& machines,
                                    Executor& executor, const std::function<void()>& on_answer) {
  std::vector<SweepAnswer> answers;
  for (std::size_t i = chunk.first_question; i < chunk.first_question + chunk.questions; ++i) {
    const SweepQuestion& question = sweep.questions[i];
    const Machine& machine = machines[question.machine];
    SerialTimes serial(machine, executor);
    for (const Case& request : cases_of(question, sweep, machine)) {
      answers.push_back(answer_of(request, i, machine, executor, serial));
      if (on_answer) on_answer();
    }
  }
  return answers;
}

std::string to_text(const std::vector<SweepAnswer>& answers) {
  nlohmann::json list = nlohmann::json::array();
  for (const SweepAnswer& one : answers)
    list.push_back({one.question, one.family, one.schedule_words, one.schedule_json, one.as_run, one.error, one.time_us,
                    one.serial_us, one.bound_us, one.low_us, one.high_us, one.clock_MHz, one.power_W, one.limited_by,
                    one.outside_calibration, one.runnable, one.why_not});
  return list.dump();
}

std::vector<SweepAnswer> answers_from_text(const std::string& text) {
  std::vector<SweepAnswer> answers;
  for (const nlohmann::json& one : nlohmann::json::parse(text))
    answers.push_back({.question = one[0],
                       .family = one[1],
                       .schedule_words = one[2],
                       .schedule_json = one[3],
                       .as_run = one[4],
                       .error = one[5],
                       .time_us = one[6],
                       .serial_us = one[7],
                       .bound_us = one[8],
                       .low_us = one[9],
                       .high_us = one[10],
                       .clock_MHz = one[11],
                       .power_W = one[12],
                       .limited_by = one[13],
                       .outside_calibration = one[14],
                       .runnable = one[15],
                       .why_not = one[16]});
  return answers;
}

}  // namespace weft::scenarios::study
