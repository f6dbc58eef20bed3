// A question answered to the end: what weft explore, the C++ library and the Python package say of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/progress.hpp"
#include "models/execution/timeline.hpp"
#include "models/report/report.hpp"
#include "scenarios/library/open_profile.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/settings.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::library {

/// Which schedules are looked at: the families, and the hybrids that an estimate likes best; the families alone; every
/// sensible hybrid too, at one size.
enum class Space { likely, named, all };

struct AnswerOptions {
  std::int64_t size = 0;  ///< of the question's sizes; 0: all of them, of Space::all the largest
  Space space = Space::likely;
  Rule rule = Rule::least_regret;  ///< by which schedules are advised
  std::string why = {};            ///< this schedule's losses are asked for besides the winner's and serial's; or "all"
  bool has_losses = false;         ///< of every answer; else of those that the report shows
  bool has_all_losses = false;     ///< of every schedule of the leading answer, unless the space is whole
  bool has_gains = false;          ///< what overlap gains on every number of GPUs, which page() shows
  bool shows_all = false;  ///< the report has all schedules by the names of cases; so it has where the space is whole
  bool is_wide = false;    ///< its lines may have more than 100 characters
  /// How far "schedules" and "explanations" are; may be empty.
  std::function<Progress(const std::string& what)> show_progress = {};
};

class FullAnswer {
 public:
  /// `scenario`: as as_machine_computes() leaves it. Throws InputError for more GPUs than the machine has and for a
  /// schedule that cannot be built; field "size" where the question has not got that size, and "schedule" where `why`
  /// names none. Uses all cores.
  FullAnswer(Scenario scenario, std::shared_ptr<const OpenProfile> profile, AnswerOptions options = {});

  /// The pair and size that the advice owes most to; else those that gain most.
  const study::Answer& leading() const { return exploration_.answers[leading_]; }
  /// "MLP down projection, 4096 tokens"
  std::string leading_in_words() const;

  weft::report::Report report() const;
  /// SVG: where the time goes under each schedule of the leading answer.
  std::string losses_picture() const;
  /// HTML that needs no other file; without gains they are asked for first. `empty_page`: of read_report_page();
  /// `measured`: a run of the fastest schedule or of serial, drawn beside them. Throws InputError, field "operation",
  /// for one of neither.
  std::string page(std::string_view empty_page, std::optional<Trace> measured = {}) const;
  /// What other software has to be told.
  std::vector<study::SettingsFile> settings() const;
  /// Of what is advised (study::winner_of()): in words, "two_shot … (MLP down projection, 4096 tokens)", what it does,
  /// and one iteration of it.
  std::string winner_in_words() const;
  Schedule winning_schedule() const;
  Timeline winning_run() const;

 private:
  const Machine& machine() const { return profile_->machine; }
  study::Winner winner() const { return winner_of(verdict_of(exploration_, scenario_), exploration_); }
  std::string in_words(const study::Answer& answer) const;
  void explore();
  void explain();
  bool is_whole_space() const { return options_.space == Space::all; }
  bool shows_all() const { return options_.shows_all || is_whole_space(); }
  /// The leading answer with the losses of all its schedules; of the whole space only those that were asked for.
  study::Answer with_all_losses() const;

  Scenario scenario_;  ///< with what was asked of it
  std::shared_ptr<const OpenProfile> profile_;
  AnswerOptions options_;
  study::Exploration exploration_;
  std::size_t leading_ = 0;
  study::Widths widths_;
  study::Evidence evidence_;
};

}  // namespace weft::scenarios::library

namespace weft {

template <>
struct NamesOf<scenarios::library::Space> {
  using enum scenarios::library::Space;
  static constexpr std::array names{std::pair{likely, std::string_view{"likely"}},
                                    std::pair{named, std::string_view{"named"}},
                                    std::pair{all, std::string_view{"all"}}};
};

}  // namespace weft
