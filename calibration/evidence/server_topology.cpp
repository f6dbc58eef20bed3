#include "calibration/evidence/server_topology.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"

namespace weft::calibration::evidence {
namespace {

namespace fs = std::filesystem;

/// NVLinks between GPUs, by position; -1 to the switch.
using Links = std::vector<std::map<int, int>>;
constexpr int to_switch = -1;

bool is_pair(std::size_t gpu, int other) { return (static_cast<int>(gpu) ^ 1) == other; }

int count_of(const std::map<int, int>& links) {
  int count = 0;
  for (const auto& [other, links_to] : links) count += links_to;
  return count;
}

/// Which fabric these links are. A switch shows as itself, or as equally many links from each GPU to each other one.
void set_fabric(ServerTopology& topology, const Links& links, const fs::path& path) {
  const bool are_all_alike = std::ranges::all_of(links, [&](const auto& one) {
    return !one.empty() && one.size() == links.front().size() && one.begin()->second == links.front().begin()->second &&
           std::ranges::all_of(one, [&](const auto& link) { return link.second == one.begin()->second; });
  });
  const bool have_none = std::ranges::all_of(links, [](const auto& one) { return one.empty(); });
  const bool have_switch = std::ranges::all_of(links, [](const auto& one) { return one.contains(to_switch); });
  const auto is_only_to_its_pair = [&](std::size_t gpu) {
    return links[gpu].size() == 1 && is_pair(gpu, links[gpu].begin()->first);
  };
  bool are_pairs = true;
  for (std::size_t gpu = 0; gpu < links.size(); ++gpu) are_pairs = are_pairs && is_only_to_its_pair(gpu);
  if (have_none) {
    topology.kind = FabricKind::pcie;
  } else if (have_switch) {
    topology.kind = FabricKind::nvswitch;
    topology.nvlinks = links.front().at(to_switch);
  } else if (are_pairs && are_all_alike) {
    if (links.size() > 2) topology.kind = FabricKind::nvlink_pairs;
    topology.nvlinks = links.front().begin()->second;
  } else if (are_all_alike && links.front().size() == links.size() - 1) {
    topology.kind = FabricKind::nvswitch;
    topology.nvlinks = links.front().begin()->second;
  } else {
    throw InputError(
        path.string(),
        "expected GPUs behind an NVSwitch, NVLinks between GPUs 0 and 1, 2 and 3 and so on, or none, got NVLinks "
        "between other ones (" +
            std::to_string(count_of(links.front())) + " of GPU 0)");
  }
}

constexpr int most_links = 1024;  // of a GPU: more than any has, so few that their sums are numbers

void require_gpus(int gpus, const fs::path& path) {
  if (gpus < 2) throw InputError(path.string(), "expected at least 2 GPUs, got " + std::to_string(gpus));
}

void set_nodes(ServerTopology& topology, const std::vector<std::string>& node_of_gpu) {
  std::map<std::string, int> gpus;
  for (const std::string& node : node_of_gpu) {
    if (node.empty() || node == "N/A") return;
    topology.gpus_per_node = std::max(topology.gpus_per_node.value_or(0), ++gpus[node]);
  }
}

// --- nvidia-smi topo -m ----------------------------------------------------------------------------------------

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

bool is_gpu(const std::string& word) {
  return word.starts_with("GPU") && word.size() > 3 &&
         std::ranges::all_of(word.substr(3), [](char c) { return c >= '0' && c <= '9'; });
}

/// "NV18" is 18.
int nvlinks_in(const std::string& cell) {
  int count = 0;
  if (cell.starts_with("NV")) std::from_chars(cell.data() + 2, cell.data() + cell.size(), count);
  return std::clamp(count, 0, most_links);
}

/// Without what underlines it on a terminal.
std::string without_escapes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return plain;
}

ServerTopology topology_in_matrix(const std::string& escaped, const fs::path& path) {
  const std::string text = without_escapes(escaped);
  ServerTopology topology{.written_by = "nvidia-smi topo -m"};
  std::size_t columns = 0;
  Links links;
  std::vector<std::string> nodes;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !is_gpu(words.front())) continue;
    if (columns == 0) {  // the head: GPUs, NICs, then "CPU Affinity"
      const auto end = std::ranges::find(words, "CPU");
      topology.gpus =
          static_cast<int>(std::count_if(words.begin(), end, [](const auto& word) { return is_gpu(word); }));
      columns = static_cast<std::size_t>(end - words.begin());
      continue;
    }
    if (words.size() < columns + 1)
      throw InputError(path.string() + ": line " + std::to_string(number),
                       "expected " + std::to_string(columns) + " connections of " + words.front());
    std::map<int, int>& of_gpu = links.emplace_back();
    for (int other = 0; other < topology.gpus; ++other)
      if (const int count = nvlinks_in(words[static_cast<std::size_t>(other) + 1]); count > 0) of_gpu[other] = count;
    nodes.push_back(words.size() > columns + 2 ? words[columns + 2] : "");
  }
  if (columns == 0)
    throw InputError(path.string(),
                     "expected the matrix of nvidia-smi topo -m, NCCL's topology or hwloc's, both in XML");
  require_gpus(topology.gpus, path);
  if (static_cast<int>(links.size()) != topology.gpus)
    throw InputError(path.string(), "expected a row for each of " + std::to_string(topology.gpus) + " GPUs, got " +
                                        std::to_string(links.size()));
  set_fabric(topology, links, path);
  set_nodes(topology, nodes);
  return topology;
}

// --- NCCL ------------------------------------------------------------------------------------------------------

constexpr const char* class_of_switch = "0x068000";

/// "32.0 GT/s PCIe" and "16" lanes; eight GT/s and more carry 128 bits in 130.
std::optional<double> pcie_GBps(const pugi::xml_node& pci) {
  const double giga_transfers = std::atof(pci.attribute("link_speed").value());
  const int lanes = pci.attribute("link_width").as_int();
  if (giga_transfers <= 0 || lanes <= 0) return std::nullopt;
  return giga_transfers * lanes / 8 * (giga_transfers >= 8 ? 128.0 / 130 : 0.8);
}

constexpr int blackwell_sm = 100;

ServerTopology topology_in_nccl(const pugi::xml_node& system, const fs::path& path) {
  ServerTopology topology{.written_by = "NCCL's topology"};
  const pugi::xpath_node_set found = system.select_nodes(".//gpu");
  std::vector<pugi::xml_node> gpus;
  for (const pugi::xpath_node& one : found) gpus.push_back(one.node());
  std::ranges::stable_sort(gpus, {}, [](const pugi::xml_node& gpu) { return gpu.attribute("dev").as_int(); });
  std::map<std::string, int> by_bus;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    by_bus[gpus[i].parent().attribute("busid").value()] = static_cast<int>(i);
  topology.gpus = static_cast<int>(gpus.size());
  require_gpus(topology.gpus, path);
  Links links(gpus.size());
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (const pugi::xml_node& link : gpus[i].children("nvlink")) {
      const std::string target = link.attribute("target").value();
      const bool is_switch = std::string(link.attribute("tclass").value()) == class_of_switch;
      if (!is_switch && !by_bus.contains(target)) continue;  // a CPU
      int& count = links[i][is_switch ? to_switch : by_bus[target]];
      count = std::min(count + std::clamp(link.attribute("count").as_int(1), 0, most_links), most_links);
    }
    topology.pcie_GBps = pcie_GBps(gpus[i].parent());
    topology.nvlink_GBps = nvlink_GBps(gpus[i].attribute("sm").as_int() >= blackwell_sm);
    pugi::xml_node cpu = gpus[i].parent();
    while (cpu && std::string(cpu.name()) != "cpu") cpu = cpu.parent();
    nodes.emplace_back(cpu.attribute("numaid").value());
  }
  set_fabric(topology, links, path);
  set_nodes(topology, nodes);
  return topology;
}

// --- hwloc -----------------------------------------------------------------------------------------------------

constexpr const char* nvidia = "[10de:";

bool is_gpu(const pugi::xml_node& object) {
  const std::string type = object.attribute("pci_type").value();
  return std::string(object.attribute("type").value()) == "PCIDev" &&
         (type.starts_with("0302") || type.starts_with("0300")) && type.find(nvidia) != std::string::npos;
}

/// Memory hangs beside the cores that it is near to: a GPU's node is that of the nearest object above it that has one.
std::string node_of(pugi::xml_node object) {
  for (; object; object = object.parent())
    for (const pugi::xml_node& child : object.children("object"))
      if (std::string(child.attribute("type").value()) == "NUMANode") return child.attribute("os_index").value();
  return "";
}

ServerTopology topology_in_hwloc(const pugi::xml_node& root, const fs::path& path) {
  ServerTopology topology{.written_by = "hwloc's topology"};
  std::vector<std::string> nodes;
  for (const pugi::xpath_node& one : root.select_nodes(".//object[@type='PCIDev']")) {
    if (!is_gpu(one.node())) continue;
    ++topology.gpus;
    nodes.push_back(node_of(one.node()));
    if (const double GBps = one.node().attribute("pci_link_speed").as_double(); GBps > 0) topology.pcie_GBps = GBps;
  }
  require_gpus(topology.gpus, path);
  set_nodes(topology, nodes);
  return topology;
}

ServerTopology topology_in_xml(const std::string& text, const fs::path& path) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(text.c_str());
  if (!result)
    throw InputError(path.string(),
                     "expected XML, got at byte " + std::to_string(result.offset) + ": " + result.description());
  if (const pugi::xml_node system = document.child("system")) return topology_in_nccl(system, path);
  if (const pugi::xml_node root = document.child("topology")) return topology_in_hwloc(root, path);
  throw InputError(path.string(), "expected NCCL's topology (<system>) or hwloc's (<topology>)");
}

}  // namespace

ServerTopology read_server_topology(const fs::path& path) {
  const std::string text = read_text_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool is_xml = first != std::string::npos && text[first] == '<';
  return is_xml ? topology_in_xml(text, path) : topology_in_matrix(text, path);
}

}  // namespace weft::calibration::evidence
