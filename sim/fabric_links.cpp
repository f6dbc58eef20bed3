#include "sim/fabric_links.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

constexpr std::size_t link_kinds = static_cast<std::size_t>(LinkKind::bridge) + 1;  // the last one

}  // namespace

FabricLinks::FabricLinks(FluidPool& pool, const Fabric& fabric, int gpus, bool are_shared)
    : pool_(pool),
      fabric_(fabric),
      gpus_(gpus),
      are_shared_(are_shared),
      resources_(askers() * link_kinds * gpus * gpus, -1),
      staging_(askers() * gpus, -1) {}

void FabricLinks::restart() {
  for (const Made& made : made_) resources_[made.place] = -1;
  made_.clear();
  std::fill(staging_.begin(), staging_.end(), -1);
}

int FabricLinks::resource(const FabricLink& link, int asker) {
  const std::size_t kind = asker_place(asker) * link_kinds + static_cast<std::size_t>(link.kind);
  const std::size_t place = (kind * gpus_ + link.from) * gpus_ + link.to;
  if (resources_[place] < 0) {
    const double scale = are_shared_ || asker != all_gpus ? 1 : more_than_enough;
    resources_[place] = pool_.add_resource(bytes_per_us(rate_of(fabric_, link).GBps) * scale);
    made_.push_back({link, place, resources_[place]});
  }
  return resources_[place];
}

int FabricLinks::staging(int gpu, int asker) {
  int& resource = staging_[asker_place(asker) * gpus_ + gpu];
  if (resource < 0) resource = pool_.add_resource(bytes_per_us(fabric_.host.staging_GBps));
  return resource;
}

Uses FabricLinks::kernel_uses(int source, int destination, int asker, double share) {
  Uses uses;
  for (const FabricLink& link : route(fabric_, source, destination)) uses.push_back({resource(link, asker), share});
  return uses;
}

Uses FabricLinks::copy_uses(int source, int destination, int asker) {
  Uses uses = kernel_uses(source, destination, asker, 1.0);
  if (!fabric_.peer_access)
    for (const int gpu : {source, destination}) uses.push_back({staging(gpu, asker), 1.0});
  return uses;
}

Uses FabricLinks::collective_uses(CollectiveAlgorithm algorithm, bool is_merged) {
  std::vector<LinkLoad>& loads = loads_[static_cast<std::size_t>(algorithm)];
  if (loads.empty()) {
    loads = link_loads(fabric_, algorithm, gpus_);
    if (is_merged && treats_gpus_alike(fabric_.kind))
      std::erase_if(loads, [](const LinkLoad& load) { return load.link.from != 0 || load.link.to > 1; });
  }
  Uses uses;
  for (const LinkLoad& load : loads) uses.push_back({resource(load.link, all_gpus), load.share});
  return uses;
}

double FabricLinks::served_out(int gpu) const {
  double bytes = 0;
  for (const Made& made : made_)
    if (leaves(made.link, gpu)) bytes += pool_.served(made.resource);
  return bytes;
}

double FabricLinks::served_in(int gpu) const {
  double bytes = 0;
  for (const Made& made : made_)
    if (enters(made.link, gpu)) bytes += pool_.served(made.resource);
  return bytes;
}

double FabricLinks::load_out(int gpu) const {
  double load = 0;
  for (const Made& made : made_)
    if (leaves(made.link, gpu)) load += pool_.load(made.resource);
  return load;
}

double FabricLinks::load_in(int gpu) const {
  double load = 0;
  for (const Made& made : made_)
    if (enters(made.link, gpu)) load += pool_.load(made.resource);
  return load;
}

}  // namespace weft::sim
