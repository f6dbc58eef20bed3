#include "tests/scenarios/program_text.hpp"

#include "tests/models/error_of.hpp"
#include "tests/scenarios/built_by_model.hpp"

namespace weft::scenarios {
namespace {

std::string joined(const std::vector<Slice>& slices, const Schedule& schedule) {
  std::string text;
  for (const Slice& slice : slices) text += (text.empty() ? "" : ", ") + text_of(slice, schedule);
  return text;
}

}  // namespace

Machine round_machine() {
  Machine machine;
  machine.name = "round";
  machine.gpus = 8;
  machine.gpu.gpc_sms = {50, 50};
  machine.gpu.registers_per_sm = 65536;
  machine.gpu.shared_memory_per_sm = 200000;
  machine.gpu.threads_per_sm = 2048;
  machine.gpu.ctas_per_sm = 16;
  machine.gemm.threads_per_cta = 256;
  machine.gemm.registers_per_thread = 256;
  machine.gemm.cooperative_efficiency = machine.gemm.pingpong_efficiency = 1;
  machine.gpu.l2_GBps = machine.gpu.l2_unique_GBps = 1e6;
  machine.gpu.l2_lost_bytes = 1;
  machine.gpu.max_clock_MHz = 1000;
  machine.gpu.tensor_flops_per_clock_per_sm = 1000;
  machine.gpu.hbm_GBps = 1000;
  machine.fabric.link.peak_GBps = 100;
  machine.fabric.peer_access = true;
  const FusedNormForm form{.cta_GBps = 10, .port_GBps = 80, .latency_us = 5};
  machine.fused_norm_kernel = {.threads_per_cta = 1024, .registers_per_thread = 32, .peer = form, .multicast = form};
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    machine.collectives.push_back({.kind = kind, .gpus = 8, .ctas = 20, .points = {{1 << 20, 20}, {1 << 30, 20000}}});
  return machine;
}

Case make_case(Workload workload, int gpus, Family family) {
  Case request;
  request.id = "test";
  request.gpus = gpus;
  request.workload = std::move(workload);
  request.schedule.family = std::move(family);
  return request;
}

Schedule build_case(Workload workload, int gpus, Family family) {
  return built_by_model(make_case(std::move(workload), gpus, std::move(family)), round_machine());
}

std::string build_error(Workload workload, int gpus, Family family) {
  return error_of([&] { build_case(workload, gpus, family); });
}

std::vector<std::string> program_of(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const Operation& operation : schedule.operations) {
    std::string line = schedule.streams[operation.stream].name + ": " + operation.name;
    for (const After& after : operation.after) line += " after " + schedule.operations[after.operation].name;
    lines.push_back(line);
  }
  return lines;
}

std::string text_of(const Slice& slice, const Schedule& schedule) {
  const std::int64_t first = first_row(slice.rows, 0, schedule.gpus);
  const std::int64_t last = first + row_count(slice.rows, schedule.gpus);
  return schedule.buffers[slice.buffer].name + (slice.place == 0 ? "" : "@" + std::to_string(slice.place)) + "[" +
         std::to_string(first) + ":" + std::to_string(last) + ", " + std::to_string(slice.first_column) + ":" +
         std::to_string(slice.first_column + slice.columns) + "]";
}

std::string operands_of(const Operation& operation, const Schedule& schedule) {
  const auto text = [&schedule](const Slice& slice) { return text_of(slice, schedule); };
  return std::visit(
      Overloaded{
          [&](const Gemm& gemm) { return text(gemm.a) + " x " + text(gemm.b) + " -> " + text(gemm.c); },
          [&](const GroupedGemm& gemm) { return text(gemm.a) + " x " + text(gemm.b) + " -> " + text(gemm.c); },
          [&](const AllReduceNorm& work) {
            return text(work.partial) + ", " + text(work.residual) + " -> " + text(work.normed);
          },
          [&](const Collective& collective) { return text(collective.input) + " -> " + text(collective.output); },
          [&](const GroupedExchange& exchange) { return text(exchange.input) + " -> " + text(exchange.output); },
          [&](const PartialAttention& attention) {
            return text(attention.queries) + ", " + text(attention.keys_values) + " -> " + text(attention.output);
          },
          [&](const Copy& copy) { return text(copy.source) + " -> " + text(copy.destination); },
          [&](const MemoryBound& kernel) {
            return joined(kernel.reads, schedule) + " -> " + joined(kernel.writes, schedule);
          },
          [&](const Attention& attention) { return text(attention.qkv) + " -> " + text(attention.output); },
          [](const auto&) { return std::string(); }},
      operation.work);
}

}  // namespace weft::scenarios
