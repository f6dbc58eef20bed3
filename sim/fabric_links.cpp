#include "sim/fabric_links.hpp"

#include "models/cost/library_model.hpp"

namespace weft::sim {

int FabricLinks::resource(const FabricLink& link, int asker) {
  constexpr double unlimited = 1e6;  // times the capacity: limits nobody
  const auto [found, is_new] = resources_.try_emplace({are_shared_ ? all_gpus : asker, link});
  const double scale = are_shared_ || asker != all_gpus ? 1 : unlimited;
  if (is_new) found->second = pool_.add_resource(bytes_per_us(rate_of(fabric_, link).GBps) * scale);
  return found->second;
}

int FabricLinks::staging(int gpu, int asker) {
  const auto [found, is_new] = staging_.try_emplace({are_shared_ ? all_gpus : asker, gpu});
  if (is_new) found->second = pool_.add_resource(bytes_per_us(fabric_.host.staging_GBps));
  return found->second;
}

std::vector<Use> FabricLinks::kernel_uses(int source, int destination, int asker, double share) {
  std::vector<Use> uses;
  for (const FabricLink& link : route(fabric_, source, destination)) uses.push_back({resource(link, asker), share});
  return uses;
}

std::vector<Use> FabricLinks::copy_uses(int source, int destination, int asker) {
  std::vector<Use> uses = kernel_uses(source, destination, asker, 1.0);
  if (!fabric_.peer_access)
    for (const int gpu : {source, destination}) uses.push_back({staging(gpu, asker), 1.0});
  return uses;
}

const std::vector<Use>& FabricLinks::collective_uses(CollectiveAlgorithm algorithm, int gpus, bool is_merged) {
  std::vector<Use>& uses = collective_uses_[static_cast<std::size_t>(algorithm)];
  if (!uses.empty()) return uses;
  const bool is_uniform = fabric_.kind == FabricKind::nvswitch || fabric_.kind == FabricKind::mesh;
  for (const LinkLoad& load : link_loads(fabric_, algorithm, gpus))
    if (!is_merged || !is_uniform || (load.link.from == 0 && load.link.to <= 1))
      uses.push_back({resource(load.link, all_gpus), load.share});
  return uses;
}

double FabricLinks::served_out(int gpu) const {
  double bytes = 0;
  for (const auto& [key, resource] : resources_)
    if (leaves(key.second, gpu)) bytes += pool_.served(resource);
  return bytes;
}

double FabricLinks::served_in(int gpu) const {
  double bytes = 0;
  for (const auto& [key, resource] : resources_)
    if (enters(key.second, gpu)) bytes += pool_.served(resource);
  return bytes;
}

}  // namespace weft::sim
