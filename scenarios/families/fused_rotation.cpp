#include "scenarios/families/fused_rotation.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/exchange_in_gemm.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/one_launch.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

constexpr int stored_groups_of_block = 4;  ///< enough for a block to begin while the rank before ends the same

/// About equal; whole pairs of tiles, since a cluster of two computes one.
std::vector<std::int64_t> equal_groups(std::int64_t tiles, int most) {
  const std::int64_t pairs = tiles / 2, count = std::clamp<std::int64_t>(pairs, 1, most);
  std::vector<std::int64_t> sizes;
  for (std::int64_t group = 0, first = 0; group < count; ++group) {
    const std::int64_t end = group + 1 == count ? tiles : pairs * (group + 1) / count * 2;
    sizes.push_back(end - first);
    first = end;
  }
  return sizes;
}

class FusedRotation {
 public:
  FusedRotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                const Machine& machine)
      : program_(program),
        hybrid_(std::get<Hybrid>(request.schedule.family)),
        gpus_(request.gpus),
        sends_sums_(pair.op == PairOp::gemm_all_reduce),
        inputs_(add_gemm_inputs(program, rows, pair.n, pair.k, pair.dtype)),
        result_(sends_sums_ ? program.add_buffer("result", rows, pair.n, DataType::bf16, Memory::symmetric)
                            : program.add_buffer("result", rows / gpus_, pair.n)) {
    const std::int64_t rows_of_block = rows / gpus_ / hybrid_.count;
    kernel_ = tiles_of_launch(pair, hybrid_, request.gpus, rows, machine);
    groups_ = equal_groups(tile_grid(kernel_, {rows_of_block, pair.n, pair.k}).tiles(),
                           pushes(hybrid_) ? 1 : stored_groups_of_block);
    const auto add_shards = [&](const char* name, Memory memory, std::vector<BufferId>& shards) {
      for (int step = 0; step + 1 < gpus_; ++step)
        shards.push_back(program.add_buffer(name + std::to_string(step), rows / gpus_, pair.n, DataType::bf16, memory));
    };
    add_shards("sums ", Memory::symmetric, sums_);
    if (pushes(hybrid_)) add_shards("computed ", Memory::local, computed_);
    program.set_machine(machine.name);
    program.set_meaning(meaning_of(pair, rows, inputs_.a.buffer, inputs_.b.buffer, result_));
  }

  void add() && {
    if (!is_one_launch(hybrid_)) program_.add(main_stream, "enter", Barrier{});
    // What a rank needs last it gets last: chunks of one step alternate with those of the next, so that the links are
    // busy all the while.
    for (int diagonal = 0; diagonal < gpus_ + hybrid_.count - 1; ++diagonal)
      for (int step = 0; step < gpus_; ++step)
        if (const int chunk = diagonal - step; chunk >= 0 && chunk < hybrid_.count) blocks_.push_back({step, chunk});
    const OperationId gemm = program_.add(main_stream, "gemm", gemm_of_blocks());
    if (pushes(hybrid_)) push_blocks(gemm);
    if (sends_sums_ && !is_one_launch(hybrid_)) program_.add(main_stream, "leave", Barrier{});
  }

 private:
  struct Block {
    int step, chunk;
    auto operator<=>(const Block&) const = default;
  };

  bool is_last_step(int step) const { return step + 1 == gpus_; }

  Gemm gemm_of_blocks() {
    Gemm gemm = gemm_of({}, inputs_.b, {});
    gemm.kernel = kernel_;
    gemm.order = own_order;
    gemm.max_sms = hybrid_.gemm_sms;
    if (is_one_launch(hybrid_)) gemm.meets = sends_sums_ ? PeerMeeting::begin_and_end : PeerMeeting::begin;
    for (const Block& block : blocks_) {
      gemm.earlier.push_back(rows_of(block));
      add_groups(gemm, block);
    }
    make_last_block(gemm);
    return gemm;
  }

  RowBlock rows_of(const Block& block) const {
    const auto [step, chunk] = block;
    RowBlock rows{program_.shard(inputs_.a.buffer, gpus_ - 1 - step, chunk, hybrid_.count), where_computed(block)};
    if (step > 0) rows.addend = chunk_of(sums_, step - 1, chunk);
    for (int peer = 1; stores(hybrid_) && is_last_step(step) && sends_sums_ && peer < gpus_; ++peer)
      rows.replicas.push_back(at(rows.c, peer));
    return rows;
  }
  Slice where_computed(const Block& block) const {
    if (is_last_step(block.step)) return result_of(block.chunk);
    return pushes(hybrid_) ? chunk_of(computed_, block.step, block.chunk)
                           : at(chunk_of(sums_, block.step, block.chunk), 1);
  }
  Slice chunk_of(const std::vector<BufferId>& shards, int step, int chunk) const {
    const BufferId buffer = shards[static_cast<std::size_t>(step)];
    const std::int64_t rows = program_.buffer(buffer).rows / hybrid_.count;
    return program_.rows(buffer, chunk * rows, rows);
  }
  Slice result_of(int chunk) const {
    if (sends_sums_) return program_.shard(result_, 0, chunk, hybrid_.count);
    return chunk_of({result_}, 0, chunk);
  }

  /// Who tells of a block, and whose sums it waits for: all groups of a pushed block for one flag.
  void add_groups(Gemm& gemm, const Block& block) {
    const auto [step, chunk] = block;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto group = static_cast<int>(gemm.tile_groups.size());
      gemm.tile_groups.push_back(groups_[i]);
      if (step > 0)
        gemm.waits.push_back({.tile_group = group, .counter = arrived_.at({step - 1, chunk})[i], .for_addend = true});
      if (is_last_step(step)) continue;
      arrived_[block].push_back(program_.add_counter({"arrived " + std::to_string(group), false}));
      if (stores(hybrid_)) gemm.signals.push_back({.tile_group = group, .counter = arrived_[block].back(), .place = 1});
    }
  }

  void push_blocks(OperationId gemm) {
    const StreamId lane = program_.add_stream("s1", highest_priority);
    const StreamId flagging = program_.add_stream("flags", highest_priority);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto [step, chunk] = blocks_[i];
      if (is_last_step(step) && !sends_sums_) continue;
      program_.wait(lane, After{gemm, Point::tile_group, static_cast<int>(i)});
      const std::string suffix = " " + std::to_string(step) + " " + std::to_string(chunk);
      const Slice computed = where_computed(blocks_[i]);
      for (int peer = 1; is_last_step(step) && peer < gpus_; ++peer)
        program_.add(lane, "sum" + suffix + " to rank + " + std::to_string(peer), Copy{computed, at(computed, peer)});
      if (is_last_step(step)) continue;
      const OperationId push = program_.add(lane, "push" + suffix, Copy{computed, at(chunk_of(sums_, step, chunk), 1)});
      program_.wait(flagging, After{push});
      program_.add(flagging, "flag" + suffix,
                   Signal{.counter = arrived_.at(blocks_[i]).front(), .place = 1, .path = SignalPath::kernel});
    }
    program_.wait(main_stream, lane);
    program_.wait(main_stream, flagging);
  }

  Program& program_;
  const Hybrid hybrid_;
  const int gpus_;
  const bool sends_sums_;
  const Gemm inputs_;
  const BufferId result_;
  GemmKernel kernel_;
  std::vector<std::int64_t> groups_;                 ///< of the tiles of every block
  std::vector<BufferId> sums_;                       ///< so far, of the rows of a step, from the rank before
  std::vector<BufferId> computed_;                   ///< in a step, until it has been pushed
  std::vector<Block> blocks_;                        ///< in the order in which they are computed
  std::map<Block, std::vector<CounterId>> arrived_;  ///< on the next rank
};

}  // namespace

void add_fused_rotation(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                        const Machine& machine) {
  FusedRotation(program, request, pair, rows, machine).add();
}

}  // namespace weft::scenarios::families
