// Sharing rates anew: 8 GPUs, each sending to each other through its ports and both memories.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/fluid_pool.hpp"
#include "tests/benchmarks/peak_memory.hpp"

namespace weft::sim {
namespace {

constexpr int gpus = 8;

/// Transfers of different sizes that each start again when they end, so each end is a plan of all 56 flows.
class AllToAll {
 public:
  AllToAll() {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      out_[gpu] = pool_.add_resource(400e3);
      in_[gpu] = pool_.add_resource(400e3);
      memory_[gpu] = pool_.add_resource(4e6);
    }
    for (int source = 0; source < gpus; ++source)
      for (int offset = 1; offset < gpus; ++offset) {
        const int destination = (source + offset) % gpus;
        flows_.push_back(
            {this, 1e6 + 1e4 * static_cast<double>(flows_.size()), 390e3,
             pool_.add_path(
                 Uses{{out_[source], 1}, {in_[destination], 1}, {memory_[source], 1}, {memory_[destination], 1}})});
      }
    for (Flow& flow : flows_) start(&flow);
  }
  AllToAll(const AllToAll&) = delete;

  void run_until_plans(std::uint64_t plans) {
    while (pool_.plans() < plans) engine_.step();
  }
  std::uint64_t plans() const { return pool_.plans(); }

 private:
  struct Flow {
    AllToAll* all;
    double work;
    double cap;
    PathId path;
  };
  static void start(void* context) {
    auto* flow = static_cast<Flow*>(context);
    flow->work = flow->work < 2e6 ? flow->work * 1.1 : 1e6;  // never an equal successor
    flow->cap = flow->cap > 380e3 ? flow->cap - 1 : 390e3;
    flow->all->pool_.start(flow->work, flow->cap, flow->path, {start, flow});
  }

  Engine engine_;
  FluidPool pool_{engine_};
  int out_[gpus], in_[gpus], memory_[gpus];
  std::vector<Flow> flows_;
};

void fluid_resolve(benchmark::State& state) {
  AllToAll traffic;
  for (auto _ : state) traffic.run_until_plans(traffic.plans() + 1);
  state.SetItemsProcessed(state.iterations());
  state.counters["flows"] = gpus * (gpus - 1);
  report_peak_memory(state);
}
BENCHMARK(fluid_resolve);

}  // namespace
}  // namespace weft::sim
