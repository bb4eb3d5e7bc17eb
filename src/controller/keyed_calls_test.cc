#include "controller/keyed_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "controller/parts.h"

namespace gs::controller {
namespace {

using namespace std::chrono_literals;
using Calls = KeyedCalls<std::string, int>;

constexpr Mono kStart{10s};

TEST(KeyedCalls, OneCallPerKeyIsUnderWay) {
  Calls calls{7};
  EXPECT_TRUE(calls.due("a", kStart));
  const kapi::Token token = calls.begin("a", 3);
  EXPECT_EQ(kapi::tokenOwner(token), 7);
  EXPECT_FALSE(calls.due("a", kStart));
  EXPECT_TRUE(calls.due("b", kStart));
  ASSERT_NE(calls.what("a"), nullptr);
  EXPECT_EQ(*calls.what("a"), 3);
  EXPECT_EQ(calls.underWay(), 1U);
  const auto answered = calls.answered(token);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->key, "a");
  EXPECT_EQ(answered->what, 3);
  EXPECT_FALSE(answered->stale);
  EXPECT_FALSE(calls.answered(token)) << "a second time";
  EXPECT_TRUE(calls.due("a", kStart));
}

TEST(KeyedCalls, OneThatWasReplacedOrDroppedIsStale) {
  Calls calls{7};
  const auto first = calls.begin("a");
  const auto second = calls.begin("a");
  EXPECT_TRUE(calls.answered(first)->stale);
  EXPECT_TRUE(calls.open("a")) << "the second";
  calls.drop("a");
  EXPECT_FALSE(calls.open("a"));
  EXPECT_EQ(calls.underWay(), 1U);
  EXPECT_TRUE(calls.answered(second)->stale);
  EXPECT_EQ(calls.underWay(), 0U);
}

TEST(KeyedCalls, AFailedKeyWaitsLongerEachTime) {
  Calls calls{7, {1s, 3s}};
  EXPECT_EQ(calls.failed("a", kStart), kStart + 1s);
  EXPECT_FALSE(calls.due("a", kStart + 999ms));
  EXPECT_TRUE(calls.due("a", kStart + 1s));
  EXPECT_EQ(calls.nextDue(), kStart + 1s);
  EXPECT_EQ(calls.takeDue(kStart + 1s), std::vector<std::string>{"a"});
  EXPECT_EQ(calls.failed("a", kStart + 1s), kStart + 3s);
  EXPECT_EQ(calls.failed("a", kStart + 3s, 10s), kStart + 13s) << "as the server asked";
  EXPECT_EQ(calls.failures("a"), 3);
  calls.worked("a");
  EXPECT_TRUE(calls.due("a", kStart));
  EXPECT_EQ(calls.size(), 0U);
}

TEST(KeyedCalls, AnAnswerOfBeforeAResetIsNobodys) {
  Calls calls{7};
  const auto token = calls.begin("a");
  calls.failed("b", kStart);
  calls.reset();
  EXPECT_FALSE(calls.answered(token));
  EXPECT_TRUE(calls.due("a", kStart) && calls.due("b", kStart));
  EXPECT_NE(calls.begin("a"), token);
}

class Backend : public Part {
 public:
  void handle(const kapi::Outcome& outcome, Now /*now*/, kapi::Effects& /*out*/) override {
    answered.push_back(outcome.token);
  }
  void tick(Now now, kapi::Effects& out) override { out.emplace_back(kapi::Wake{now.mono}); }
  [[nodiscard]] std::optional<Mono> nextDue() const override { return due; }
  void reset() override { answered.clear(); }

  std::vector<kapi::Token> answered;
  std::optional<Mono> due;
};

kapi::Outcome answerTo(kapi::Token token) {
  kapi::Outcome outcome;
  outcome.token = token;
  return outcome;
}

TEST(Parts, GiveEachItsOwnAnswersAndOneTimeToWakeAll) {
  controller::Parts parts;
  Backend one;
  Backend two;
  EXPECT_EQ(parts.add(one), 20);
  EXPECT_EQ(parts.add(two), 21);
  kapi::Effects out;
  EXPECT_TRUE(parts.handle(answerTo(kapi::makeToken(21, 5)), {}, out));
  EXPECT_FALSE(parts.handle(answerTo(kapi::makeToken(19, 5)), {}, out));
  EXPECT_FALSE(parts.handle(answerTo(kapi::makeToken(22, 5)), {}, out));
  EXPECT_TRUE(one.answered.empty());
  EXPECT_EQ(two.answered, std::vector{kapi::makeToken(21, 5)});
  EXPECT_EQ(parts.nextDue(), std::nullopt);
  one.due = kStart + 2s;
  two.due = kStart;
  EXPECT_EQ(parts.nextDue(), kStart);
  parts.tick({}, out);
  EXPECT_EQ(out.size(), 2U);
  parts.reset();
  EXPECT_TRUE(two.answered.empty());
}

}  // namespace
}  // namespace gs::controller
