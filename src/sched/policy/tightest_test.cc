#include "sched/policy/tightest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace gs::sched {
namespace {

constexpr std::int64_t kMib = 1024;  // of a device of these tests

struct Case {
  const char* name;
  std::vector<FreeShare> devices;
  std::vector<ContainerShare> containers;
  std::optional<ShareChoice> expect;
};
class Tightest : public ::testing::TestWithParam<Case> {};
TEST_P(Tightest, Picks) {
  EXPECT_EQ(tightestFit(GetParam().devices, GetParam().containers), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Tightest,
    ::testing::Values(
        Case{"TheFewestFreeMilliWin", {{0, 1000, kMib}, {1, 300, kMib}}, {{0, 300, 1}}, {{{1}}}},
        Case{"ThenTheFewestFreeMib", {{0, 300, 20}, {1, 300, 10}}, {{0, 100, 10}}, {{{1}}}},
        Case{"ThenTheLowestId", {{3, 300, 10}, {1, 300, 10}}, {{0, 100, 10}}, {{{1}}}},
        Case{"MemoryMustFitToo", {{0, 200, 1}, {1, 1000, kMib}}, {{0, 100, 2}}, {{{1}}}},
        Case{"NoRoom", {{0, 200, kMib}, {1, 1000, 1}}, {{0, 300, 2}}, std::nullopt},
        Case{"NoDevices", {}, {{0, 1, 1}}, std::nullopt},
        Case{"WholeOnesAreUntouchedOnes",
             {{0, 990, kMib}, {1, 1000, kMib}, {2, 1000, kMib}},
             {{2, 0, 0}},
             {{{1, 2}}}},
        Case{"WholeOnesIgnoreMemory", {{0, 1000, 0}}, {{1, 0, 5 * kMib}}, {{{0}}}},
        Case{"WholeOnesWithLessMemoryFirst", {{0, 1000, 9}, {1, 1000, 5}}, {{1, 0, 0}}, {{{1}}}},
        Case{"TooFewWholeOnes", {{0, 1000, kMib}, {1, 999, kMib}}, {{2, 0, 0}}, std::nullopt},
        Case{"ContainersSeeWhatTheOnesBeforeTook",
             {{0, 1000, kMib}, {1, 1000, kMib}},
             {{0, 600, 1}, {0, 600, 1}},
             {{{0}, {1}}}},
        Case{"AShareJoinsTheOneBefore",
             {{0, 1000, kMib}, {1, 1000, kMib}},
             {{0, 100, 1}, {0, 100, 1}},
             {{{0}, {0}}}},
        Case{"AWholeOneIsFullForAShare",
             {{0, 1000, kMib}, {1, 1000, kMib}},
             {{1, 0, 0}, {0, 800, 3}},
             {{{0}, {1}}}},
        Case{"WhoAsksForNothingGetsNothing", {{0, 1000, kMib}}, {{}, {0, 100, 1}, {}}, {{{}, {0}, {}}}},
        Case{"OneThatDoesNotFitFailsAll", {{0, 1000, kMib}}, {{0, 100, 1}, {1, 0, 0}}, std::nullopt}),
    [](const auto& info) { return std::string{info.param.name}; });

/// By the letter of the rule, slowly: sort, take the first.
std::optional<ShareChoice> reference(std::vector<FreeShare> devices,
                                     const std::vector<ContainerShare>& containers) {
  ShareChoice choice;
  for (const auto& asked : containers) {
    std::sort(devices.begin(), devices.end(), [](const FreeShare& a, const FreeShare& b) {
      if (a.milli != b.milli) { return a.milli < b.milli; }
      if (a.mib != b.mib) { return a.mib < b.mib; }
      return a.id < b.id;
    });
    std::vector<int> ids;
    const std::int64_t wanted = asked == ContainerShare{} ? 0 : std::max<std::int64_t>(asked.whole, 1);
    for (FreeShare& d : devices) {
      if (static_cast<std::int64_t>(ids.size()) == wanted) { break; }
      if (asked.whole > 0 ? d.milli < kWholeMilli : d.milli < asked.milli || d.mib < asked.mib) { continue; }
      ids.push_back(d.id);
      d.mib -= asked.whole > 0 ? d.mib : asked.mib;
      d.milli -= asked.whole > 0 ? d.milli : asked.milli;
    }
    if (static_cast<std::int64_t>(ids.size()) < wanted) { return std::nullopt; }
    choice.push_back(ids);
  }
  return choice;
}

TEST(TightestProperty, IsTheReferenceAndOverfillsNothing) {
  EXPECT_TRUE(rc::check([] {
    std::vector<FreeShare> devices;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
      devices.push_back({i, *rc::gen::element<std::int64_t>(0, 100, 500, 990, 1000),
                         *rc::gen::inRange<std::int64_t>(0, 5)});
    }
    std::vector<ContainerShare> containers;
    const int pods = *rc::gen::inRange(0, 4);
    for (int i = 0; i < pods; ++i) {
      const auto whole = *rc::gen::weightedElement<std::int64_t>({{4, 0}, {1, 1}, {1, 2}});
      containers.push_back(whole > 0
                               ? ContainerShare{whole, 0, 0}
                               : ContainerShare{0, *rc::gen::element<std::int64_t>(0, 10, 100, 500, 990),
                                                *rc::gen::inRange<std::int64_t>(0, 4)});
    }
    const auto got = tightestFit(devices, containers);
    RC_ASSERT(got == reference(devices, containers));
    RC_CLASSIFY(got.has_value());
    if (!got) { return; }
    std::map<int, std::pair<std::int64_t, std::int64_t>> taken;
    for (std::size_t c = 0; c < containers.size(); ++c) {
      for (const int id : (*got)[c]) {
        taken[id].first += containers[c].whole > 0 ? kWholeMilli : containers[c].milli;
        taken[id].second += containers[c].mib;
      }
    }
    for (const auto& [id, amounts] : taken) {
      RC_ASSERT(amounts.first <= devices[static_cast<std::size_t>(id)].milli);
      RC_ASSERT(amounts.second <= devices[static_cast<std::size_t>(id)].mib);
    }
  }));
}

}  // namespace
}  // namespace gs::sched
