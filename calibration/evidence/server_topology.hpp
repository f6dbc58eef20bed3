// How the GPUs of a server are connected, as tools that people have at hand say it: the matrix of `nvidia-smi topo -m`,
// NCCL's topology (NCCL_TOPO_DUMP_FILE), and hwloc's (lstopo --of xml).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/machine/fabric.hpp"

namespace weft::calibration::evidence {

/// What a file does not say is left out.
struct ServerTopology {
  std::string written_by;  ///< "nvidia-smi topo -m"
  int gpus = 0;
  /// Empty of hwloc, and where there are but two GPUs with NVLinks to each other.
  std::optional<FabricKind> kind = {};
  int nvlinks = 0;  ///< of each GPU to the switch, or to the other one of its pair; 0: none, or unknown
  std::optional<double> nvlink_GBps = {};  ///< of one link in one direction
  std::optional<double> pcie_GBps = {};    ///< peak of a GPU's PCIe link in one direction
  std::optional<int> gpus_per_node = {};   ///< most GPUs of a NUMA node
};

/// Of one link in one direction: NVLink 2 to 4 have 25, the fifth generation, of Blackwell, 50 (NVIDIA's pages on
/// NVLink and NVSwitch).
constexpr double nvlink_GBps(bool is_blackwell) { return is_blackwell ? 50 : 25; }

/// Throws InputError that names the file for what is none of the three, has fewer than two GPUs, or has GPUs that are
/// connected in a way that no profile describes, such as NVLinks between some pairs only that are not 0 and 1, 2 and 3.
ServerTopology read_server_topology(const std::filesystem::path& path);

}  // namespace weft::calibration::evidence
