#include "controller/wake_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;

struct WakeLineTest : ::testing::Test {
  std::uint64_t add(const std::string& uid, const std::string& ns, std::uint64_t ticket = 0) {
    return line.add(model::Uid{uid}, ns, ticket);
  }
  /// All that leave, when pods of these namespaces may not.
  std::string leave(const std::vector<std::string>& but = {}) {
    std::string out;
    line.roomChanged();
    while (const auto uid = line.next(
               now, [&](const auto& ns) { return std::find(but.begin(), but.end(), ns) == but.end(); })) {
      out += uid->text + " ";
    }
    return out;
  }
  WakeLine<> line{20ms};
  Mono now{1h};
};

TEST_F(WakeLineTest, NamespacesTakeTurnsAndOfEachTheFirstIsNext) {
  for (const char* uid : {"a1", "a2", "a3"}) { add(uid, "a"); }
  add("c1", "c");
  add("b1", "b");
  add("b2", "b");
  EXPECT_EQ(leave(), "a1 b1 c1 a2 b2 a3 ");
  EXPECT_TRUE(line.empty());
}

TEST_F(WakeLineTest, WhoMayNotIsPassedOver) {
  add("a1", "a");
  add("b1", "b");
  EXPECT_EQ(leave({"a"}), "b1 ");
  EXPECT_EQ(line.size(), 1U);
  EXPECT_EQ(leave(), "a1 ");
}

TEST_F(WakeLineTest, WhoComesBackStandsWhereItStood) {
  const auto first = add("a1", "a");
  add("a2", "a");
  EXPECT_EQ(line.next(now, [](const auto&) { return true; }), model::Uid{"a1"});
  EXPECT_EQ(add("a1", "a", first), first);
  EXPECT_EQ(leave(), "a1 a2 ");
}

TEST_F(WakeLineTest, NobodyStandsThereTwice) {
  add("a1", "a");
  add("a1", "b");
  EXPECT_EQ(line.size(), 1U);
  line.remove(model::Uid{"a1"});
  line.remove(model::Uid{"unknown"});
  EXPECT_EQ(leave(), "");
}

TEST_F(WakeLineTest, ATurnThatWasUsedKeepsTheNextOneWaiting) {
  EXPECT_TRUE(line.isFree(now));
  line.used(now);
  EXPECT_FALSE(line.isFree(now));
  add("a1", "a");
  EXPECT_EQ(leave(), "");
  EXPECT_EQ(line.nextDue(), now + 20ms);
  now += 20ms;
  EXPECT_EQ(leave(), "a1 ");
  EXPECT_TRUE(line.isFree(now));
}

TEST_F(WakeLineTest, WhereNobodyMayItIsNotLookedAgainBeforeThatChanges) {
  add("a1", "a");
  EXPECT_EQ(leave({"a"}), "");
  EXPECT_EQ(line.nextDue(), std::nullopt);
  line.roomChanged();
  EXPECT_NE(line.nextDue(), std::nullopt);
  EXPECT_EQ(leave({"a"}), "");
  add("b1", "b");
  EXPECT_NE(line.nextDue(), std::nullopt) << "of another namespace, perhaps";
}

}  // namespace
}  // namespace gs::controller
