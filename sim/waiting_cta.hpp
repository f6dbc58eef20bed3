// The one CTA of a kernel that waits for other ranks or for a counter, or that raises one: it takes next to nothing of
// its SM, but where a GEMM leaves nothing, it begins when a CTA of the GEMM ends.
#pragma once

#include <functional>

#include "sim/activity.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

class WaitingCta : public Grid {
 public:
  using OnPlaced = std::function<void(Activity&, Engine&)>;
  WaitingCta(Engine& engine, SmPool& sms, const CtaShape& shape, OnPlaced on_placed);

  /// Calls back once the CTA has its place.
  void wait_for_room(Activity& activity, int of_kernel);
  void leave();

 private:
  void on_placed(std::span<const int> sms) override;

  Engine& engine_;
  SmPool& sms_;
  OnPlaced call_back_;
  Activity* activity_ = nullptr;
  int sm_ = -1;
};

}  // namespace weft::sim
