#include "sim/sm_placement.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/sim/test_machine.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim {
namespace sm_placement_test {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr CtaShape whole_sm{1024, 1, 1}, half_sm{512, 1, 1}, quarter_sm{256, 1, 1};

TEST(SmPlacement, ClustersGoRoundTheGpcs) {
  SmLayout layout(test_gpu(2, 4));
  SmPlacement placement(layout);
  SmStatePointer state = placement.nobody();
  EXPECT_THAT(placement.place(state, whole_sm, 2, 6)->sms, ElementsAre(0, 1, 4, 5, 2, 3));
  EXPECT_EQ(state->occupancy.residents, 6);
}

constexpr CtaShape measured_cta{128, 1, 190 << 10};  // of which an SM holds one

/// CTAs of clusters that find room at once beside so many others.
int room_beside(SmLayout& layout, int first, int cluster_of_first, int cluster) {
  SmPlacement placement(layout);
  SmStatePointer state = placement.nobody();
  if (first > 0) placement.place(state, measured_cta, cluster_of_first, first);
  return static_cast<int>(placement.place(state, measured_cta, cluster, layout.sms())->sms.size());
}

TEST(SmPlacement, IsThatOfH100sAndH200s) {
  constexpr int met_exactly = 40, room = 8;  // beside more CTAs some SMs are filled out of turn
  std::ifstream lines(tests::source_folder() + "/calibration/measurements/placement-2026-11-27/placement.jsonl");
  int compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto found = nlohmann::json::parse(line);
    if (!found.contains("gpu")) continue;
    const bool is_h200 = found["gpu"] == "NVIDIA H200";
    SmLayout layout(read_machine(machine_path(is_h200 ? "h200x8-nvswitch" : "h100x8-nvswitch")).gpu);
    for (const auto& [cluster, most] : found["clusters_at_once"].items()) {
      const int size = std::stoi(cluster);
      EXPECT_EQ(layout.capacity(measured_cta, size), size * most.get<int>())
          << found["gpu"] << ", clusters of " << cluster;
    }
    for (const auto& beside : found["ctas_at_once"])
      for (const auto& [first, at_once] : beside["by_first"].items()) {
        ++compared;
        EXPECT_NEAR(room_beside(layout, std::stoi(first), beside["cluster_of_first"], beside["cluster"]), at_once,
                    std::stoi(first) <= met_exactly ? 0 : room)
            << found["gpu"] << ": clusters of " << beside["cluster"] << " beside " << first << " CTAs in clusters of "
            << beside["cluster_of_first"];
      }
  }
  EXPECT_GE(compared, 200);
}

TEST(SmPlacement, KeptAnswersAreThoseFoundAnew) {
  SmLayout layout(test_gpu(3, 4));
  SmPlacement kept(layout);
  SmStatePointer state = kept.nobody();
  struct Resident {
    CtaShape cta;
    std::vector<int> sms;
  };
  std::vector<Resident> residents;
  std::mt19937 draw(1);
  for (int step = 0; step < 3000; ++step) {
    if (!residents.empty() && draw() % 2 == 0) {
      const std::size_t leaving = draw() % residents.size();
      SmOccupancy same = state->occupancy;
      same.take_room(residents[leaving].sms, residents[leaving].cta, -1);
      kept.leave(state, residents[leaving].sms, residents[leaving].cta);
      ASSERT_EQ(state->occupancy, same.residents > 0 ? same : kept.nobody()->occupancy);
      residents.erase(residents.begin() + static_cast<std::ptrdiff_t>(leaving));
      continue;
    }
    const CtaShape cta = std::array{whole_sm, half_sm, quarter_sm}[draw() % 3];
    const int cluster = 1 + static_cast<int>(draw() % 2);
    const int most = 1 + static_cast<int>(draw() % 60);
    SmStatePointer same(new SmState(state->occupancy, 1));
    const std::vector<int> placed = kept.place(state, cta, cluster, most)->sms;
    SmPlacement fresh(layout);
    ASSERT_THAT(placed, ElementsAreArray(fresh.place(same, cta, cluster, most)->sms));
    ASSERT_EQ(state->occupancy, same->occupancy);
    if (!placed.empty()) residents.push_back({cta, placed});
  }
}

TEST(SmPlacement, FindsWhatIsFullOfLargeCtasAgainAfterItWasFullOfSmallOnes) {
  SmLayout layout(test_gpu(2, 4));
  SmPlacement placement(layout);
  const auto with_one_on_each_sm = [&](const CtaShape& cta) {
    SmStatePointer state = placement.nobody();
    placement.place(state, cta, 1, layout.sms());
    return state;
  };
  const SmStatePointer first = with_one_on_each_sm(whole_sm), other = with_one_on_each_sm(half_sm);
  EXPECT_NE(first, other);
  EXPECT_EQ(with_one_on_each_sm(whole_sm), first);
  EXPECT_EQ(with_one_on_each_sm(half_sm), other);
}

TEST(SmPlacement, AskingForMoreThanThereIsRoomForChangesNothing) {
  SmLayout layout(test_gpu(1, 5));
  SmPlacement placement(layout);
  for (const int most : {6, 8, 600}) {
    SmOccupancy occupancy(layout);
    occupancy.take_room(std::vector{2}, quarter_sm, 1);
    SmStatePointer state(new SmState(occupancy, 1));
    EXPECT_THAT(placement.place(state, whole_sm, 2, most)->sms, ElementsAre(0, 1, 3, 4));
  }
}

}  // namespace sm_placement_test
}  // namespace weft::sim
