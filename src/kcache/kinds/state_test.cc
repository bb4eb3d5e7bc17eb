#include "kcache/kinds/state.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace gs::kcache {
namespace {

CacheEntry entryIn(State state, std::size_t pods = 0) {
  CacheEntry out;
  out.condition = Condition{state, messageOf(state), {}};
  out.pods.resize(pods);
  return out;
}

TEST(State, WordsAreTheAncestors) {
  EXPECT_STREQ(sentenceOf(State::Pending), "Not yet complete");
  EXPECT_STREQ(sentenceOf(State::Extracted), "The Kernel Cache has been extracted onto the host");
  EXPECT_STREQ(sentenceOf(State::Running),
               "The Kernel Cache has been extracted and is in use by one or more pods");
  EXPECT_STREQ(sentenceOf(State::Outdated),
               "The Kernel Cache is in use by one or more pods but newer version exists");
  EXPECT_STREQ(sentenceOf(State::Error), "An error occurred trying to extract the Kernel Cache");
  EXPECT_STREQ(sentenceOf(State::UnloadError),
               "An error occurred trying to remove the extracted Kernel Cache");
  for (const State state : {State::Pending, State::Extracted, State::Running, State::Outdated, State::Error,
                            State::UnloadError}) {
    EXPECT_EQ(stateNamed(nameOf(state)), state);
  }
  EXPECT_EQ(stateNamed("Unload Error"), std::nullopt);
}

TEST(State, ACauseStandsBehindTheSentenceAndIsFoundThere) {
  const std::string message = messageOf(State::Error, "disk full");
  EXPECT_EQ(message, "An error occurred trying to extract the Kernel Cache: disk full");
  EXPECT_EQ(causeIn(State::Error, message), "disk full");
  EXPECT_EQ(causeIn(State::Error, sentenceOf(State::Error)), "");
  EXPECT_EQ(causeIn(State::Error, "something else"), "something else");
}

TEST(State, ALongCauseIsCutBetweenCharacters) {
  std::string cause;
  while (cause.size() < 5000) { cause += "ä"; }
  const std::string message = messageOf(State::Error, "x" + cause);
  EXPECT_LT(message.size(), 1200U);
  EXPECT_TRUE(isUtf8(message));
}

TEST(Counts, OfANodeSayWhatItHasOfThisCache) {
  EXPECT_EQ(countsOf({}, "b"), (Counts{.nodes = 1}));
  EXPECT_EQ(countsOf({{"b", entryIn(State::Extracted)}}, "b"), (Counts{.nodes = 1, .nodes_not_in_use = 1}));
  EXPECT_EQ(countsOf({{"b", entryIn(State::Running, 2)}}, "b"),
            (Counts{.nodes = 1, .nodes_in_use = 1, .pods_running = 2}));
  EXPECT_EQ(countsOf({{"b", entryIn(State::Error)}}, "b"), (Counts{.nodes = 1, .nodes_error = 1}));
  EXPECT_EQ(countsOf({{"b", entryIn(State::Pending)}}, "b"), (Counts{.nodes = 1}));
  EXPECT_EQ(countsOf({{"b", CacheEntry{}}}, "b"), (Counts{.nodes = 1}));
}

TEST(Counts, PodsOfAnOlderImageAreOutdated) {
  const Entries both{{"a", entryIn(State::Running, 3)}, {"b", entryIn(State::Extracted)}};
  EXPECT_EQ(countsOf(both, "b"), (Counts{.nodes = 1, .nodes_in_use = 1, .pods_outdated = 3}));
}

TEST(Counts, AnOlderImageThatOnceFailedIsNoError) {
  const Entries both{{"a", entryIn(State::Error)}, {"b", entryIn(State::Extracted)}};
  EXPECT_EQ(countsOf(both, "b"), (Counts{.nodes = 1, .nodes_not_in_use = 1}));
}

TEST(Counts, ANodeWithAnErrorWhosePodsHaveAnOlderImageIsBoth) {
  const Entries both{{"a", entryIn(State::Running, 1)}, {"b", entryIn(State::Error)}};
  EXPECT_EQ(countsOf(both, "b"),
            (Counts{.nodes = 1, .nodes_in_use = 1, .nodes_error = 1, .pods_outdated = 1}));
}

TEST(Counts, AddAndSubtract) {
  const Counts one{1, 2, 3, 4, 5, 6};
  Counts sum = one;
  sum += one;
  EXPECT_EQ(sum, (Counts{2, 4, 6, 8, 10, 12}));
  sum -= one;
  EXPECT_EQ(sum, one);
}

TEST(State, ACauseOfAnyBytesIsATextThatStaysTheSame) {
  EXPECT_EQ(messageOf(State::Error, "bad \xff name").substr(std::string{sentenceOf(State::Error)}.size()),
            ": bad ? name");
  const std::string message = messageOf(State::Error, std::string(2000, '\xc3') + "\xa4");
  EXPECT_TRUE(isUtf8(message));
  EXPECT_EQ(messageOf(State::Error, causeIn(State::Error, message)), message);
}

}  // namespace
}  // namespace gs::kcache
