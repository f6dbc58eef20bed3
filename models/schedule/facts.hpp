// What is true of an operation whatever the machine and its neighbours. Checks, the simulator, energy, losses and
// reports read it here; what it reads and writes is its footprint (footprint.hpp), how much it computes and sends
// stands in amounts.hpp.
#pragma once

#include <span>
#include <string_view>

#include "models/schedule/schedule.hpp"

namespace weft {

/// What the time of an operation goes to.
enum class Role {
  matrix,           ///< GEMMs
  attention,        ///< kernels that use the tensor cores, but are no GEMMs
  memory,           ///< kernels and copies that stay on their GPU
  communication,    ///< data goes from one rank to another
  synchronisation,  ///< no data moves: others are ordered, or time passes
};

struct Facts {
  std::string_view kind;             ///< word in JSON and traces: "gemm", "collective", …
  Role role = Role::matrix;          ///< a GEMM that stores to peers is a GEMM
  bool is_collective = false;        ///< all ranks take part in one transfer of data
  bool by_library = false;           ///< NCCL runs it, which adds nodes of its own to a graph
  bool runs_on_copy_engine = false;  ///< and so takes no SM
  bool crosses_ranks = false;        ///< reads or writes a peer's memory, or adds to a peer's counter
  bool differs_by_rank = false;      ///< ranks may have different amounts of it
  /// How often all ranks meet in it: 1 where it starts on every rank before it ends on any, 2 where they meet again at
  /// its end. In a grouped exchange a rank meets only those that send to it.
  int meetings = 0;
};
Facts facts(const Work& work);

/// Whether NCCL runs one on another stream than the first, on which graphs begin.
bool has_library_on_branch(const Schedule& schedule);

/// All ranks meet, and that is all.
inline bool is_barrier(const Facts& of_work) { return of_work.role == Role::synchronisation && of_work.meetings > 0; }

/// Parts of an operation that are points of their own (Point::tile_group), add to counters and wait for them.
struct TileGroups {
  int count = 0;                             ///< at least 1 for a GEMM, 0 for whatever has no such parts
  std::span<const std::int64_t> tiles = {};  ///< of each group; empty: one group of all tiles
  std::span<const TileSignal> signals = {};
  std::span<const TileWait> waits = {};
  bool meets = false;  ///< no group fetches, adds or stores before all ranks have begun the operation
  /// Groups wait for what they add to, or for the ranks, and have read the operands before: those are a part by itself
  /// (footprint.hpp).
  bool reads_operands_before_waits() const;
};
/// Points into `work`.
TileGroups tile_groups(const Work& work);

}  // namespace weft
