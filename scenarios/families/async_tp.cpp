// async_tp: async tensor parallelism as PyTorch 2.11 does it with symmetric memory, without multicast. Copy engines
// carry the transfers. Two streams of normal priority take turns, so that a pull runs beside the GEMM of the step
// before, and a GEMM fills the last wave of the one before.
//
//   all_gather+gemm      s0: enter | publish | published | gemm own | pull 2 | gemm 2 | … | leave
//                        s1:                               pull 1 | gemm 1 | pull 3 | gemm 3 | …
//   gemm+reduce_scatter  s0: enter | gemm 1 | computed 1 | pull 1 | pulled 1 | gemm 3 | … | leave | sum
//                        s1:         gemm 2 | computed 2 | pull 2 | pulled 2 | gemm own
//     form rotating      s0: gemm 0 | gemm 1 |          add 1 | gemm 2 |          add 2 | … | leave
//                        s1:          summed 0 | pull 1 |       summed 1 | pull 2 |       …
//
// Step i of the first pulls the shard of rank + i and multiplies it. Step i of the second computes the rows of rank + i
// and pulls the own rows from rank - i, which has computed them in its step i. The third is what the paper behind async
// TP describes (Wang et al., ASPLOS 2023, looped CollectiveEinsum): an accumulator for the rows of each rank goes round
// all of them and ends there. PyTorch has no such form; it moves as many bytes, and needs no sum over W partials.
#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::families {
namespace {

constexpr double delay_clocks = 100;

/// A copied input is published in symmetric memory first, and the gathered input is kept, own shard included.
void add_all_gather_gemm(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows) {
  const int gpus = request.gpus;
  const bool is_copied = std::get<AsyncTp>(request.schedule.family).input == AsyncInput::copied;
  const StreamId s1 = program.add_stream("s1", 0);
  const Gemm whole = add_gemm_operands(program, rows, pair.n, pair.k, pair.dtype);
  const BufferId a = whole.a.buffer, c = whole.c.buffer;
  const auto add_shard = [&](const char* name, Memory memory) {
    return program.add_buffer(name, rows / gpus, pair.k, pair.dtype, memory);
  };
  const BufferId shard = add_shard("shard", is_copied ? Memory::local : Memory::symmetric);
  const BufferId published = is_copied ? add_shard("published", Memory::symmetric) : shard;

  program.add(main_stream, "enter", Barrier{.channel = 0});
  if (is_copied) {
    program.add(main_stream, "publish", Copy{program.whole(shard), program.whole(published)});
    program.add(main_stream, "published", Barrier{.channel = 1});
  }
  program.wait(s1, main_stream);
  program.add(main_stream, "gemm own", gemm_of(program.whole(shard), whole.b, program.shard(c, 0)));
  for (int step = 1; step < gpus; ++step) {
    const StreamId stream = step % 2 == 0 ? main_stream : s1;
    const std::string number = std::to_string(step);
    program.add(stream, "pull " + number, Copy{program.whole(published, step), program.shard(a, step)});
    program.add(stream, "gemm " + number, gemm_of(program.shard(a, step), whole.b, program.shard(c, step)));
  }
  if (is_copied)
    program.add(gpus % 2 == 0 ? main_stream : s1, "copy own", Copy{program.whole(shard), program.shard(a, 0)});
  program.wait(main_stream, s1);
  program.add(main_stream, "leave", Barrier{.channel = 0});

  Meaning meaning = meaning_of(pair, rows, shard, whole.b.buffer, c);
  if (is_copied)
    meaning.also.push_back({.op = "all_gather", .m = rows, .n = pair.k, .k = 1, .a = shard, .b = shard, .result = a});
  program.set_meaning(std::move(meaning));
}

/// Every rank keeps its rows of each rank's product, and sums them in the end. Between the two barriers of a step,
/// which have the step's stream for a channel, a peer pulls what the step has computed.
void add_gemm_reduce_scatter(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                             const Machine& machine) {
  const int gpus = request.gpus;
  const bool is_pytorch = request.schedule.implementation == Implementation::pytorch;
  const StreamId s1 = program.add_stream("s1", 0);
  const BufferId a = program.add_buffer("a", rows, pair.k, pair.dtype);
  const BufferId b = program.add_buffer("b", pair.n, pair.k, pair.dtype);
  const BufferId odd_chunk = program.add_buffer("chunk 0", rows / gpus, pair.n, DataType::bf16, Memory::symmetric);
  const BufferId even_chunk = program.add_buffer("chunk 1", rows / gpus, pair.n, DataType::bf16, Memory::symmetric);
  const BufferId partials = program.add_buffer("partials", rows, pair.n);
  const BufferId result = program.add_buffer("result", rows / gpus, pair.n);
  // On every rank the GEMM of step 1 has to be the first to get the SMs. PyTorch puts it on the other stream, and
  // something before the second on this one; but whoever follows the barrier on its own stream is first anyway, and
  // the delay finds no SM beside a GEMM of one CTA on each, so that the second GEMM comes when the first has ended.
  const auto stream_of = [&](int step) { return (step % 2 == 0) == is_pytorch ? main_stream : s1; };
  const auto delay = [&](StreamId stream) {
    if (is_pytorch) program.add(stream, "delay", Delay{delay_clocks / machine.gpu.max_clock_MHz});
  };

  program.add(main_stream, "enter", Barrier{.channel = 0});
  program.wait(s1, main_stream);
  for (int step = 1; step < gpus; ++step) {
    const bool is_odd = step % 2 != 0;
    const StreamId stream = stream_of(step);
    const BufferId chunk = is_odd ? odd_chunk : even_chunk;
    const std::string number = std::to_string(step);
    if (step == 2) delay(stream);
    program.add(stream, "gemm " + number, gemm_of(program.shard(a, step), program.whole(b), program.whole(chunk)));
    program.add(stream, "computed " + number, Barrier{.channel = step % 2});
    program.add(stream, "pull " + number, Copy{program.whole(chunk, -step), program.shard(partials, -step)});
    program.add(stream, "pulled " + number, Barrier{.channel = step % 2});
  }
  const StreamId last = is_pytorch ? main_stream : stream_of(gpus);
  if (gpus == 2) delay(last);
  program.add(last, "gemm own", gemm_of(program.shard(a, 0), program.whole(b), program.shard(partials, 0)));
  program.wait(main_stream, s1);
  program.add(main_stream, "leave", Barrier{.channel = 0});
  program.add(main_stream, "sum",
              MemoryBound{is_pytorch ? MemoryKernel::pytorch_sum : MemoryKernel::partial_sum,
                          {program.whole(partials)},
                          {program.whole(result)}});
  program.set_meaning(meaning_of(pair, rows, a, b, result));
}

/// The accumulator of rank r's rows begins on rank r + 1: in step i a rank adds its product of the rows of rank - 1 - i
/// to what it pulls from rank - 1, which had that accumulator in step i - 1. It does so beside the pull: the sum comes
/// after both. Two accumulators are enough, and one barrier a step: who has met it has pulled what the next sum but one
/// overwrites.
void add_rotating_reduce_scatter(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows) {
  const int gpus = request.gpus;
  const StreamId s1 = program.add_stream("s1", 0);
  const Gemm inputs = add_gemm_inputs(program, rows, pair.n, pair.k, pair.dtype);
  const auto add_shard = [&](const std::string& name, Memory memory) {
    return program.add_buffer(name, rows / gpus, pair.n, DataType::bf16, memory);
  };
  const BufferId even = add_shard("accumulator 0", Memory::symmetric);
  const BufferId odd = add_shard("accumulator 1", Memory::symmetric);
  const BufferId arrived = add_shard("arrived", Memory::local), product = add_shard("product", Memory::local);
  const BufferId result = add_shard("result", Memory::local);
  const auto accumulator = [&](int step) { return step == gpus - 1 ? result : step % 2 == 0 ? even : odd; };
  const auto add_gemm = [&](int step, BufferId c) {
    program.add(main_stream, "gemm " + std::to_string(step),
                gemm_of(program.shard(inputs.a.buffer, gpus - 1 - step), inputs.b, program.whole(c)));
  };

  add_gemm(0, accumulator(0));
  for (int step = 1; step < gpus; ++step) {
    const std::string number = " " + std::to_string(step);
    program.wait(s1, main_stream);
    program.add(s1, "summed " + std::to_string(step - 1), Barrier{.channel = 1});
    program.add(s1, "pull" + number, Copy{program.whole(accumulator(step - 1), -1), program.whole(arrived)});
    add_gemm(step, product);
    program.wait(main_stream, s1);
    program.add(
        main_stream, "add" + number,
        MemoryBound{
            MemoryKernel::add, {program.whole(arrived), program.whole(product)}, {program.whole(accumulator(step))}});
  }
  program.add(main_stream, "leave", Barrier{.channel = 0});
  program.set_meaning(meaning_of(pair, rows, inputs.a.buffer, inputs.b.buffer, result));
}

struct AsyncTpRules {
  static constexpr std::string_view name = "async_tp";
  static constexpr std::string_view meaning = "shard after shard, by copy engines";
  static std::string in_words(const AsyncTp& choice) {
    if (choice.form != AsyncForm::all_to_all) return ", form " + std::string(name_of(choice.form));
    return ", input " + std::string(name_of(choice.input));
  }
  static void add_pair(Program& program, const Case& request, const Machine& machine);
  static bool runs_nccl(const AsyncTp&, const Workload&) { return false; }

  static std::vector<AsyncTp> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    if (const auto* layer = std::get_if<LayerWorkload>(&workload); layer && layer->sequence_parallel && gpus > 1)
      return {{AsyncInput::copied}, {AsyncInput::symmetric}};
    const auto* pair = std::get_if<PairWorkload>(&workload);
    if (pair == nullptr || pair->m % gpus != 0) return {};
    if (pair->op == PairOp::all_gather_gemm) return {{AsyncInput::copied}, {AsyncInput::symmetric}};
    if (pair->op == PairOp::gemm_reduce_scatter) {
      const AsyncTp rotating{AsyncInput::copied, AsyncForm::rotating};
      // Of two GPUs each sends once either way, and the GEMM of the own rows may take the SMs of the one whose result
      // is sent: all_to_all was the slower one in 41 of 43 random pairs in turn on two H100s or H200s, by 5 % on
      // average and 41 % at worst. Who asks for the family by its name gets both.
      if (gpus == 2 && !space.families) return {rotating};
      return {{AsyncInput::copied, AsyncForm::all_to_all}, rotating};
    }
    return {};
  }
};

void AsyncTpRules::add_pair(Program& program, const Case& request, const Machine& machine) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm, PairOp::gemm_reduce_scatter});
  const std::int64_t rows = rows_of_busiest(pair, request.gpus, "gpus");
  const auto& async = std::get<AsyncTp>(request.schedule.family);
  if (pair.op == PairOp::all_gather_gemm) {
    if (async.form != AsyncForm::all_to_all)
      throw InputError("schedule.form", "expected none: all_gather+gemm sums nothing, got rotating");
    return add_all_gather_gemm(program, request, pair, rows);
  }
  if (async.input != AsyncInput::copied)
    throw InputError("schedule.input", "expected none: gemm+reduce_scatter gathers no input, got symmetric");
  if (async.form == AsyncForm::rotating && request.schedule.implementation == Implementation::pytorch)
    throw InputError("schedule.form", "expected all_to_all: PyTorch's sums do not go round, got rotating");
  if (async.form == AsyncForm::rotating) return add_rotating_reduce_scatter(program, request, pair, rows);
  add_gemm_reduce_scatter(program, request, pair, rows, machine);
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::AsyncTp::rules =
    FamilyRules::of<AsyncTp, families::AsyncTpRules>();
