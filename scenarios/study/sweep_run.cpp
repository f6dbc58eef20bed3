#include "scenarios/study/sweep_run.hpp"

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <functional>
#include <string>

#include "models/base/input_error.hpp"

namespace weft::scenarios::study {
namespace {

struct Answered {
  const SweepChunk* chunk = nullptr;
  bool is_own = true;
  std::vector<SweepAnswer> answers;
};

/// Answers the chunks that `is_own` on all cores, and gives all of them to `take` one by one, in their order.
void in_order(const SweepWork& work, const std::vector<SweepChunk>& chunks, std::size_t first,
              const std::function<bool(std::size_t chunk)>& is_own, const std::function<void()>& on_answer,
              const std::function<void(std::size_t chunk, Answered&)>& take) {
  std::size_t next = first, taken = first;
  const auto name_next = [&](tbb::flow_control& control) -> std::size_t {
    if (next == chunks.size()) control.stop();
    return next++;
  };
  const auto answer = [&](std::size_t chunk) {
    Answered answered{.chunk = &chunks[chunk], .is_own = is_own(chunk), .answers = {}};
    if (answered.is_own)
      answered.answers = answers_of(chunks[chunk], work.sweep, work.machines, work.executor, on_answer);
    return answered;
  };
  const std::size_t at_once = 4 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_pipeline(at_once,
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, name_next) &
                             tbb::make_filter<std::size_t, Answered>(tbb::filter_mode::parallel, answer) &
                             tbb::make_filter<Answered, void>(tbb::filter_mode::serial_in_order,
                                                              [&](Answered answered) { take(taken++, answered); }));
}

std::size_t first_missing(const std::vector<SweepChunk>& chunks, std::size_t cases) {
  std::size_t chunk = 0;
  while (chunk < chunks.size() && chunks[chunk].first_case < cases) ++chunk;
  return chunk;
}

/// Every n-th chunk is a rank's.
int rank_of(std::size_t chunk, const Ranks& ranks) {
  return static_cast<int>(chunk % static_cast<std::size_t>(ranks.size()));
}

}  // namespace

void run_sweep(const SweepWork& work, SweepStore& store, Ranks& ranks, const Progress& progress) {
  const std::vector<SweepChunk> chunks = chunks_of(work.sweep, work.machines);
  const std::size_t first = first_missing(chunks, store.cases());
  ranks.broadcast(checksum_of(work.sweep) + " " + std::to_string(first));
  const std::size_t all = chunks.empty() ? 0 : chunks.back().first_case + chunks.back().cases;
  ProgressCounter counter(progress, all);
  for (std::size_t i = 0; i < store.cases(); ++i) counter.add();
  in_order(
      work, chunks, first, [&](std::size_t chunk) { return rank_of(chunk, ranks) == 0; }, [&] { counter.add(); },
      [&](std::size_t chunk, Answered& answered) {
        if (!answered.is_own) {
          answered.answers = answers_from_text(ranks.receive(rank_of(chunk, ranks)));
          for (std::size_t i = 0; i < answered.answers.size(); ++i) counter.add();
        }
        store.add(chunks[chunk], answered.answers);
      });
  ranks.finish();
}

void help_sweep(const SweepWork& work, Ranks& ranks) {
  const std::string word = ranks.broadcast(""), own = checksum_of(work.sweep);
  const std::size_t space = word.find(' ');
  if (word.substr(0, space) != own)
    throw ExecutionError("rank " + std::to_string(ranks.rank()) +
                         " has another sweep, other profiles or another version of weft than rank 0");
  const std::vector<SweepChunk> all = chunks_of(work.sweep, work.machines);
  std::vector<SweepChunk> own_chunks;
  for (std::size_t chunk = std::stoul(word.substr(space + 1)); chunk < all.size(); ++chunk)
    if (rank_of(chunk, ranks) == ranks.rank()) own_chunks.push_back(all[chunk]);
  in_order(
      work, own_chunks, 0, [](std::size_t) { return true; }, nullptr,
      [&](std::size_t, Answered& answered) { ranks.send_to_first(to_text(answered.answers)); });
  ranks.finish();
}

}  // namespace weft::scenarios::study
