#include "sim/waiting_cta.hpp"

namespace weft::sim {

WaitingCta::WaitingCta(Engine& engine, SmPool& sms, Bytes shared_memory_reserve) : engine_(engine), sms_(sms) {
  cta = {.threads = 0, .registers = 0, .shared_memory = shared_memory_reserve};
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
  activity_->first_cta_started.happen(engine_);
  activity_->all_ctas_started.happen(engine_);
}

}  // namespace weft::sim
