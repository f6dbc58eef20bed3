// How well founded the numbers of a profile are on which the time of each kind of work rests.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/machine/fabric.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// From the best to the weakest.
enum class Grade {
  measured,        ///< on such a machine, by this project
  measured_alike,  ///< by this project on a machine whose part in question is the same
  published,       ///< datasheet, documentation, paper or repository
  assumed,
};
template <>
struct NamesOf<Grade> {
  using enum Grade;
  static constexpr std::array names{
      std::pair{measured, std::string_view{"measured"}}, std::pair{measured_alike, std::string_view{"measured_alike"}},
      std::pair{published, std::string_view{"public"}}, std::pair{assumed, std::string_view{"assumed"}}};
};

/// By the words of a number's source: "measured …", "h200x8-nvswitch: measured …", "assumption: as h200x8-nvswitch:
/// measured …", "assumption …"; all else cites something public. "by a rule: …" follows from published figures and is
/// public only where the rule "…; meets …" another published figure of the same machine too, with the deviation in %.
Grade grade_of_source(std::string_view source);

/// The weakest of the numbers that decide the time of each kind of work.
struct ProfileGrades {
  struct OfCollective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    int gpus = 0;
    Grade grade = Grade::assumed;
    Transport transport = Transport::nccl;
  };
  /// How fast and how soon the library answers where no curve does, by one of its protocols (library_model.hpp).
  struct OfProtocol {
    Grade links = Grade::assumed;     ///< its share of the rate of the links
    Grade channels = Grade::assumed;  ///< how many there are, and the rate of one
    Grade latency = Grade::assumed;
  };
  Grade gemm = Grade::assumed;        ///< efficiency of the tensor cores in large tiles
  Grade small_gemm = Grade::assumed;  ///< in small ones (GemmTiming::cooperative_above_elements)
  Grade attention = Grade::assumed;   ///< its efficiency
  Grade hbm = Grade::assumed;         ///< its bandwidth
  Grade memory = Grade::assumed;    ///< bandwidth of the HBM, and the shares of it that norms, SwiGLU and rotary reach
  Grade copies = Grade::assumed;    ///< rate of a copy engine
  Grade launches = Grade::assumed;  ///< gaps between kernels and between graphs
  Grade fused_norm = Grade::assumed;
  Grade two_shot = Grade::assumed;             ///< of collectives over peer memory, on two GPUs
  Grade multimem = Grade::assumed;             ///< of those by kernels of one's own in the switch
  Grade link = Grade::assumed;                 ///< rate of the switch's ports, of a pair's link or of a mesh's
  Grade pcie = Grade::assumed;                 ///< of a GPU's PCIe link
  Grade bridge = Grade::assumed;               ///< of a NUMA node's host bridge
  Grade numa = Grade::assumed;                 ///< of the link between NUMA nodes
  std::vector<OfProtocol> protocols = {};      ///< in their order
  std::vector<OfCollective> collectives = {};  ///< by their curves

  /// Of a curve; empty where there is none.
  std::optional<Grade> of(CollectiveKind kind, int gpus, Transport transport = Transport::nccl) const;
  Grade of(LinkKind kind) const;
  /// What two GPUs say of more is no measurement of them.
  Grade of_two_shot(int gpus) const { return gpus > 2 ? std::max(two_shot, Grade::measured_alike) : two_shot; }
};

/// Of a profile that machine_from_json() reads; what it does not have is assumed.
ProfileGrades profile_grades(const nlohmann::json& profile);

}  // namespace weft
