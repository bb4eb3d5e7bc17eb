#include "controller/parts.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::controller {
namespace {

using namespace std::chrono_literals;

constexpr Mono kBegan{1h};

class SomePart : public Part {
 public:
  void handle(const kapi::Outcome& outcome, Now /*now*/, kapi::Effects& /*out*/) override {
    answered.push_back(outcome.token);
  }
  void watched(const kapi::MachineEvent& event, Now /*now*/, kapi::Effects& /*out*/) override {
    streamed.push_back(ownerOf(event).value());
  }
  void tick(Now now, kapi::Effects& out) override { out.emplace_back(kapi::Wake{now.mono}); }
  [[nodiscard]] std::optional<Mono> nextDue() const override { return due; }
  void reset() override { answered.clear(); }
  void podEnded(const model::Uid& uid) override { ended.push_back(uid.text); }
  [[nodiscard]] std::size_t size() const override { return answered.size(); }

  std::vector<kapi::Token> answered;
  std::vector<std::uint8_t> streamed;
  std::vector<std::string> ended;
  std::optional<Mono> due;
};

kapi::Outcome answerTo(kapi::Token token) {
  kapi::Outcome outcome;
  outcome.token = token;
  return outcome;
}

class PartsTest : public ::testing::Test {
 protected:
  bool handle(const kapi::MachineEvent& event) { return parts.handle(event, {}, out); }

  Owners owners;
  Parts parts{owners};
  SomePart one;
  SomePart two;
  kapi::Effects out;
};

TEST_F(PartsTest, EachGetsItsOwnAnswers) {
  const std::uint8_t first = parts.add(one);
  const std::uint8_t second = parts.add(two);
  EXPECT_TRUE(handle(answerTo(kapi::makeToken(second, 5))));
  for (const int other : {first - 1, second + 1, int{kElectionOwner}}) {
    EXPECT_FALSE(handle(answerTo(kapi::makeToken(static_cast<std::uint8_t>(other), 5)))) << other;
  }
  EXPECT_TRUE(one.answered.empty());
  EXPECT_EQ(two.answered, std::vector{kapi::makeToken(second, 5)});
}

TEST_F(PartsTest, EachGetsWhatItsWatchesBringByAnyOfItsNumbers) {
  const std::uint8_t first = parts.add(one, 3);
  const std::uint8_t next = parts.add(two);
  EXPECT_EQ(next, first + 3);
  for (int i = 0; i < 3; ++i) {
    const kapi::Token token = kapi::makeToken(static_cast<std::uint8_t>(first + i), 1);
    EXPECT_TRUE(handle(kapi::WatchEnded{token, 410, ""}));
    kapi::WatchEvent came;
    came.stream = token;
    EXPECT_TRUE(handle(came));
  }
  const auto at = [&](int i) { return static_cast<std::uint8_t>(first + i); };
  EXPECT_EQ(one.streamed, (std::vector{at(0), at(0), at(1), at(1), at(2), at(2)}));
  EXPECT_TRUE(two.streamed.empty());
}

TEST_F(PartsTest, TimeAndLeadershipAreEverybodys) {
  parts.add(one);
  EXPECT_FALSE(handle(kapi::TimerDue{}));
  EXPECT_FALSE(handle(kapi::Leadership{}));
  EXPECT_TRUE(out.empty());
}

TEST_F(PartsTest, AllAreTold) {
  const std::uint8_t first = parts.add(one);
  parts.add(two, 2);
  EXPECT_EQ(parts.nextDue(), std::nullopt);
  one.due = kBegan + 2s;
  two.due = kBegan;
  EXPECT_EQ(parts.nextDue(), kBegan);
  parts.tick({}, out);
  EXPECT_EQ(out.size(), 2U) << "once each, however many numbers it has";
  parts.podEnded(model::Uid{"p"});
  EXPECT_EQ(one.ended, std::vector<std::string>{"p"});
  EXPECT_EQ(two.ended, std::vector<std::string>{"p"});
  EXPECT_TRUE(handle(answerTo(kapi::makeToken(first, 1))));
  EXPECT_EQ(parts.size(), 1U);
  parts.reset();
  EXPECT_EQ(parts.size(), 0U);
}

/// Two machines of one process, each with its own parts and calls.
TEST_F(PartsTest, OfOneProcessNoNumberIsGivenTwice) {
  Parts others{owners};
  Owners copy = owners;
  const std::vector<std::uint8_t> given{parts.add(one), others.add(two, 2), copy.take(), parts.add(one),
                                        owners.take(3)};
  EXPECT_EQ(given, (std::vector<std::uint8_t>{1, 2, 4, 5, 6}));
  EXPECT_FALSE(handle(answerTo(kapi::makeToken(2, 1)))) << "of the other machine";
  EXPECT_TRUE(handle(answerTo(kapi::makeToken(5, 1))));
  EXPECT_EQ(Owners{}.take(), 1) << "of another process";
}

using PartsDeathTest = PartsTest;

TEST_F(PartsDeathTest, TheElectionsNumberIsNobodyElses) {
  EXPECT_EQ(owners.take(kElectionOwner - 1), 1);
  EXPECT_DEATH((void)owners.take(), "255 owners of calls");
}

}  // namespace
}  // namespace gs::controller
