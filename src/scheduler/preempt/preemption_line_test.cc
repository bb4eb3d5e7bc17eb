#include "scheduler/preempt/preemption_line.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::scheduler {
namespace {

model::Pod podInLine(const std::string& name, const std::string& ns, std::int32_t priority, int created = 1) {
  model::Pod pod;
  pod.uid = model::Uid{name};
  pod.key = {ns, name};
  pod.priority = priority;
  pod.created = Wall{std::chrono::seconds{created}};
  return pod;
}

std::string takenFrom(PreemptionLine& line) {
  const auto uid = line.take();
  return uid ? uid->text : "";
}

TEST(PreemptionLine, ByPriorityThenTriesThenCreation) {
  PreemptionLine line;
  line.add(podInLine("late", "ns", 5, 9), 0);
  line.add(podInLine("tried", "ns", 5, 1), 2);
  line.add(podInLine("early", "other", 5, 3), 0);
  line.add(podInLine("top", "ns", 8, 99), 7);
  line.add(podInLine("top", "ns", 8, 99), 0);
  EXPECT_EQ(line.size(), 4U);
  for (const char* name : {"top", "early", "late", "tried", ""}) { EXPECT_EQ(takenFrom(line), name); }
  EXPECT_FALSE(line.any());
  EXPECT_EQ(line.size(), 0U);
}

TEST(PreemptionLine, WhoLeavesItIsForgotten) {
  PreemptionLine line;
  line.add(podInLine("a", "ns", 5, 1), 0);
  line.add(podInLine("b", "ns", 5, 2), 0);
  line.remove(model::Uid{"a"});
  line.remove(model::Uid{"a"});
  EXPECT_EQ(takenFrom(line), "b");
  line.add(podInLine("c", "ns", 5, 3), 0);
  line.remove(model::Uid{"c"});
  EXPECT_FALSE(line.any());
  EXPECT_EQ(takenFrom(line), "");
}

/// Whose victims never end.
TEST(PreemptionLine, ANamespaceLeavesAsMuchToOthers) {
  PreemptionLine line;
  int of_hog = 0;
  while (line.hasRoom("hog", 5)) {
    line.hold("hog", 5);
    ++of_hog;
  }
  EXPECT_EQ(of_hog, PreemptionLine::kMost / 2);
  line.add(podInLine("another", "hog", 5), 0);
  EXPECT_FALSE(line.any());
  line.add(podInLine("mine", "mine", 1), 0);
  EXPECT_EQ(takenFrom(line), "mine") << "though it is less important and came later";
  EXPECT_EQ(takenFrom(line), "");
  line.giveBack("hog", 5);
  EXPECT_EQ(takenFrom(line), "another");
}

TEST(PreemptionLine, NobodyWaitsForLessImportantOnes) {
  PreemptionLine line;
  for (int i = 0; i < PreemptionLine::kMost; ++i) { line.hold("ns-" + std::to_string(i), 5); }
  EXPECT_FALSE(line.hasRoom("mine", 5));
  EXPECT_FALSE(line.hasRoom("mine", 4));
  EXPECT_TRUE(line.hasRoom("mine", 6));
  line.add(podInLine("equal", "mine", 5), 0);
  EXPECT_EQ(takenFrom(line), "");
  line.add(podInLine("top", "mine", 6), 0);
  EXPECT_EQ(takenFrom(line), "top");
  line.giveBack("ns-7", 5);
  EXPECT_EQ(takenFrom(line), "equal");
  line.reset();
  EXPECT_TRUE(line.hasRoom("mine", 5));
}

}  // namespace
}  // namespace gs::scheduler
