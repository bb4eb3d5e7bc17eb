#include "operator/tally.h"

#include <gtest/gtest.h>

namespace gs::gkm {
namespace {

TEST(Tally, TheFirstCauseIsTheSameHoweverManyMoreThereAre) {
  for (const char* cause : {"a: full", "a: full (and 1 more)", "a: full (and 17 more)"}) {
    EXPECT_EQ(firstCause(cause), "a: full");
  }
}

using kcache::Counts;

Share extracted() { return {{.nodes = 1, .nodes_not_in_use = 1}, "", ""}; }
Share broken(const char* why) { return {{.nodes = 1, .nodes_error = 1}, why, ""}; }

TEST(Tally, SumsUpAndSubtracts) {
  Tally tally;
  tally.say("a", "a", extracted());
  tally.say("b", "b", broken("disk full"));
  EXPECT_EQ(tally.counts(), (Counts{.nodes = 2, .nodes_not_in_use = 1, .nodes_error = 1}));
  EXPECT_EQ(tally.error(), "b: disk full");
  tally.say("b", "b", extracted());
  EXPECT_EQ(tally.error(), "");
  tally.unsay("a", "a");
  tally.unsay("b", "b");
  EXPECT_EQ(tally.counts(), Counts{});
  EXPECT_FALSE(tally.isHeld());
}

TEST(Tally, OfTwoObjectsOfANodeTheOneOfItsNameCounts) {
  Tally tally;
  tally.say("a", "x", broken("old"));
  tally.say("a", "a", extracted());
  EXPECT_EQ(tally.counts(), (Counts{.nodes = 1, .nodes_not_in_use = 1}));
  EXPECT_EQ(tally.error(), "");
  tally.unsay("a", "a");
  EXPECT_EQ(tally.error(), "a: old");
  EXPECT_TRUE(tally.isHeld());
}

TEST(Tally, NamesTheFirstErrorAndCountsTheOthers) {
  Tally tally;
  for (const char* node : {"c", "b", "a"}) { tally.say(node, node, broken(node)); }
  EXPECT_EQ(tally.error(), "a: a (and 2 more)");
}

TEST(Share, OfAFinalizerAloneHoldsAndCountsNothing) {
  EXPECT_EQ(shareOf(nullptr, "d"), Share{});
  Tally tally;
  tally.say("a", "a", shareOf(nullptr, "d"));
  EXPECT_TRUE(tally.isHeld());
  EXPECT_EQ(tally.counts(), Counts{});
}

TEST(Share, TellsTheCauseOfThePresentImageAndOfAnyThatCannotBeRemoved) {
  const auto entry = [](kcache::State state, const char* cause) {
    kcache::CacheEntry out;
    out.condition = kcache::Condition{state, kcache::messageOf(state, cause), {}};
    return out;
  };
  const kcache::Entries entries{{"old", entry(kcache::State::UnloadError, "busy")},
                                {"older", entry(kcache::State::Error, "long ago")},
                                {"present", entry(kcache::State::Error, "")}};
  const Share share = shareOf(&entries, "present");
  EXPECT_EQ(share.error, "the agent gives no cause");
  EXPECT_EQ(share.unload_error, "busy");
  EXPECT_EQ(shareOf(&entries, "another").error, "");
}

}  // namespace
}  // namespace gs::gkm
