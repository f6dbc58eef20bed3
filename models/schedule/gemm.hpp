// The matrix product of a schedule: its operands and sums, its tiles' order, and what they signal and wait for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/names.hpp"
#include "models/schedule/buffers.hpp"
#include "models/schedule/gemm_kernel.hpp"

namespace weft {

using CounterId = int;

/// When the last tile of group `tile_group` is stored, adds 1 to the counter of rank (rank + place) mod gpus.
struct TileSignal {
  int tile_group = 0;
  CounterId counter = 0;
  int place = 0;
  bool operator==(const TileSignal&) const = default;
};

/// Tiles of group `tile_group` start only once the own counter has reached `value`; with `for_addend` they start
/// before, and what they add to is read only then.
struct TileWait {
  int tile_group = 0;
  CounterId counter = 0;
  std::int64_t value = 1;
  bool for_addend = false;
  bool operator==(const TileWait&) const = default;
};

/// Rows of a GEMM's result, with operands, places and sums of their own.
struct RowBlock {
  Slice a = {}, c = {};
  std::optional<Slice> addend = {};
  std::vector<Slice> replicas = {};
  std::optional<Slice> a_from = {};
  bool operator==(const RowBlock&) const = default;
};

/// Where the ranks meet in a kernel of their own.
enum class PeerMeeting {
  nowhere,
  begin,          ///< nothing is fetched, added or stored before all ranks have begun the operation
  begin_and_end,  ///< besides, it ends on none before it is done on all
};
template <>
struct NamesOf<PeerMeeting> {
  static constexpr std::array names{std::pair{PeerMeeting::nowhere, std::string_view{"nowhere"}},
                                    std::pair{PeerMeeting::begin, std::string_view{"begin"}},
                                    std::pair{PeerMeeting::begin_and_end, std::string_view{"begin_and_end"}}};
};

/// c[m, n] = a[m, k] x b[n, k]^T + `addend`, of c's shape, which may be c itself. Sizes are those of a and b. In a
/// tile-ordered buffer c is the whole storage. A tile of a row-major c is stored in every one of `replicas` too, on
/// whatever ranks they lie. The `earlier` blocks, of as many rows each, are computed before by the same launch of an
/// explicit kernel, one after the other; tile groups count the tiles of all, and none has tiles of two blocks.
/// Where the ranks meet in it, it may fetch rows of a: the launch itself copies them from `a_from`, such as from a
/// peer, while it computes the tiles whose rows are there, and each tile waits for its own. With a of RankRows each
/// rank computes its own rows, by the kernel of the rank that has most, whose tiles the groups count; the tiles of a
/// rank with fewer are the first ones of its groups, and it signals the groups that it has no tiles of when it starts.
struct Gemm {
  Slice a = {}, b = {}, c = {};
  std::optional<Slice> addend = {};
  std::optional<GemmKernel> kernel = {};       ///< empty: what the machine's library chooses
  int max_sms = 0;                             ///< 0: no limit
  TileOrder order = {};                        ///< used with an explicit kernel
  std::vector<std::int64_t> tile_groups = {};  ///< tiles of each group in execution order; empty: one group of all
  std::vector<TileSignal> signals = {};
  std::vector<TileWait> waits = {};
  std::vector<Slice> replicas = {};  ///< of c's shape and type; used with an explicit kernel
  std::vector<RowBlock> earlier = {};
  std::optional<Slice> a_from = {};
  PeerMeeting meets = PeerMeeting::nowhere;
  bool operator==(const Gemm&) const = default;
};
inline bool ranks_meet(const Gemm& gemm) { return gemm.meets != PeerMeeting::nowhere; }
inline bool ranks_meet_at_end(const Gemm& gemm) { return gemm.meets == PeerMeeting::begin_and_end; }

/// All of them, in the order in which they are computed.
inline std::vector<RowBlock> row_blocks(const Gemm& gemm) {
  std::vector<RowBlock> blocks = gemm.earlier;
  blocks.push_back({gemm.a, gemm.c, gemm.addend, gemm.replicas, gemm.a_from});
  return blocks;
}

}  // namespace weft
