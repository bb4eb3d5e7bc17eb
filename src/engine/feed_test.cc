#include "engine/feed.h"

#include <gtest/gtest.h>

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using model::Quotas;

const Quotas kOfTheFile{{"ns", model::Quota{{{"V100", 4}}, {}}}};

/// A feed of quotas, whose lists are answered by hand.
class QuotaFeed : public ::testing::Test {
 protected:
  QuotaFeed() {
    const model::QuotaConfig config{{"kube-system", "gpuquota"}, {}, kOfTheFile};
    engine.configureQuota(config);
    feed.emplace(engine, std::vector{Feed::quotaSource(config)}, rng);
  }
  /// Answers the list call under way with this status; the list's revision is 10.
  void answer(int http) {
    ASSERT_TRUE(call) << "no list is under way";
    kapi::Outcome o;
    o.token = std::exchange(call, std::nullopt)->token;
    o.http = http;
    o.fate = http == 200 ? kapi::Fate::Applied : http == 403 ? kapi::Fate::Refused : kapi::Fate::Unknown;
    o.list_revision = 10;
    kapi::Effects out;
    EXPECT_TRUE(feed->handle(o, now, out));
    look(out);
  }
  void start() {
    kapi::Effects out;
    feed->start(now, out);
    look(out);
  }
  /// Until the next list is asked for.
  void untilAsked() {
    ASSERT_FALSE(call);
    ASSERT_TRUE(wake) << "it would wait for ever";
    now.mono = *wake;
    tick();
  }
  void tick() {
    kapi::Effects out;
    feed->tick(now, out);
    look(out);
  }
  void look(const kapi::Effects& effects) {
    for (const auto& effect : effects) {
      if (const auto* c = std::get_if<kapi::Call>(&effect)) { call = *c; }
      if (const auto* w = std::get_if<kapi::Wake>(&effect)) { wake = w->at; }
    }
  }
  /// Whether it is ready, and what it says of itself.
  std::pair<bool, std::string> check() const {
    std::vector<std::pair<std::string, std::string>> checks;
    const bool ready = feed->check(checks);
    return {ready, checks.at(0).second};
  }

  Rng rng{1};
  Engine engine;
  std::optional<Feed> feed;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  std::optional<kapi::Call> call;
  std::optional<Mono> wake;
};

TEST_F(QuotaFeed, AServerThatHasJustStartedForbidsForAMoment) {
  start();
  answer(403);
  EXPECT_TRUE(engine.quota().awaited());
  EXPECT_FALSE(check().first) << "nobody should ask it yet";
  now.mono += 6s;
  tick();
  EXPECT_TRUE(engine.quota().awaited()) << "that was only one answer";
  ASSERT_TRUE(call);
  answer(200);
  EXPECT_FALSE(engine.quota().awaited());
  EXPECT_TRUE(engine.quota().quotas()->empty());
  EXPECT_FALSE(engine.quota().mayNotBeRead());
  EXPECT_TRUE(check().first);
}

TEST_F(QuotaFeed, WhatStaysForbiddenForSomeSecondsIs) {
  start();
  const Mono began = now.mono;
  for (answer(403); engine.quota().awaited() && now.mono < began + 1min; answer(403)) { untilAsked(); }
  ASSERT_FALSE(engine.quota().awaited());
  EXPECT_EQ(*engine.quota().quotas(), kOfTheFile);
  EXPECT_TRUE(engine.quota().mayNotBeRead());
  EXPECT_GE(now.mono - began, 5s);
  EXPECT_LE(now.mono - began, 10s);
  EXPECT_TRUE(check().first);
  EXPECT_EQ(check().second.substr(0, 15), "ok, without it:");
  for (int i = 0; i < 10; ++i) {
    const Mono before = now.mono;
    untilAsked();
    EXPECT_LE(now.mono - before, 10s) << "the right to it may be given";
    answer(403);
  }
}

TEST_F(QuotaFeed, OneThatWasAwayBetweenForbidsAnew) {
  start();
  answer(403);
  untilAsked();
  answer(0);
  now.mono += 1min;
  tick();
  answer(403);
  EXPECT_TRUE(engine.quota().awaited());
}

}  // namespace
}  // namespace gs::engine
