#include "controller/watches.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kapi/kinds.h"

namespace gs::controller {
namespace {

Reflector::Config of(kapi::Kind kind, bool optional = false) {
  Reflector::Config out;
  out.kind = kind;
  out.optional = optional;
  return out;
}

class WatchesTest : public ::testing::Test {
 protected:
  WatchesTest() { watches_.start(clock_.now(), out_); }
  /// The list call of that place.
  [[nodiscard]] kapi::Token listOf(std::size_t place) const {
    std::vector<kapi::Token> lists;
    for (const auto& effect : out_) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { lists.push_back(call->token); }
    }
    return lists.at(place);
  }
  bool answer(kapi::Token token, int http, model::Revision revision = 0) {
    kapi::Outcome outcome;
    outcome.token = token;
    outcome.result = http == 200 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    outcome.http = http;
    outcome.list_revision = revision;
    return parts_.handle(outcome, clock_.now(), out_);
  }

  ManualClock clock_;
  Rng rng_{1};
  kapi::Effects out_;
  std::string took_;
  Owners owners_;
  const std::uint8_t anothers_ = owners_.take();
  Parts parts_{owners_};
  Watches watches_{parts_,
                   {of(kapi::kPod), of(kapi::kNode)},
                   rng_,
                   [this](const Reflector& one, const Reflector::Output& came, Now, kapi::Effects&) {
                     took_ += std::string{one.kind()->plural} + (came.synced_now ? " listed; " : "; ");
                   }};
};

TEST_F(WatchesTest, WhatComesFindsTheKindThatItIsOf) {
  EXPECT_EQ(kapi::tokenOwner(listOf(0)), anothers_ + 1);
  EXPECT_EQ(kapi::tokenOwner(listOf(1)), anothers_ + 2);
  took_.clear();
  EXPECT_TRUE(answer(listOf(1), 200, 7));
  EXPECT_EQ(took_, "nodes listed; ");
  EXPECT_EQ(watches_.find(kapi::kNode)->progress(), 7);
  EXPECT_TRUE(isListed(*watches_.find(kapi::kNode)));
  EXPECT_FALSE(isListed(*watches_.find(kapi::kPod)));
  EXPECT_EQ(watches_.find(kapi::kLease), nullptr);
}

TEST_F(WatchesTest, WhatIsSomebodyElsesIsLeftToThem) {
  const std::uint8_t next = owners_.take();
  took_.clear();
  for (const std::uint8_t owner : {anothers_, next, kElectionOwner}) {
    EXPECT_FALSE(answer(kapi::makeToken(owner, 1), 200)) << int{owner};
    EXPECT_FALSE(parts_.handle(kapi::WatchEnded{kapi::makeToken(owner, 1), 200, ""}, clock_.now(), out_));
  }
  EXPECT_FALSE(parts_.handle(kapi::TimerDue{}, clock_.now(), out_)) << "time is everybody's";
  EXPECT_EQ(took_, "");
}

TEST_F(WatchesTest, ThatHistoryWentBackIsSaidForGood) {
  EXPECT_EQ(watches_.failure(), "");
  watches_.historyWentBack("pods");
  watches_.historyWentBack("nodes");
  EXPECT_EQ(
      watches_.failure(),
      "the API server's history of pods went back in time (restored from a backup?); restart this process");
}

TEST_F(WatchesTest, WhatStopsAKindIsSaid) {
  EXPECT_EQ(stateOf(*watches_.find(kapi::kPod), "not served"), "not listed yet");
  answer(listOf(0), 403);
  EXPECT_NE(stateOf(*watches_.find(kapi::kPod), "not served").find("403"), std::string::npos);
  answer(listOf(1), 200, 7);
  EXPECT_EQ(stateOf(*watches_.find(kapi::kNode), "not served"), "");
}

}  // namespace
}  // namespace gs::controller
