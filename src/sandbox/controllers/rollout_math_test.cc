#include "sandbox/controllers/rollout_math.h"

#include <gtest/gtest.h>

#include <numeric>

namespace gs::sandbox::controllers {
namespace {

using json::Object;
using json::Value;

Value deployment(int replicas, Value surge, Value unavailable) {
  return Object{
      {"spec",
       Object{{"replicas", replicas},
              {"strategy", Object{{"type", "RollingUpdate"},
                                  {"rollingUpdate", Object{{"maxSurge", std::move(surge)},
                                                           {"maxUnavailable", std::move(unavailable)}}}}}}}};
}

/// A set of that size that had `most` pods at most when it was scaled last.
Value set(std::int64_t replicas, int most) {
  return Object{{"metadata", Object{{"annotations", Object{{kMost, std::to_string(most)}}}}},
                {"spec", Object{{"replicas", replicas}}}};
}

struct BoundsCase {
  int replicas;
  Value surge;
  Value unavailable;
  std::int64_t more;
  std::int64_t fewer;
};
class Bounds : public testing::TestWithParam<BoundsCase> {};
TEST_P(Bounds, InPods) {
  const Value d = deployment(GetParam().replicas, GetParam().surge, GetParam().unavailable);
  EXPECT_EQ(maxSurge(d), GetParam().more);
  EXPECT_EQ(maxUnavailable(d), GetParam().fewer);
}
INSTANTIATE_TEST_SUITE_P(Table, Bounds,
                         testing::Values(BoundsCase{4, "25%", "25%", 1, 1}, BoundsCase{1, "25%", "25%", 1, 0},
                                         BoundsCase{10, "25%", "25%", 3, 2}, BoundsCase{3, 0, 0, 0, 1},
                                         BoundsCase{3, 0, "10%", 0, 1}, BoundsCase{3, 5, 9, 5, 3},
                                         BoundsCase{0, "25%", "25%", 0, 0}, BoundsCase{0, 1, 1, 1, 0}));

struct RoomCase {
  int replicas;
  int surge;
  std::vector<int> old;
  int newest;
  std::int64_t may_have;
};
class Room : public testing::TestWithParam<RoomCase> {};
TEST_P(Room, OfTheNewest) {
  const auto& p = GetParam();
  std::vector<Value> all{set(p.newest, 0)};
  for (const int replicas : p.old) { all.push_back(set(replicas, 0)); }
  EXPECT_EQ(newestMayHave(deployment(p.replicas, p.surge, 0), all, p.newest), p.may_have);
}
INSTANTIATE_TEST_SUITE_P(Table, Room,
                         testing::Values(RoomCase{3, 1, {3}, 0, 1}, RoomCase{3, 1, {3}, 1, 1},
                                         RoomCase{3, 1, {2}, 1, 2}, RoomCase{3, 9, {3}, 0, 3},
                                         RoomCase{3, 1, {}, 0, 3}, RoomCase{3, 0, {1, 1}, 0, 1},
                                         RoomCase{3, 1, {9}, 0, 0}));

struct ShareCase {
  int replicas;  // that the Deployment asks for
  int surge;
  int most;  // before
  std::vector<std::int64_t> has;
  std::vector<std::int64_t> gets;
};
class Shares : public testing::TestWithParam<ShareCase> {};
TEST_P(Shares, OfTheSets) {
  const auto& p = GetParam();
  std::vector<Value> sets;
  for (const auto replicas : p.has) { sets.push_back(set(replicas, p.most)); }
  EXPECT_EQ(inProportion(deployment(p.replicas, p.surge, 0), sets), p.gets);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Shares,
    testing::Values(ShareCase{15, 3, 13, {8, 5}, {11, 7}}, ShareCase{20, 0, 10, {5, 5}, {10, 10}},
                    ShareCase{5, 0, 10, {6, 4}, {3, 2}}, ShareCase{0, 3, 13, {8, 5}, {0, 0}},
                    ShareCase{11, 0, 10, {4, 3, 3}, {5, 3, 3}}, ShareCase{10, 0, 10, {7, 3}, {7, 3}},
                    ShareCase{9, 0, 10, {0, 10}, {0, 9}}, ShareCase{3, 0, 3, {}, {}}));

TEST(InProportion, AllGetWhatIsAskedForTogether) {
  for (int has = 1; has <= 12; ++has) {
    for (int wanted = 0; wanted <= 30; ++wanted) {
      const std::vector<Value> sets{set(has, has + 5), set(5, has + 5)};
      const auto gets = inProportion(deployment(wanted, 0, 0), sets);
      EXPECT_EQ(std::accumulate(gets.begin(), gets.end(), std::int64_t{0}), wanted) << has << " " << wanted;
    }
  }
}

}  // namespace
}  // namespace gs::sandbox::controllers
