// Layers computed on integers: token_split leaves what the serial program leaves, whatever the order of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scenarios/families/build.hpp"
#include "scenarios/families/layer_program.hpp"
#include "sim/meaning/integer_kernels.hpp"
#include "sim/meaning/numerical_device.hpp"
#include "sim/meaning/operation_effect.hpp"
#include "sim/schedule_run.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim::meaning {
namespace layer_meaning_test {

using namespace scenarios;
constexpr int seeds = 6, layers = families::layers_per_iteration;

LayerWorkload small_layer(std::int64_t tokens, std::int64_t experts = 0) {
  LayerWorkload layer;
  layer.tokens = tokens;
  layer.hidden = 12;
  layer.heads = 8;
  layer.kv_heads = 4;
  layer.head_dim = 2;
  layer.intermediate = 8;
  layer.experts = layer.experts_per_token = experts;  // every token to every expert: no routing depends on the split
  return layer;
}

IntegerMatrix random_matrix(std::int64_t rows, std::int64_t columns, std::mt19937_64& random) {
  IntegerMatrix matrix(rows, columns);
  for (std::int64_t& value : matrix.values) value = static_cast<std::int64_t>(random() % 9) - 4;
  return matrix;
}

IntegerMatrix rows_of(const IntegerMatrix& from, std::int64_t first, std::int64_t count) {
  IntegerMatrix part(count, from.columns);
  std::copy_n(from.row(first), count * from.columns, part.values.data());
  return part;
}

IntegerMatrix sum(IntegerMatrix a, const IntegerMatrix& b) {
  std::transform(a.values.begin(), a.values.end(), b.values.begin(), a.values.begin(), sum_of);
  return a;
}

/// One iteration of a schedule on the ranks of one server.
class LayerRun {
 public:
  LayerRun(const Machine& machine, const Case& request)
      : schedule_(scenarios::families::build(request, machine)), memory_(schedule_), gpus_(request.gpus) {}

  /// Weights and cached keys and values, that depend on their name, rank and values' seed alone.
  void set_weights(std::uint64_t seed) {
    for (BufferId id = 0; id < static_cast<BufferId>(schedule_.buffers.size()); ++id) {
      const Buffer& buffer = schedule_.buffers[static_cast<std::size_t>(id)];
      if (!buffer.name.starts_with("layer ")) continue;
      for (int rank = 0; rank < gpus_; ++rank) {
        std::mt19937_64 random(std::hash<std::string>{}(buffer.name) + seed * 1000 + static_cast<std::uint64_t>(rank));
        memory_.set(rank, id, {random_matrix(buffer.rows, buffer.columns, random)});
      }
    }
  }
  /// The rest of the buffer stays undefined.
  void set_rows(const std::string& buffer, int rank, std::int64_t first, const IntegerMatrix& values) {
    const BufferId id = id_of(buffer);
    memory_.write({rank, id, first, values.rows, 0, values.columns}, values);
  }
  void run(std::uint64_t seed) {
    Engine engine;
    NumericalDevice device(engine, schedule_, memory_, seed);
    const sim::StreamOrder order(schedule_, {});
    sim::ScheduleRun run(engine, device, order, gpus_);
    run.prepare(1);
    run.run();
  }
  IntegerMatrix rows(const std::string& buffer, int rank, std::int64_t first, std::int64_t count) const {
    const BufferId id = id_of(buffer);
    return memory_.read({rank, id, first, count, 0, schedule_.buffers[static_cast<std::size_t>(id)].columns}, 0);
  }
  const Buffer& buffer(const std::string& name) const {
    return schedule_.buffers[static_cast<std::size_t>(id_of(name))];
  }

 private:
  BufferId id_of(const std::string& name) const {
    for (std::size_t id = 0; id < schedule_.buffers.size(); ++id)
      if (schedule_.buffers[id].name == name) return static_cast<BufferId>(id);
    throw std::logic_error("no buffer " + name);
  }
  Schedule schedule_;
  NumericalMemory memory_;
  int gpus_;
};

/// Between two iterations split 1 is normed, and the partial sums of split 2 wait to be.
struct State {
  IntegerMatrix normed_1, residual;
  std::vector<IntegerMatrix> partial_2;  // by rank
};

IntegerMatrix sum_2(const State& state, std::int64_t first) {
  IntegerMatrix total = rows_of(state.residual, first, state.residual.rows - first);
  for (const IntegerMatrix& partial : state.partial_2) total = sum(total, partial);
  return total;
}

/// Six layers; all rows normed.
IntegerMatrix serial_result(const LayerWorkload& layer, int gpus, std::int64_t first, const State& state,
                            std::uint64_t seed) {
  LayerRun run(test_machine(), {.id = "serial", .gpus = gpus, .workload = layer, .schedule = {}, .measured = {}});
  run.set_weights(seed);
  const IntegerMatrix sum = sum_2(state, first);
  for (int rank = 0; rank < gpus; ++rank) {
    run.set_rows("normed", rank, 0, state.normed_1);
    run.set_rows("normed", rank, first, rms_norm(sum));
    run.set_rows("residual", rank, 0, rows_of(state.residual, 0, first));
    run.set_rows("residual", rank, first, sum);
  }
  run.run(seed);
  return run.rows("normed", 0, 0, layer.tokens);
}

void expect_serial_result(const LayerWorkload& layer, int gpus, const TokenSplit& split, const Machine& machine) {
  const std::int64_t first = *split.first, second = layer.tokens - first;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(seed);
    State state{random_matrix(first, layer.hidden, random), random_matrix(layer.tokens, layer.hidden, random), {}};
    for (int rank = 0; rank < gpus; ++rank) state.partial_2.push_back(random_matrix(second, layer.hidden, random));

    LayerRun run(machine, {.id = "split", .gpus = gpus, .workload = layer, .schedule = {split}, .measured = {}});
    run.set_weights(seed);
    for (int rank = 0; rank < gpus; ++rank) {
      run.set_rows("normed", rank, 0, state.normed_1);
      run.set_rows("residual", rank, 0, state.residual);
      run.set_rows("mlp partial", rank, first, state.partial_2[static_cast<std::size_t>(rank)]);
    }
    run.run(seed);

    const IntegerMatrix expected = serial_result(layer, gpus, first, state, seed);
    ASSERT_TRUE(expected.row_is_defined(layer.tokens - 1));
    const std::int64_t share = (run.buffer("normed").rows - first) / gpus;  // of split 2, padded
    for (int rank = 0; rank < gpus; ++rank)
      EXPECT_EQ(run.rows("normed", rank, 0, first), rows_of(expected, 0, first))
          << "seed " << seed << ", rank " << rank;
    for (std::int64_t row = 0; row < second; ++row) {
      IntegerMatrix total = run.rows("residual", split.fused_norm ? static_cast<int>(row / share) : 0, first + row, 1);
      for (int rank = 0; rank < gpus; ++rank) total = sum(total, run.rows("mlp partial", rank, first + row, 1));
      EXPECT_EQ(rms_norm(total), rows_of(expected, first + row, 1)) << "seed " << seed << ", row " << first + row;
    }
  }
}

Machine multicasting() {
  Machine machine = test_machine();
  machine.fabric.multicast = true;
  return machine;
}

TEST(LayerMeaning, TokenSplitLeavesWhatSerialLeaves) {
  expect_serial_result(small_layer(10), 2, {.first = 3}, test_machine());
  expect_serial_result(small_layer(9), 4, {.first = 5}, test_machine());
}

TEST(LayerMeaning, WithTheFusedNormItStillDoes) {
  expect_serial_result(small_layer(10), 2, {.first = 4, .fused_norm = true}, test_machine());
  expect_serial_result(small_layer(16), 4, {.first = 8, .fused_norm = true, .comm_ctas = 2}, multicasting());
}

TEST(LayerMeaning, RowsThatPadTheLastSplitChangeNothing) {
  expect_serial_result(small_layer(15), 4, {.first = 8, .fused_norm = true}, test_machine());
  expect_serial_result(small_layer(17), 8, {.first = 8, .fused_norm = true}, multicasting());
}

TEST(LayerMeaning, ExpertsAreNoException) {
  expect_serial_result(small_layer(10, 3), 2, {.first = 3}, test_machine());
  expect_serial_result(small_layer(12, 2), 4, {.first = 4, .fused_norm = true}, test_machine());
}

TEST(LayerMeaning, NeitherIsASharedExpert) {
  LayerWorkload layer = small_layer(10, 3);
  layer.shared_intermediate = 6;
  expect_serial_result(layer, 2, {.first = 3}, test_machine());
  layer.shared_intermediate = 12;
  expect_serial_result(layer, 4, {.first = 4, .fused_norm = true}, test_machine());
}

TEST(LayerMeaning, NorAreFp8Inputs) {
  LayerWorkload layer = small_layer(10);
  layer.dtype = DataType::fp8;
  expect_serial_result(layer, 2, {.first = 3}, test_machine());
  layer.experts = layer.experts_per_token = 3;
  layer.shared_intermediate = 6;
  expect_serial_result(layer, 2, {.first = 3}, test_machine());
}

TEST(LayerMeaning, NorIsWhatIsCached) {
  LayerWorkload layer = small_layer(10);
  layer.prefix = 3;
  expect_serial_result(layer, 2, {.first = 4}, test_machine());
  layer.sequences = 5;
  expect_serial_result(layer, 2, {.first = 4, .fused_norm = true}, test_machine());
  layer.sequences = 1, layer.decoding = 5, layer.decoding_prefix = 2;
  for (const std::int64_t first : {3, 5, 8}) expect_serial_result(layer, 2, {.first = first}, test_machine());
}

// --- Tensor parallel: each GPU has its share of every weight, and all together compute what one GPU does -----------

IntegerMatrix columns_of(const IntegerMatrix& from, std::int64_t first, std::int64_t count) {
  IntegerMatrix part(from.rows, count);
  for (std::int64_t row = 0; row < from.rows; ++row) std::copy_n(from.row(row) + first, count, part.row(row));
  return part;
}

/// Of each block of rows (such as those of the queries, keys and values) a rank has its share of the rows.
IntegerMatrix share_of_blocks(const IntegerMatrix& from, const std::vector<std::int64_t>& blocks, int rank, int gpus) {
  IntegerMatrix share(from.rows / gpus, from.columns);
  std::int64_t first = 0, next = 0;
  for (const std::int64_t block : blocks) {
    std::copy_n(from.row(first + rank * block / gpus), block / gpus * from.columns, share.row(next));
    first += block;
    next += block / gpus;
  }
  return share;
}

/// Weights of the unsharded layer `index`, by the names of their buffers.
std::map<std::string, IntegerMatrix> unsharded_weights(const LayerWorkload& layer, int index, std::uint64_t seed) {
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(index));
  const std::string name = "layer " + std::to_string(index) + " ";
  const std::int64_t queries = layer.heads * layer.head_dim, keys = layer.kv_heads * layer.head_dim;
  std::map<std::string, IntegerMatrix> weights;
  weights[name + "qkv weight"] = random_matrix(queries + 2 * keys, layer.hidden, random);
  weights[name + "o weight"] = random_matrix(layer.hidden, queries, random);
  weights[name + "gate_up weight"] = random_matrix(2 * layer.intermediate, layer.hidden, random);
  weights[name + "down weight"] = random_matrix(layer.hidden, layer.intermediate, random);
  return weights;
}

IntegerMatrix share_of(const std::string& name, const IntegerMatrix& weight, const LayerWorkload& layer, int rank,
                       int gpus) {
  const std::int64_t queries = layer.heads * layer.head_dim, keys = layer.kv_heads * layer.head_dim;
  if (name.ends_with("qkv weight")) return share_of_blocks(weight, {queries, keys, keys}, rank, gpus);
  if (name.ends_with("gate_up weight"))
    return share_of_blocks(weight, {layer.intermediate, layer.intermediate}, rank, gpus);
  return columns_of(weight, rank * weight.columns / gpus, weight.columns / gpus);
}

/// What `gpus` GPUs leave after six layers, as `rank` has it.
IntegerMatrix tensor_parallel_result(const LayerWorkload& layer, int gpus, int rank_asked, std::uint64_t seed) {
  LayerRun run(test_machine(), {.id = "layer", .gpus = gpus, .workload = layer, .schedule = {}, .measured = {}});
  std::mt19937_64 random(seed);
  const IntegerMatrix normed = random_matrix(layer.tokens, layer.hidden, random);
  const IntegerMatrix residual = random_matrix(layer.tokens, layer.hidden, random);
  const std::int64_t own_rows = run.buffer("residual").rows;
  for (int rank = 0; rank < gpus; ++rank) {
    for (int index = 0; index < layers; ++index)
      for (const auto& [name, weight] : unsharded_weights(layer, index, seed)) {
        const IntegerMatrix share = share_of(name, weight, layer, rank, gpus);
        run.set_rows(name, rank, 0, share);
      }
    run.set_rows("normed", rank, 0, normed);
    run.set_rows("residual", rank, 0, rows_of(residual, own_rows == layer.tokens ? 0 : rank * own_rows, own_rows));
  }
  run.run(seed);
  return run.rows("normed", rank_asked, 0, layer.tokens);
}

TEST(LayerMeaning, SeveralGpusComputeWhatOneDoes) {
  for (const int gpus : {2, 4})
    for (const bool sequence_parallel : {false, true})
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        LayerWorkload layer = small_layer(8);
        const IntegerMatrix expected = tensor_parallel_result(layer, 1, 0, seed);
        ASSERT_TRUE(expected.row_is_defined(layer.tokens - 1));
        layer.sequence_parallel = sequence_parallel;
        for (const int rank : {0, gpus - 1})
          EXPECT_EQ(tensor_parallel_result(layer, gpus, rank, seed), expected)
              << gpus << " GPUs, rank " << rank << (sequence_parallel ? ", sequence parallel" : "");
      }
}

// --- Sequences and what is cached of them --------------------------------------------------------------------------

/// Of a batch on one GPU, rows `first` to `first` + `count` and what their sequences have cached.
struct Batch {
  LayerWorkload layer;
  IntegerMatrix normed, residual;
  std::vector<IntegerMatrix> cached = {}, decode_cached = {};  ///< by layer
};
IntegerMatrix result_of(const Batch& batch, std::uint64_t seed) {
  LayerRun run(test_machine(), {.id = "batch", .gpus = 1, .workload = batch.layer, .schedule = {}, .measured = {}});
  run.set_weights(seed);
  for (std::size_t index = 0; index < batch.cached.size(); ++index)
    run.set_rows("layer " + std::to_string(index) + " keys and values", 0, 0, batch.cached[index]);
  for (std::size_t index = 0; index < batch.decode_cached.size(); ++index)
    run.set_rows("layer " + std::to_string(index) + " decode keys and values", 0, 0, batch.decode_cached[index]);
  run.set_rows("normed", 0, 0, batch.normed);
  run.set_rows("residual", 0, 0, batch.residual);
  run.run(seed);
  return run.rows("normed", 0, 0, batch.layer.tokens);
}

TEST(LayerMeaning, SequencesSeeTheirOwnEarlierTokensAlone) {
  constexpr std::int64_t sequences = 3, tokens = 4, prefix = 2, seed = 5;  // rotary has a period of four rows
  std::mt19937_64 random(seed);
  Batch all{.layer = small_layer(sequences * tokens), .normed = {}, .residual = {}};
  all.layer.sequences = sequences, all.layer.prefix = prefix;
  all.normed = random_matrix(all.layer.tokens, all.layer.hidden, random);
  all.residual = random_matrix(all.layer.tokens, all.layer.hidden, random);
  for (int index = 0; index < layers; ++index)
    all.cached.push_back(random_matrix(sequences * prefix, 2 * all.layer.kv_heads * all.layer.head_dim, random));
  const IntegerMatrix batch = result_of(all, seed);
  ASSERT_TRUE(batch.row_is_defined(all.layer.tokens - 1));
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    const std::int64_t first = sequence * tokens;
    Batch one{all.layer, rows_of(all.normed, first, tokens), rows_of(all.residual, first, tokens), {}, {}};
    one.layer.tokens = tokens, one.layer.sequences = 1;
    for (const IntegerMatrix& cached : all.cached) one.cached.push_back(rows_of(cached, sequence * prefix, prefix));
    EXPECT_EQ(result_of(one, seed), rows_of(batch, first, tokens)) << "sequence " << sequence;
  }
}

TEST(LayerMeaning, SequencesThatDecodeBesideAPrefillGetWhatTheyGetAlone) {
  constexpr std::int64_t decoding = 4, chunk = 6, prefix = 3, decoding_prefix = 2, seed = 6;
  std::mt19937_64 random(seed);
  Batch mixed{.layer = small_layer(decoding + chunk), .normed = {}, .residual = {}};
  mixed.layer.prefix = prefix, mixed.layer.decoding = decoding, mixed.layer.decoding_prefix = decoding_prefix;
  mixed.normed = random_matrix(mixed.layer.tokens, mixed.layer.hidden, random);
  mixed.residual = random_matrix(mixed.layer.tokens, mixed.layer.hidden, random);
  const std::int64_t columns = 2 * mixed.layer.kv_heads * mixed.layer.head_dim;
  std::generate_n(std::back_inserter(mixed.cached), layers, [&] { return random_matrix(prefix, columns, random); });
  std::generate_n(std::back_inserter(mixed.decode_cached), layers,
                  [&] { return random_matrix(decoding * decoding_prefix, columns, random); });
  const IntegerMatrix both = result_of(mixed, seed);
  const auto alone = [&](std::int64_t first, std::int64_t count, std::vector<IntegerMatrix> cached) {
    Batch rows{mixed.layer, rows_of(mixed.normed, first, count), rows_of(mixed.residual, first, count), cached, {}};
    rows.layer.tokens = count, rows.layer.decoding = rows.layer.decoding_prefix = 0;
    return rows;
  };
  Batch decode = alone(0, decoding, mixed.decode_cached);
  decode.layer.sequences = decoding, decode.layer.prefix = decoding_prefix;
  EXPECT_EQ(result_of(decode, seed), rows_of(both, 0, decoding));
  EXPECT_EQ(result_of(alone(decoding, chunk, mixed.cached), seed), rows_of(both, decoding, chunk));
}

// --- Overlapped pairs leave what one operation after the other leaves, whatever the order of events ----------------

/// Rows of rank `rank` where chunk after chunk leaves it its part (models/schedule/row_order.hpp), and back.
IntegerMatrix own_rows(const IntegerMatrix& full, int rank, int gpus, int chunks) {
  const std::int64_t chunk = full.rows / chunks, block = chunk / gpus;
  IntegerMatrix own(full.rows / gpus, full.columns);
  for (std::int64_t row = 0; row < own.rows; ++row)
    std::copy_n(full.row(row / block * chunk + rank * block + row % block), full.columns, own.row(row));
  return own;
}

/// Six layers with weights that are other ones on each rank; what the last norm leaves, by rank.
std::vector<IntegerMatrix> normed_by(const LayerWorkload& layer, int gpus, const ScheduleChoice& choice, int chunks,
                                     std::uint64_t seed) {
  LayerRun run(test_machine(), {.id = "layer", .gpus = gpus, .workload = layer, .schedule = choice, .measured = {}});
  run.set_weights(seed);
  std::mt19937_64 random(seed);
  const IntegerMatrix normed = random_matrix(layer.tokens, layer.hidden, random);
  const IntegerMatrix residual = random_matrix(layer.tokens, layer.hidden, random);
  for (int rank = 0; rank < gpus; ++rank) {
    run.set_rows("normed", rank, 0, normed);
    if (layer.sequence_parallel) run.set_rows("normed rows", rank, 0, own_rows(normed, rank, gpus, chunks));
    run.set_rows("residual", rank, 0, layer.sequence_parallel ? own_rows(residual, rank, gpus, chunks) : residual);
  }
  run.run(seed);
  std::vector<IntegerMatrix> results;
  for (int rank = 0; rank < gpus; ++rank)
    results.push_back(layer.sequence_parallel ? run.rows("normed rows", rank, 0, layer.tokens / gpus)
                                              : run.rows("normed", rank, 0, layer.tokens));
  return results;
}

/// `chunks`: in which a rank's rows lie.
void expect_what_serial_leaves(const LayerWorkload& layer, int gpus, const Family& family, int chunks = 1) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::vector<IntegerMatrix> serial = normed_by(layer, gpus, {Serial{}}, 1, seed);
    IntegerMatrix full = serial.front();
    if (layer.sequence_parallel) {
      full = IntegerMatrix(layer.tokens, layer.hidden);
      for (int rank = 0; rank < gpus; ++rank)
        std::copy(serial[static_cast<std::size_t>(rank)].values.begin(),
                  serial[static_cast<std::size_t>(rank)].values.end(), full.row(rank * layer.tokens / gpus));
    }
    ASSERT_TRUE(full.row_is_defined(layer.tokens - 1));
    const std::vector<IntegerMatrix> found = normed_by(layer, gpus, {family}, chunks, seed);
    for (int rank = 0; rank < gpus; ++rank)
      EXPECT_EQ(found[static_cast<std::size_t>(rank)],
                layer.sequence_parallel ? own_rows(full, rank, gpus, chunks) : full)
          << "seed " << seed << ", rank " << rank << " of " << gpus;
  }
}

LayerWorkload sequence_parallel(LayerWorkload layer) {
  layer.sequence_parallel = true;
  return layer;
}

TEST(LayerMeaning, ChunksLeaveWhatSerialLeaves) {
  expect_what_serial_leaves(small_layer(12), 2, Decomposition{3});
  expect_what_serial_leaves(sequence_parallel(small_layer(12)), 2, Decomposition{3}, 3);
  expect_what_serial_leaves(sequence_parallel(small_layer(16)), 4, Decomposition{2}, 2);
}

TEST(LayerMeaning, SoDoesAsyncTp) {
  for (const int gpus : {2, 4})
    for (const AsyncTp& async :
         {AsyncTp{}, AsyncTp{AsyncInput::symmetric}, AsyncTp{AsyncInput::copied, AsyncForm::rotating}})
      expect_what_serial_leaves(sequence_parallel(small_layer(8)), gpus, async);
}

TEST(LayerMeaning, SoDoHybrids) {
  const auto hybrid = [](HybridMover mover, HybridPieces pieces, int count, HybridLanes lanes = HybridLanes::one) {
    return Hybrid{.mover = mover, .pieces = pieces, .count = count, .lanes = lanes};
  };
  for (const bool scattered : {false, true}) {
    LayerWorkload layer = small_layer(16);
    layer.sequence_parallel = scattered;
    expect_what_serial_leaves(layer, 4, hybrid(HybridMover::nccl, HybridPieces::chunks, 2), 2);
    expect_what_serial_leaves(layer, 4, hybrid(HybridMover::push, HybridPieces::shards, 1));
    expect_what_serial_leaves(layer, 2, hybrid(HybridMover::pull, HybridPieces::chunks, 4), 4);
    expect_what_serial_leaves(layer, 4, hybrid(HybridMover::push, HybridPieces::columns, 2, HybridLanes::each_peer));
    expect_what_serial_leaves(layer, 2, hybrid(HybridMover::peer_kernel, HybridPieces::shards, 2));
    Hybrid rotating = hybrid(HybridMover::push, HybridPieces::shards, 2);
    rotating.sums = HybridSums::in_gemm;
    for (const int gpus : {2, 4})
      expect_what_serial_leaves(layer, gpus, Pairs{.o = PairSchedule{rotating}, .down = PairSchedule{rotating}});
  }
}

/// In 16 tiles of 128 x 256 on the 12 SMs that a collective of four CTAs leaves.
TEST(LayerMeaning, SoDoesSignalingWhoseTilesANormPutsInOrder) {
  LayerWorkload layer = small_layer(512);
  layer.hidden = 1024;
  const Case request{.id = "layer", .gpus = 2, .workload = layer, .schedule = {Signaling{{1, 1}}, 4}, .measured = {}};
  const Schedule schedule = scenarios::families::build(request, test_machine());
  EXPECT_EQ(std::count_if(schedule.operations.begin(), schedule.operations.end(),
                          [](const Operation& one) { return std::holds_alternative<Wait>(one.work); }),
            6 * 2 * 2);
  const std::uint64_t seed = 1;
  EXPECT_EQ(normed_by(layer, 2, request.schedule, 1, seed), normed_by(layer, 2, {Serial{}}, 1, seed));
}

TEST(LayerMeaning, EachPairOfALayerMayRunInItsOwnWay) {
  const Hybrid pushes{.mover = HybridMover::push, .pieces = HybridPieces::shards, .count = 1};
  LayerWorkload layer = small_layer(16);
  expect_what_serial_leaves(layer, 2, Pairs{.o = PairSchedule{Decomposition{2}}, .down = PairSchedule{pushes}});
  layer.sequence_parallel = true;
  expect_what_serial_leaves(layer, 4, Pairs{.qkv = PairSchedule{AsyncTp{}}, .o = PairSchedule{pushes}});
  // Ranks own rows in one order; that of the MLP's rows is its own.
  expect_what_serial_leaves(layer, 2,
                            Pairs{.qkv = PairSchedule{AsyncTp{AsyncInput::symmetric}},
                                  .gate_up = PairSchedule{Decomposition{4}},
                                  .down = PairSchedule{Decomposition{4}}});
}

TEST(LayerMeaning, ExpertsTakeRowsInTheOrderOfTheRanks) {
  LayerWorkload layer = small_layer(12, 2);
  expect_what_serial_leaves(layer, 2, Decomposition{3});
  layer.sequence_parallel = true;
  expect_what_serial_leaves(layer, 2, Decomposition{3}, 3);
  expect_what_serial_leaves(layer, 2, AsyncTp{});
}

}  // namespace layer_meaning_test
}  // namespace weft::sim::meaning
