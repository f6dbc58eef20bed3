// The one CTA of a kernel that waits for other ranks or for a counter, or that raises one: it takes next to nothing of
// its SM, but where a GEMM leaves nothing, it begins when a CTA of the GEMM ends.
#pragma once

#include "sim/activity.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

class WaitingCta : public Grid {
 public:
  /// Its one warp and few registers fit beside all kernels that were recorded.
  WaitingCta(Engine& engine, SmPool& sms, Bytes shared_memory_reserve);

  /// Lets both points of the activity that say when CTAs have started happen once the CTA has its place.
  void wait_for_room(Activity& activity, int priority);
  void leave();

 private:
  void on_placed(std::span<const int> sms) override;

  Engine& engine_;
  SmPool& sms_;
  Activity* activity_ = nullptr;
  int sm_ = -1;
};

}  // namespace weft::sim
