#include "agent/enforced/evictions.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "kapi/call.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;

class EvictionsTest : public ::testing::Test {
 protected:
  void want(const std::vector<std::string>& pods) {
    std::map<model::Uid, model::ObjectKey> out;
    for (const auto& pod : pods) { out.emplace(model::Uid{"uid-" + pod}, model::ObjectKey{"ns", pod}); }
    evictions_.want(std::move(out));
    tick();
  }
  void tick() {
    kapi::Effects out;
    evictions_.tick(clock_.now(), out);
    for (auto& effect : out) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls_.push_back(std::move(*call)); }
    }
  }
  /// The pod whose eviction was asked for first; it is answered.
  std::string answer(int http, const char* reason = "") {
    EXPECT_FALSE(calls_.empty());
    if (calls_.empty()) { return ""; }
    const kapi::Call call = std::move(calls_.front());
    calls_.pop_front();
    EXPECT_EQ(call.subresource, "eviction");
    kapi::Outcome outcome;
    outcome.token = call.token;
    outcome.http = http;
    outcome.reason = reason;
    outcome.result = http < 300 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    kapi::Effects out;
    evictions_.handle(outcome, clock_.now(), out);
    tick();
    return call.key.name;
  }

  ManualClock clock_;
  controller::Parts parts_;
  Evictions evictions_{parts_};
  std::deque<kapi::Call> calls_;
};

TEST_F(EvictionsTest, EachPodIsToldOnce) {
  want({"p"});
  EXPECT_EQ(answer(201), "p");
  for (int i = 0; i < 10; ++i) {
    clock_.advance(1min);
    want({"p"});
  }
  EXPECT_TRUE(calls_.empty());
  evictions_.gone(model::Uid{"uid-p"});
  EXPECT_EQ(evictions_.size(), 0U);
}

TEST_F(EvictionsTest, WhileABudgetRefusesItIsTriedAgainWithWaits) {
  want({"p"});
  EXPECT_EQ(answer(429, "TooManyRequests"), "p");
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(evictions_.nextDue(), clock_.now().mono + 1s);
  clock_.advance(1s);
  tick();
  EXPECT_EQ(answer(429, "TooManyRequests"), "p");
  clock_.advance(1s);
  tick();
  EXPECT_TRUE(calls_.empty()) << "two seconds now";
  clock_.advance(1s);
  tick();
  EXPECT_EQ(answer(404, "NotFound"), "p");
  clock_.advance(1h);
  tick();
  EXPECT_TRUE(calls_.empty()) << "it is gone";
}

TEST_F(EvictionsTest, WhoHasItsOwnAgainMayStay) {
  want({"p"});
  EXPECT_EQ(answer(429), "p");
  want({});
  clock_.advance(1h);
  tick();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(EvictionsTest, FewAreUnderWayAtOnce) {
  want({"a", "b", "c", "d"});
  EXPECT_EQ(calls_.size(), Evictions::kUnderWay);
  EXPECT_EQ(answer(201), "a");
  EXPECT_EQ(calls_.size(), Evictions::kUnderWay);
}

}  // namespace
}  // namespace gs::agent
