#include "engine/held_devices.h"

#include <gtest/gtest.h>

#include "model/annotations.h"
#include "sched/doors/exact.h"

namespace gs::engine {
namespace {

using Texts = std::vector<std::string>;
using Ids = std::vector<int>;

model::GpuNodeStatus statusOf(const Texts& uuids) {
  model::GpuNodeStatus s;
  for (const auto& uuid : uuids) {
    model::Device d;
    d.id = static_cast<int>(s.devices.size());
    d.uuid = uuid;
    s.devices.push_back(d);
  }
  return s;
}

struct HeldCase {
  const char* name;
  const char* told;  // gpu.scheduling/visible-devices
  Ids given;
  Texts leased;
  Texts there;
  Ids held;
};
class HeldNow : public ::testing::TestWithParam<HeldCase> {};
TEST_P(HeldNow, FollowsTheUuid) {
  const auto& c = GetParam();
  model::Pod pod;
  if (*c.told != 0) { pod.annotations[model::kVisibleDevicesKey] = c.told; }
  const auto status = statusOf(c.there);
  const Texts told = sched::toldUuids(pod);
  EXPECT_EQ(heldNow(told, c.given, c.leased, DeviceIndex{status}), c.held);
}
INSTANTIATE_TEST_SUITE_P(
    Table, HeldNow,
    ::testing::Values(HeldCase{"Unchanged", "A,B", {0, 1}, {"A", "B"}, {"A", "B", "C"}, {0, 1}},
                      HeldCase{"ToldUuidsThatMoved", "B,C", {1, 2}, {"B", "C"}, {"B", "C"}, {0, 1}},
                      HeldCase{"ToldAUuidThatIsGone", "B", {1}, {"B"}, {"A", "C"}, {1}},
                      HeldCase{"ToldIdsHoldsBoth", "1", {1}, {"B"}, {"B", "C"}, {0, 1}},
                      HeldCase{"ToldIdsWithoutALease", "1", {1}, {}, {"B", "C"}, {1}},
                      HeldCase{"ToldNothing", "", {1}, {"B"}, {"B", "C"}, {0, 1}},
                      HeldCase{"AgentsWithoutUuids", "B", {1}, {"B"}, {"", ""}, {1}},
                      HeldCase{"TooFewUuids", "B", {1, 2}, {}, {"A", "B", "C"}, {1, 2}},
                      HeldCase{"TooManyUuids", "B,C,A", {1, 2}, {}, {"A", "B", "C"}, {1, 2}},
                      HeldCase{"AnEmptyWord", "B,", {1, 2}, {}, {"A", "B", "C"}, {1, 2}},
                      HeldCase{"MixedWords", "B,2", {1, 2}, {}, {"B", "A", "C"}, {1, 2}}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(HeldDevices, ARenumberingIsAnyOtherUuidUnderAnId) {
  const auto ab = statusOf({"A", "B"});
  EXPECT_FALSE(isRenumbered(&ab, &ab));
  EXPECT_FALSE(isRenumbered(nullptr, nullptr));
  EXPECT_TRUE(isRenumbered(nullptr, &ab));
  EXPECT_TRUE(isRenumbered(&ab, nullptr));
  for (const auto& other : {Texts{"B", "A"}, Texts{"A"}, Texts{"A", "B", "C"}, Texts{"A", ""}}) {
    const auto status = statusOf(other);
    EXPECT_TRUE(isRenumbered(&ab, &status));
  }
}

TEST(HeldDevices, AnIdHasAnotherDeviceOnlyWhenBothAreKnown) {
  const auto status = statusOf({"A", ""});
  const DeviceIndex devices{status};
  EXPECT_TRUE(isAnother(&devices, 0, "B"));
  EXPECT_FALSE(isAnother(&devices, 0, "A"));
  EXPECT_FALSE(isAnother(&devices, 0, ""));
  EXPECT_FALSE(isAnother(&devices, 1, "B"));
  EXPECT_FALSE(isAnother(&devices, 2, "B"));
  EXPECT_FALSE(isAnother(nullptr, 0, "B"));
}

}  // namespace
}  // namespace gs::engine
