// One operation on a GPU that runs nothing else, as what launches its kernel sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kernel_launch.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace launched {

inline constexpr std::int64_t rows = 1024, columns = 512, depth = 256;

/// One operation, with buffers a, b and c of a GEMM.
inline Schedule schedule_of(int gpus, Work work) {
  Schedule schedule;
  schedule.gpus = gpus;
  const auto add_buffer = [&](const char* name, std::int64_t buffer_rows, std::int64_t buffer_columns, Memory memory) {
    Buffer& buffer = schedule.buffers.emplace_back();
    buffer.name = name;
    buffer.rows = buffer_rows;
    buffer.columns = buffer_columns;
    buffer.memory = memory;
  };
  add_buffer("a", rows, depth, Memory::local);
  add_buffer("b", columns, depth, Memory::local);
  add_buffer("c", rows, columns, Memory::symmetric);
  schedule.streams.push_back({"main", 0});
  schedule.operations.push_back({"kernel", 0, {}, std::move(work)});
  return schedule;
}

/// That operation on rank 0, and what it finds on its GPU: an empty L2.
class Launched {
 public:
  Launched(int gpus, Work work, const Machine& machine = test_machine())
      : schedule_(schedule_of(gpus, std::move(work))),
        machine_(machine),
        costs_(operation_costs(schedule_, machine, false)) {
    activity_.operation = &schedule_.operations.front();
    activity_.is_root = true;
  }

  const Work& work() const { return schedule_.operations.front().work; }
  const OperationCost& cost() const { return costs_.front(); }
  void is_by(Implementation implementation) { schedule_.implementation = implementation; }
  void bring_from_memory(double share) {
    costs_.front().traffic.hbm_bytes = share * costs_.front().traffic.touched_bytes;
  }
  void let_it_signal() { costs_.front().signals = true; }
  LaunchSite site() { return at_clock_between(1); }
  LaunchSite at_clock_between(double share) {
    tile_.reset();
    return {.activity = activity_,
            .machine = machine_,
            .schedule = schedule_,
            .cost = cost(),
            .sms = sms_,
            .links = links_,
            .hbm = hbm,
            .l2 = l2,
            .hbm_GBps = machine_.gpu.hbm_GBps,
            .ranks = schedule_.gpus,
            .clock_share = 1,
            .share_between = share,
            .tile = tile_};
  }
  static constexpr int hbm = 100, l2 = 101;  // no resources of the pool: those are the links

 private:
  Schedule schedule_;
  Machine machine_;
  std::optional<TileOfWave> tile_;
  std::vector<OperationCost> costs_;
  Activity activity_;
  Engine engine_;
  FluidPool pool_{engine_};
  SmLayout sms_{test_machine().gpu};
  FabricLinks links_{pool_, test_machine().fabric, schedule_.gpus, true};
};

inline Slice whole(BufferId buffer, std::int64_t buffer_rows, std::int64_t buffer_columns, int place = 0) {
  return {.buffer = buffer, .place = place, .rows = RowRange{0, buffer_rows}, .columns = buffer_columns};
}

/// Bytes of all tiles that go through a resource.
inline double bytes_through(const KernelLaunch& launch, int resource) {
  double bytes = 0;
  for (const Use& use : launch.work.uses)
    if (use.resource == resource)
      bytes += use.per_unit * launch.work.bytes_per_tile * static_cast<double>(launch.work.tiles);
  return bytes;
}

}  // namespace launched
}  // namespace weft::sim
