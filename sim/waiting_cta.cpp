#include "sim/waiting_cta.hpp"

#include <utility>

namespace weft::sim {

WaitingCta::WaitingCta(Engine& engine, SmPool& sms, const CtaShape& shape, OnPlaced on_placed)
    : engine_(engine), sms_(sms), call_back_(std::move(on_placed)) {
  cta = shape;
}

void WaitingCta::wait_for_room(Activity& activity, int of_kernel) {
  owner = activity_ = &activity;
  priority = of_kernel;
  unplaced = 1;
  sms_.submit(*this);
}

void WaitingCta::leave() { sms_.release(*this, {&sm_, 1}); }

void WaitingCta::on_placed(std::span<const int> sms) {
  sm_ = sms.front();
  call_back_(*activity_, engine_);
}

}  // namespace weft::sim
