#include "scenarios/schedule_words.hpp"

#include <algorithm>
#include <array>

#include "models/base/text.hpp"
#include "scenarios/pair_schedule.hpp"
#include "scenarios/parts.hpp"

namespace weft::scenarios {
namespace {

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string mover_of(const Hybrid& hybrid) {
  switch (hybrid.mover) {
    case HybridMover::nccl:
      return "NCCL";
    case HybridMover::pull:
      return "pulls";
    case HybridMover::push:
      return "pushes";
    case HybridMover::peer_kernel:
      return "copy kernels";
    case HybridMover::fetch:
      return "rows fetched by the GEMM";
    case HybridMover::store:
      break;
  }
  return "tiles stored on peers";
}

std::string pieces_of(const Hybrid& hybrid) {
  switch (hybrid.pieces) {
    case HybridPieces::chunks:
      return "chunk by chunk";
    case HybridPieces::shards:
      return "shard by shard";
    case HybridPieces::columns:
      break;
  }
  return "by columns";
}

/// What a family is called, and what its choices add to that.
struct Words {
  std::string kind, details;
};

Words words_of_family(const Serial&) { return {"serial", ""}; }
Words words_of_family(const Decomposition& one) { return {"chunks", ", " + counted(one.chunks, "chunk")}; }
Words words_of_family(const Signaling& one) {
  return {"one GEMM that signals groups of tiles",
          one.groups.empty() ? "" : ", " + counted(static_cast<std::int64_t>(one.groups.size()), "group")};
}
Words words_of_family(const AsyncTp& one) {
  std::string details = one.input == AsyncInput::symmetric ? ", symmetric input" : "";
  if (one.form == AsyncForm::rotating) details += ", rotating sums";
  return {"async TP", details};
}
Words words_of_family(const Concurrent& one) {
  return {"side by side", ", " + std::string(name_of(one.first)) + " first"};
}
Words words_of_family(const Ficco& one) {
  return {"FiCCO", " " + std::string(name_of(one.compute)) + " " + std::string(name_of(one.gemm)) + " " +
                       std::string(name_of(one.chunks)) +
                       (one.transport == FiccoTransport::collective ? " by collectives" : "")};
}
Words words_of_family(const TokenSplit& one) {
  std::string details = one.first ? ", first " + counted(*one.first, "token") : "";
  if (one.fused_norm) details += ", norm fused with the all-reduce on " + counted(one.comm_ctas, "CTA");
  return {"two token splits", details};
}
Words words_of_family(const Staged& one) {
  return {"staged attention", one.stages ? ", " + counted(*one.stages, "stage") : ""};
}
Words words_of_family(const Hybrid& one) {
  std::string details;
  if (one.pieces != HybridPieces::shards || one.count > 1) details += ", in " + std::to_string(one.count);
  if (one.lanes == HybridLanes::each_peer) details += ", all peers at once";
  if (one.trigger == HybridTrigger::kernel_start) details += ", begun with the next GEMM";
  if (one.trigger == HybridTrigger::tile_group) details += ", of one GEMM";
  if (one.trigger == HybridTrigger::one_launch) details += ", in one launch";
  if (one.ahead) details += ", launched ahead";
  if (one.urgent) details += ", urgent";
  if (one.gemm_sms > 0) details += ", GEMM on " + counted(one.gemm_sms, "SM");
  if (one.kernel_barrier) details += ", kernel barrier";
  if (one.sums == HybridSums::by_piece) details += ", summed piece by piece";
  if (one.sums == HybridSums::everywhere) details += ", summed on every GPU";
  if (one.sums == HybridSums::in_gemm) details += ", summed by the GEMMs";
  if (one.late_sums) details += ", after the last GEMM";
  return {mover_of(one) + " " + pieces_of(one), details};
}
Words words_of_family(const Pairs& one) {
  std::string details;
  const auto add = [&](const char* pair, const std::optional<PairSchedule>& schedule) {
    if (schedule) details += std::string(", ") + pair + ": " + words_of(alone(*schedule, {}));
  };
  add("qkv", one.qkv), add("o", one.o), add("gate and up", one.gate_up), add("down", one.down);
  return {"pairs overlapped", details};
}
Words words_of_family(const Best&) { return {"the best", ""}; }

std::string_view words_of_collectives(Collectives collectives) {
  switch (collectives) {
    case Collectives::nccl:
      return "NCCL";
    case Collectives::nccl_nvls:
      return "NCCL in the switch";
    case Collectives::nccl_symmetric:
      return "NCCL on symmetric memory";
    case Collectives::nccl_copy_engine:
      return "NCCL's copy engines";
    case Collectives::one_shot:
      return "all-reduces in one shot";
    case Collectives::two_shot:
      return "collectives over peer memory";
    case Collectives::multimem:
      return "collectives in the switch";
    case Collectives::none:
      break;
  }
  return "no collectives";
}

/// Where NCCL is what one expects, only what is not NCCL is said.
bool says_nccl(const Family& family) {
  return std::holds_alternative<Decomposition>(family) || std::holds_alternative<Signaling>(family);
}

Words words_of_any(const ScheduleChoice& choice) {
  Words words = std::visit([](const auto& family) { return words_of_family(family); }, choice.family);
  if (choice.collectives != Collectives::nccl || says_nccl(choice.family))
    words.kind += ", " + std::string(words_of_collectives(choice.collectives));
  return words;
}

}  // namespace

std::string kind_of(const ScheduleChoice& choice) { return words_of_any(choice).kind; }

std::string words_of(const ScheduleChoice& choice) {
  const Words words = words_of_any(choice);
  std::string text = words.kind + words.details;
  if (choice.max_ctas > 0) text += ", at most " + counted(choice.max_ctas, "CTA");
  if (choice.launch == Launch::eager) text += ", eager";
  if (!choice.urgent) text += ", ordinary streams";
  if (choice.max_connections > 0) text += ", " + counted(choice.max_connections, "connection");
  return text;
}

namespace {

constexpr Bytes KiB = 1024, MiB = 1024 * KiB;

/// Both servers have kernels of their own by default for 2, 4, 6 or 8 GPUs each of which has a link to each, or for any
/// two: vllm/distributed/device_communicators/custom_all_reduce.py at 00d618aa, SGLang's at 004e6561.
bool has_own_all_reduce(const Machine& machine, int gpus) {
  const bool are_linked = treats_gpus_alike(machine.fabric.kind) || gpus == 2;
  return are_linked && gpus % 2 == 0 && gpus <= 8 && machine.runtime != Runtime::cann;
}

/// Fewer bytes than these go by such kernels and not by the library. vLLM's limits are those of all_reduce_utils.py at
/// 00d618aa: of its custom all-reduce, and where the switch has multicast of PyTorch's over symmetric memory.
Bytes vllm_reduces_below(const Machine& machine, int gpus) {
  const bool is_hopper = machine.architecture == Architecture::hopper;
  if (machine.runtime != Runtime::cuda || (!is_hopper && machine.architecture != Architecture::blackwell))
    return 8 * MiB;
  if (machine.fabric.multicast)
    return is_hopper ? (gpus == 4 ? 32 : 64) * MiB : (gpus == 2 ? 8 : gpus == 4 ? 32 : 128) * MiB;
  if (is_hopper) return gpus <= 4 ? 8 * MiB : gpus == 6 ? 512 * KiB : 256 * KiB;
  return (gpus <= 4 ? 2 : 1) * MiB;
}
constexpr Bytes sglang_reduces_below = 8 * MiB;

/// That a layer or a pair all-reduces at once; none: it does not.
std::optional<Bytes> all_reduced_bytes(const Workload& workload) {
  if (const auto* layer = std::get_if<LayerWorkload>(&workload); layer != nullptr && !layer->sequence_parallel)
    return layer->tokens * layer->hidden * bytes_of(DataType::bf16);
  if (const auto* pair = std::get_if<PairWorkload>(&workload); pair != nullptr && pair->op == PairOp::gemm_all_reduce)
    return parts_of(workload)->collective.bytes;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> other_software(const Case& request, const Machine& machine) {
  const ScheduleChoice& choice = request.schedule;
  if (std::holds_alternative<Signaling>(choice.family)) {
    const bool is_written_for_it = machine.runtime == Runtime::cuda && machine.architecture != Architecture::hopper;
    return is_written_for_it ? std::vector<std::string>{"FlashOverlap"} : std::vector<std::string>{};
  }
  const Fabric& fabric = machine.fabric;
  if (!fabric.peer_access) return {};  // all else reads or writes other GPUs' memory
  std::vector<std::string> async_tp;
  if (machine.runtime != Runtime::cann) async_tp.emplace_back("PyTorch (async TP)");
  // vLLM has the pass on CUDA alone: vllm/compilation/passes/pass_manager.py, current_platform.is_cuda().
  if (machine.runtime == Runtime::cuda) async_tp.emplace_back("vLLM (fuse_gemm_comms)");
  if (std::holds_alternative<AsyncTp>(choice.family)) return async_tp;
  if (const auto* pairs = std::get_if<Pairs>(&choice.family)) {
    const std::array schedules{pairs->qkv, pairs->o, pairs->gate_up, pairs->down};
    const bool is_async_tp = std::all_of(schedules.begin(), schedules.end(), [](const auto& one) {
      return !one || std::holds_alternative<AsyncTp>(one->family);
    });
    const bool is_of_all = std::ranges::all_of(schedules, [](const auto& one) { return one.has_value(); });
    if (is_async_tp && !is_of_all && !async_tp.empty())
      return {async_tp.front()};  // vLLM fuses each pair that it finds
    return is_async_tp ? async_tp : std::vector<std::string>{};
  }
  const bool is_of_peers = choice.collectives == Collectives::one_shot || choice.collectives == Collectives::two_shot ||
                           choice.collectives == Collectives::multimem;
  if (std::holds_alternative<Serial>(choice.family) && is_of_peers && has_own_all_reduce(machine, request.gpus)) {
    const auto bytes = all_reduced_bytes(request.workload);
    std::vector<std::string> servers;
    if (bytes && *bytes < vllm_reduces_below(machine, request.gpus)) servers.emplace_back(vllm_all_reduce);
    const bool is_in_switch = choice.collectives == Collectives::multimem;
    if (bytes && *bytes < sglang_reduces_below && !is_in_switch) servers.emplace_back("SGLang (its own all-reduce)");
    return servers;
  }
  // vLLM's dual batch overlap and SGLang's two batch overlap need experts on GPUs of their own
  // (vllm/docs/design/dbo.md; check_two_batch_overlap of SGLang's server_args.py), which no layer here has.
  const auto* split = std::get_if<TokenSplit>(&choice.family);
  const bool has_switch = machine.runtime == Runtime::cuda && fabric.multicast;  // which TokenWeave sums in
  if (split != nullptr && split->fused_norm && has_switch) return {"TokenWeave"};
  return {};
}

bool is_called(const Case& request, const std::string& name) {
  return !name.empty() && (request.id == name || words_of(request.schedule) == name);
}

}  // namespace weft::scenarios
