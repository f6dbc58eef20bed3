#include "sim/sm_layout.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

SmRoom empty_sm_of(const Gpu& gpu) {
  return {gpu.ctas_per_sm, gpu.threads_per_sm, gpu.registers_per_sm, gpu.shared_memory_per_sm};
}

}  // namespace

int SmRoom::ctas(const CtaShape& cta) const {
  int most = slots;
  if (cta.threads > 0) most = std::min(most, threads / cta.threads);
  if (cta.registers > 0) most = std::min(most, registers / cta.registers);
  if (cta.shared_memory > 0) most = static_cast<int>(std::min<Bytes>(most, shared_memory / cta.shared_memory));
  return most;
}

SmRoom SmRoom::without(const CtaShape& cta, int ctas) const {
  return {slots - ctas, threads - ctas * cta.threads, registers - ctas * cta.registers,
          shared_memory - ctas * cta.shared_memory};
}

SmLayout::SmLayout(const Gpu& gpu) : gpc_sms_(gpu.gpc_sms), empty_sm_(empty_sm_of(gpu)) {
  for (int gpc = 0; gpc < gpcs(); ++gpc) {
    first_sm_.push_back(sms());
    gpc_of_.insert(gpc_of_.end(), gpc_sms_[gpc], gpc);
  }
}

bool SmLayout::is_of(const Gpu& gpu) const { return gpc_sms_ == gpu.gpc_sms && empty_sm_ == empty_sm_of(gpu); }

int SmLayout::capacity(const CtaShape& cta, int cluster) const {
  const int per_sm = empty_sm_.ctas(cta);
  if (cluster == 1) return sms() * per_sm;
  int total = 0;
  for (const int sms_of_gpc : gpc_sms_)
    if (sms_of_gpc >= cluster) total += sms_of_gpc * per_sm / cluster * cluster;
  return total;
}

const std::vector<int>& SmLayout::round_of(int cluster) {
  const auto [known, is_new] = rounds_.try_emplace(cluster);
  std::vector<int>& round = known->second;
  if (!is_new) return round;
  std::vector<int> taken(gpc_sms_.size());
  go_round([&](int gpc) {
    if (taken[gpc] + cluster > gpc_sms_[gpc]) return false;
    for (int i = 0; i < cluster; ++i) round.push_back(first_sm_[gpc] + taken[gpc]++);
    return true;
  });
  return round;
}

}  // namespace weft::sim
