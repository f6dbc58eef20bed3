#include "scenarios/families/hybrid_rotation.hpp"

#include "scenarios/families/hybrid_cut.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/operands.hpp"

namespace weft::scenarios::families {
namespace {

class Rotation {
 public:
  Rotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows)
      : program_(program),
        hybrid_(std::get<Hybrid>(request.schedule.family)),
        gpus_(request.gpus),
        sends_sums_(pair.op == PairOp::gemm_all_reduce),
        cut_(program, hybrid_, request.gpus, rows, true),
        inputs_(add_gemm_inputs(program, rows, pair.n, pair.k, pair.dtype)),
        accumulators_(program.add_buffer("c", rows, pair.n, DataType::bf16, Memory::symmetric)),
        sums_(sends_sums_ ? accumulators_
                          : program.add_buffer("result", rows / gpus_, pair.n, DataType::bf16, Memory::symmetric)),
        lane_(program.add_stream("s1", highest_priority)),
        flagging_(pushes(hybrid_) ? program.add_stream("flags", highest_priority) : lane_) {
    program.set_meaning(meaning_of(pair, rows, inputs_.a.buffer, inputs_.b.buffer, sums_));
  }

  void add() && {
    program_.add(main_stream, "enter", Barrier{});
    program_.wait(lane_, main_stream);
    for (int step = 0; step < gpus_; ++step)
      for (int chunk = 0; chunk < hybrid_.count; ++chunk) {
        if (step > 0) await(step, chunk);
        program_.wait(lane_, After{add_gemm(step, chunk)});
        if (step + 1 < gpus_)
          pushes(hybrid_) ? push_on(step, chunk) : pull_on(step, chunk);
        else if (sends_sums_)
          send_sum(chunk);
      }
    program_.wait(main_stream, lane_);
    program_.wait(main_stream, flagging_);
    if (sends_sums_) program_.add(main_stream, "leave", Barrier{});
  }

 private:
  static std::string suffix(int step, int chunk) { return " " + std::to_string(step) + " " + std::to_string(chunk); }
  /// Whose rows a step has, as a distance from this rank.
  int owner(int step) const { return gpus_ - 1 - step; }
  bool ends_at(int step) const { return step + 1 == gpus_ && !sends_sums_; }
  /// What a step adds its product to.
  Slice accumulator(int step, int chunk) const {
    return ends_at(step) ? cut_.own_part(sums_, chunk) : cut_.part(accumulators_, owner(step), chunk);
  }

  OperationId add_gemm(int step, int chunk) {
    Gemm gemm = gemm_of(cut_.part(inputs_.a.buffer, owner(step), chunk), inputs_.b, accumulator(step, chunk));
    if (step > 0) gemm.addend = gemm.c;
    gemm.max_sms = hybrid_.gemm_sms;
    return program_.add(main_stream, "gemm" + suffix(step, chunk), gemm);
  }

  /// A step's rows go to the next rank, which has them in its next step.
  void push_on(int step, int chunk) {
    const Slice computed = accumulator(step, chunk);
    const Slice wanted = ends_at(step + 1) ? accumulator(step + 1, chunk) : computed;
    const OperationId push =
        program_.add(lane_, "push" + suffix(step, chunk), Copy{computed, at(wanted, 1), path_of(hybrid_)});
    flags_.push_back(program_.add_counter({"arrived" + suffix(step, chunk), false}));
    program_.wait(flagging_, After{push});
    program_.add(flagging_, "flag" + suffix(step, chunk),
                 Signal{.counter = flags_.back(), .place = 1, .path = SignalPath::kernel});
  }
  /// The rows of this rank's next step come from the rank before, which has computed them when all have met.
  void pull_on(int step, int chunk) {
    const Slice computed = at(cut_.part(accumulators_, owner(step + 1), chunk), -1);
    program_.add(lane_, "computed" + suffix(step, chunk), Barrier{.channel = 1});
    pulls_.push_back(program_.add(lane_, "pull" + suffix(step, chunk),
                                  Copy{computed, accumulator(step + 1, chunk), path_of(hybrid_)}));
  }
  /// The main stream goes on when the rows that a step adds to have come.
  void await(int step, int chunk) {
    const auto number = static_cast<std::size_t>((step - 1) * hybrid_.count + chunk);
    if (pushes(hybrid_))
      program_.add(main_stream, "arrived" + suffix(step - 1, chunk), Wait{.counter = flags_[number]});
    else
      program_.wait(main_stream, After{pulls_[number]});
  }

  void send_sum(int chunk) {
    if (!pushes(hybrid_)) program_.add(lane_, "summed " + std::to_string(chunk), Barrier{.channel = 1});
    for (int peer = 1; peer < gpus_; ++peer) {
      const Slice sum = cut_.part(sums_, pushes(hybrid_) ? 0 : peer, chunk), there = at(sum, peer);
      program_.add(lane_, "sum" + suffix(chunk, peer),
                   pushes(hybrid_) ? Copy{sum, there, path_of(hybrid_)} : Copy{there, sum, path_of(hybrid_)});
    }
  }

  Program& program_;
  const Hybrid hybrid_;
  const int gpus_;
  const bool sends_sums_;
  const HybridCut cut_;
  const Gemm inputs_;
  const BufferId accumulators_, sums_;
  const StreamId lane_, flagging_;
  std::vector<OperationId> pulls_;  ///< in the order in which GEMMs wait for them
  std::vector<CounterId> flags_;    ///< the same
};

}  // namespace

void add_rotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows) {
  Rotation(program, request, pair, rows).add();
}

}  // namespace weft::scenarios::families
