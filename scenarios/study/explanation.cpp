#include "scenarios/study/explanation.hpp"

#include <memory>

#include "scenarios/families/build.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/given_times.hpp"
#include "scenarios/study/parallel.hpp"

namespace weft::scenarios::study {
namespace {

bool has_ficco_losses(const Case& request) {
  return std::holds_alternative<Ficco>(request.schedule.family) && request.schedule.max_ctas == 0;
}

bool is_asked(const Explored& one, const Answer& answer, const Why& why) {
  const std::string& id = one.candidate.request.id;
  return why.all || is_called(one.candidate.request, why.id) || id == answer.fastest().candidate.request.id ||
         id == answer.advice().candidate.request.id || id == answer.ranking.reference().request.id;
}

/// What all schedules of one answer are compared with.
class Accounts {
 public:
  Accounts(const Case& serial, const Machine& machine, const Clock& clock)
      : machine_(with_given_times(
            serial, machine,
            [&](const Schedule& schedule, const Machine& on) { return clock(schedule, on, sim::times_only).time_us; })),
        losses_(families::build(serial, machine_), machine_, clock),
        inefficiencies_(machine_, clock) {}

  void add_losses(Explored& one) const {
    Case as_run = one.candidate.request;
    as_run.schedule = one.as_run;
    one.losses = losses_.of(families::build(as_run, machine_));
  }
  void add_inefficiency(Explored& one) { one.inefficiency = inefficiencies_.of(one.candidate.request); }

 private:
  Machine machine_;
  LossAccount losses_;
  InefficiencyAccount inefficiencies_;
};

struct Task {
  std::size_t answer;
  Explored* schedule;
  bool is_loss;  ///< else inefficiency
};

std::vector<Task> tasks_of(const std::vector<Answer*>& answers, const Why& why) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < answers.size(); ++i)
    for (Explored& one : answers[i]->fastest_first) {
      if (!one.losses && is_asked(one, *answers[i], why)) tasks.push_back({i, &one, true});
      if (!one.inefficiency && has_ficco_losses(one.candidate.request)) tasks.push_back({i, &one, false});
    }
  return tasks;
}

}  // namespace

void explain(const std::vector<Answer*>& answers, const Machine& machine, const Clock& clock, const Why& why,
             const Progress& progress) {
  const std::vector<Task> tasks = tasks_of(answers, why);
  ProgressCounter counter(progress, answers.size() + tasks.size());
  std::vector<std::unique_ptr<Accounts>> accounts(answers.size());
  for_each_index(answers.size(), [&](std::size_t i) {
    accounts[i] = std::make_unique<Accounts>(answers[i]->ranking.reference().request, machine, clock);
    counter.add();
  });
  for_each_index(tasks.size(), [&](std::size_t i) {
    Accounts& account = *accounts[tasks[i].answer];
    tasks[i].is_loss ? account.add_losses(*tasks[i].schedule) : account.add_inefficiency(*tasks[i].schedule);
    counter.add();
  });
}

}  // namespace weft::scenarios::study
