#include "calibration/selftest_edges.hpp"

#include <string>

#include "models/schedule/facts.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t m = 4096, n = 3072, k = 2048;  // 384 tiles of the first kernel of ours
constexpr int heads = 16, head_dim = 128;
constexpr StreamId compute = 0, communication = 1;
constexpr BufferId a = 0, b = 1, c = 2, others = 3, received = 4, residual = 5, qkv = 6, attended = 7;

Slice rows_of(const Schedule& schedule, BufferId buffer, std::int64_t first, std::int64_t count) {
  return {buffer, 0, RowRange{first, count}, 0, schedule.buffers[static_cast<std::size_t>(buffer)].columns};
}
Slice whole(const Schedule& schedule, BufferId buffer) {
  return rows_of(schedule, buffer, 0, schedule.buffers[static_cast<std::size_t>(buffer)].rows);
}

Schedule gemm_that_is_looked_at(int gpus) {
  Schedule schedule;
  schedule.family = "serial";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}, {"communication", -5}};
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory) {
    schedule.buffers.push_back({.name = name, .rows = rows, .columns = columns, .memory = memory, .layout = {}});
  };
  add("a", m, k, Memory::local), add("b", n, k, Memory::local), add("c", m, n, Memory::local);
  add("others", m, n, Memory::symmetric), add("received", m, n, Memory::symmetric),
      add("residual", m, n, Memory::local);
  add("qkv", m, 3 * heads * head_dim, Memory::local), add("attended", m, heads * head_dim, Memory::local);
  schedule.meaning = Meaning{"gemm", m, n, k, a, b, c, 1};
  return schedule;
}

Gemm own_gemm(const Schedule& schedule) {
  Gemm gemm;
  gemm.a = whole(schedule, a), gemm.b = whole(schedule, b), gemm.c = whole(schedule, c);
  gemm.kernel = own_kernels.front();
  gemm.order = own_order;
  gemm.max_sms = 96;
  gemm.tile_groups = {96, 96, 192};
  return gemm;
}

Collective collective(const Schedule& schedule, CollectiveKind kind, Transport transport) {
  const BufferId output = kind == CollectiveKind::all_reduce ? others : received;
  return {.kind = kind,
          .input = whole(schedule, others),
          .output = whole(schedule, output),
          .transport = transport,
          .max_ctas = 16};
}

/// The second group of tiles is followed by a collective of the library on memory that nobody else uses.
Schedule behind_start(int gpus, const std::string& name, const Work& followed, Point point, Launch launch) {
  Schedule schedule = gemm_that_is_looked_at(gpus);
  schedule.name = "behind " + std::string(name_of(point)) + " of " + name + (launch == Launch::eager ? ", eager" : "") +
                  ", gpus=" + std::to_string(gpus);
  schedule.launch = launch;
  const Slice half = rows_of(schedule, residual, 0, m / 2);
  Collective later{.kind = CollectiveKind::all_reduce, .input = half, .output = half};
  schedule.operations = {{"first", communication, {}, followed},
                         {"gemm", compute, {{0, point, 0}}, own_gemm(schedule)},
                         {"second", communication, {{1, Point::tile_group, 1}}, later}};
  return schedule;
}

}  // namespace

std::vector<Schedule> edge_schedules(int gpus) {
  const Schedule buffers = gemm_that_is_looked_at(gpus);
  const auto by = [&](CollectiveKind kind, Transport transport) { return Work(collective(buffers, kind, transport)); };
  const Slice summed = whole(buffers, others), kept = whole(buffers, residual), normed = whole(buffers, received);
  const std::vector<std::pair<std::string, Work>> followed{
      {"an all_reduce", by(CollectiveKind::all_reduce, Transport::nccl)},
      {"an all_to_all", by(CollectiveKind::all_to_all, Transport::nccl)},
      {"attention", Attention{whole(buffers, qkv), whole(buffers, attended), heads, heads, head_dim}},
      {"an all_reduce over peer memory", by(CollectiveKind::all_reduce, Transport::peer_kernel)},
      {"an all_reduce with a norm", AllReduceNorm{summed, kept, normed, Transport::peer_kernel, 16}}};
  std::vector<Schedule> schedules;
  for (const auto& [name, work] : followed) {
    schedules.push_back(behind_start(gpus, name, work, Point::all_ctas_started, Launch::graph));
    if (!counts_its_ctas(work)) continue;
    schedules.push_back(behind_start(gpus, name, work, Point::first_cta_started, Launch::graph));
    schedules.push_back(behind_start(gpus, name, work, Point::all_ctas_started, Launch::eager));
    schedules.push_back(behind_start(gpus, name, work, Point::first_cta_started, Launch::eager));
  }
  return schedules;
}

}  // namespace weft::calibration
