#include "model/vcuda.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace gs::model {
namespace {

TEST(VcudaLimits, WantsAGpuByWholeOnesOrByCoresWithMemory) {
  struct Row {
    VcudaLimits limits;
    bool wants;
    std::int64_t whole;
  };
  for (const Row& row : std::vector<Row>{
           {{0, 0}, false, 0},
           {{0, 8}, false, 0},  // memory alone
           {{-5, 8}, false, 0},
           {{99, 0}, false, 0},
           {{99, 1}, true, 0},
           {{1, 1}, true, 0},
           {{100, 0}, true, 1},
           {{150, 0}, true, 1},  // as the ancestor; gpu-manager refuses it later
           {{200, 10}, true, 2},
       }) {
    EXPECT_EQ(row.limits.wantsGpu(), row.wants) << row.limits.cores << "/" << row.limits.memory;
    EXPECT_EQ(row.limits.wholeGpus(), row.whole) << row.limits.cores;
  }
}

TEST(VcudaLimits, APodWantsOneByTheSumOfItsContainers) {
  EXPECT_TRUE(sumOf({{60, 0}, {60, 0}}).wantsGpu());
  EXPECT_FALSE(sumOf({{60, 0}, {30, 0}}).wantsGpu());
  EXPECT_FALSE(sumOf({}).wantsGpu());
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sumOf({{kMost, kMost}, {kMost, 1}}), (VcudaLimits{kMost, kMost}));
}

TEST(VcudaNote, ReadsWhatIsWrittenAndPassesOverTheRest) {
  struct Row {
    const char* name;
    Annotations annotations;
    VcudaNote note;
  };
  const std::string ids = kVcudaIdsKey;
  for (const Row& row : std::vector<Row>{
           {"Nothing", {}, {}},
           {"OtherKeys", {{"a", "b"}, {"tencent.com/vcuda-core-limit", "5"}}, {}},
           {"All",
            {{kVcudaNodeKey, "n"},
             {kVcudaTimeKey, "1700000000000000000"},
             {kVcudaAssignedKey, "false"},
             {ids + "0", "0"},
             {ids + "2", "3,1"}},
            {NodeName{"n"}, {{0, {0}}, {2, {3, 1}}}, 1'700'000'000'000'000'000, false}},
           {"Assigned", {{kVcudaAssignedKey, "true"}}, {{}, {}, {}, true}},
           {"AssignedIsAllButFalse", {{kVcudaAssignedKey, "False"}}, {{}, {}, {}, true}},
           {"IdsThatAreNone",
            {{ids + "0", "x"}, {ids + "1", ""}, {ids + "2", "0, 1"}, {ids + "3", "1,"}},
            {}},
           {"IdsThatNoDeviceHas", {{ids + "0", "-1,7,99999999999"}}, {{}, {{0, {7}}}, {}, false}},
           {"ContainersThatAreNone",
            {{ids + "x", "0"},
             {ids + "-1", "0"},
             {ids + "-0", "0"},
             {ids + "+1", "0"},
             {ids + "00", "0"},
             {ids + "07", "0"},
             {ids + "1 ", "0"},
             {ids, "0"},
             {ids + "999999", "0"}},
            {}},
           {"TimesThatAreNone", {{kVcudaTimeKey, "-1"}}, {}},
       }) {
    EXPECT_EQ(readVcudaNote(row.annotations), row.note) << row.name;
  }
}

TEST(VcudaNote, StaleKeysAreThoseThatAreNotWrittenAgain) {
  const std::string ids = kVcudaIdsKey;
  const Annotations before{{kVcudaNodeKey, "a"}, {ids + "0", "0"}, {ids + "1", "1"}, {"other", "x"}};
  const VcudaNote next{NodeName{"b"}, {{0, {1}}}, 5, false};
  EXPECT_EQ(vcudaKeys(before, printVcudaNote(next)), (std::vector<std::string>{ids + "1"}));
}

TEST(VcudaNote, WasPredicatedByAnyKeyButTheNodes) {
  EXPECT_FALSE(wasPredicated({}));
  EXPECT_FALSE(wasPredicated({{kVcudaNodeKey, "n"}}));
  for (const std::string key : {kVcudaAssignedKey, kVcudaTimeKey, kVcudaIdsKey}) {
    EXPECT_TRUE(wasPredicated({{key, ""}})) << key;
    EXPECT_TRUE(wasPredicated({{"x/" + key + "-y", ""}})) << key;
  }
}

TEST(VcudaNoteProperty, WhatIsPrintedReadsTheSame) {
  EXPECT_TRUE(rc::check([](std::uint64_t time) {
    VcudaNote note{NodeName{"n"}, {}, time, false};
    const auto containers = *rc::gen::inRange(0, 4);
    for (int i = 0; i < containers; ++i) {
      note.ids[*rc::gen::inRange(0, 20)] =
          *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, kMaxDeviceId + 1)));
    }
    RC_ASSERT(readVcudaNote(printVcudaNote(note)) == note);
    RC_ASSERT(vcudaKeys(printVcudaNote(note), printVcudaNote(note)).empty());
  }));
}

TEST(VcudaNoteProperty, OfFewContainersTheSameIsReadAsOfMany) {
  EXPECT_TRUE(rc::check([] {
    Annotations annotations;
    for (int n = *rc::gen::inRange(0, 40); n > 0; --n) {
      const std::string zeros(static_cast<std::size_t>(*rc::gen::inRange(0, 2)), '0');
      annotations[kVcudaIdsKey + zeros + std::to_string(*rc::gen::inRange(0, 80))] =
          *rc::gen::elementOf(std::vector<std::string>{"0", "1,2", "x", "", "7"});
    }
    const auto many = vcudaIds(annotations, 100);
    for (const std::size_t few : {std::size_t{1}, std::size_t{20}, std::size_t{64}, std::size_t{65}}) {
      const std::vector<std::vector<int>> first(many.begin(),
                                                many.begin() + static_cast<std::ptrdiff_t>(few));
      RC_ASSERT(vcudaIds(annotations, few) == first);
    }
  }));
}

TEST(VcudaNote, OfAPodOfFewContainersWhatIsSaidOfOthersIsNotRead) {
  const Annotations said{{kVcudaNodeKey, "a"},
                         {kVcudaTimeKey, "7"},
                         {"tencent.com/predicate-gpu-idx-0", "1"},
                         {"tencent.com/predicate-gpu-idx-1", "x"},
                         {"tencent.com/predicate-gpu-idx-2", "0,1"}};
  VcudaNote note = readVcudaNote(said);
  EXPECT_EQ(readVcudaNote(said, 3), note);
  note.ids.erase(2);
  EXPECT_EQ(readVcudaNote(said, 2), note);
  EXPECT_EQ(vcudaIds(said, 3), (std::vector<std::vector<int>>{{1}, {}, {0, 1}}));
  EXPECT_EQ(vcudaIds(said, 2), (std::vector<std::vector<int>>{{1}, {}}));
}

}  // namespace
}  // namespace gs::model
