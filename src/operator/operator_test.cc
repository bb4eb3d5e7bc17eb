#include "operator/operator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;
using kcache::State;

const model::ObjectKey kOne{"ns", "one"};
const model::ObjectKey kTwo{"ns", "two"};
const model::ObjectKey kWide{"", "wide"};

class OperatorTest : public Hand {
 protected:
  void SetUp() override {
    makeNode("node-a");
    makeNode("node-b");
  }
};

TEST_F(OperatorTest, LeadsACacheThroughItsLife) {
  start();
  makeCache(kOne);
  pass(1s);
  EXPECT_EQ(cache(kOne)->finalizers.names, (std::vector<std::string>{"gkm.io.gkmcachenode/finalizer"}));
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  EXPECT_EQ(message(kOne), "Not yet complete");
  EXPECT_EQ(cache(kOne)->status->resolved_digest, kDigestA);

  say("ns", "node-a", {{"one"}});
  pass(2s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
  EXPECT_EQ(message(kOne), "The Kernel Cache has been extracted onto the host");

  say("ns", "node-a", {{"one", kDigestA, State::Running, 2}});
  pass(2s);
  EXPECT_EQ(shown(kOne), "Running 1 1 0 0 2 0");
  say("ns", "node-a", {{"one"}});
  pass(2s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
  EXPECT_EQ(written("PATCH gkmcaches ns/one status"), 4);

  server.deleteSoftly(kcache::kCache, kOne);
  pass(5s);
  ASSERT_TRUE(cache(kOne).has_value());
  say("ns", "node-a", {});
  pass(2s);
  EXPECT_FALSE(cache(kOne).has_value());
  EXPECT_EQ(written("PATCH gkmcaches ns/one status"), 4);
}

TEST_F(OperatorTest, ACacheOfTheClusterHasTheSameLifeUnderItsOwnFinalizer) {
  start();
  makeCache(kWide);
  say("", "node-a", {{"wide"}});
  say("ns", "node-a", {{"wide", kDigestA, State::Error}});  // another cache, of that namespace
  pass(3s);
  EXPECT_EQ(cache(kWide)->finalizers.names,
            (std::vector<std::string>{"gkm.io.clustergkmcachenode/finalizer"}));
  EXPECT_EQ(shown(kWide), "Extracted 1 0 1 0 0 0");
  server.deleteSoftly(kcache::kClusterCache, kWide);
  pass(2s);
  ASSERT_TRUE(cache(kWide).has_value());
  say("", "node-a", {});
  pass(2s);
  EXPECT_FALSE(cache(kWide).has_value());
}

TEST_F(OperatorTest, OneCachesErrorIsNotAnothers) {
  start();
  makeCache(kOne);
  makeCache(kTwo);
  say("ns", "node-a",
      {{"one", kDigestA, State::Error, 0, "no such image"}, {"two", kDigestA, State::Running, 3}});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Error 1 0 0 1 0 0");
  EXPECT_EQ(message(kOne), "An error occurred trying to extract the Kernel Cache: node-a: no such image");
  EXPECT_EQ(shown(kTwo), "Running 1 1 0 0 3 0");
  EXPECT_EQ(events(), (std::vector<std::string>{"Warning Error: " + message(kOne)}));
}

TEST_F(OperatorTest, AnErrorGoesWithItsCause) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one", kDigestA, State::Error, 0, "disk full"}});
  pass(3s);
  say("ns", "node-a", {{"one"}});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
}

TEST_F(OperatorTest, PodsWithAnOlderImageMakeItOutdatedUntilTheyEnd) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one", kDigestA, State::Running, 2}});
  pass(3s);
  setDigest(kOne, kDigestB);
  pass(3s);
  EXPECT_EQ(shown(kOne), "Outdated 1 1 0 0 0 2");
  EXPECT_EQ(cache(kOne)->status->resolved_digest, kDigestB);
  say("ns", "node-a", {{"one", kDigestA, State::Running, 2}, {"one", kDigestB, State::Running, 1}});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Outdated 1 1 0 0 1 2");
  say("ns", "node-a", {{"one", kDigestB, State::Running, 1}});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Running 1 1 0 0 1 0");
}

TEST_F(OperatorTest, WithoutADigestACacheIsPendingSaysWhyAndCanBeDeleted) {
  start();
  makeCache(kOne, "");
  makeCache(kTwo, "sha256:nonsense");
  pass(3s);
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  EXPECT_NE(message(kOne).find("gkm.io/resolvedDigest"), std::string::npos);
  EXPECT_NE(message(kTwo).find("'sha256:nonsense' is no digest"), std::string::npos);
  EXPECT_TRUE(cache(kOne)->finalizers.names.empty());
  // With the finalizer of before, and no digest any more.
  change(kcache::kCache, kOne, [](json::Value& o) {
    o.child("metadata").set("finalizers", json::Array{kcache::kCacheFinalizer, "example.com/other"});
  });
  server.deleteSoftly(kcache::kCache, kOne);
  pass(3s);
  EXPECT_EQ(cache(kOne)->finalizers.names, (std::vector<std::string>{"example.com/other"}));
}

TEST_F(OperatorTest, AFinalizerOfANodeAloneKeepsTheCache) {
  start();
  makeCache(kOne);
  pass(2s);
  say("ns", "node-a", {{"one"}});
  change(kcache::kCacheNode, {"ns", "node-a"}, [](json::Value& o) { o.set("status", json::Object{}); });
  pass(2s);
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  server.deleteSoftly(kcache::kCache, kOne);
  pass(3s);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_EQ(events(),
            (std::vector<std::string>{"Warning Deleting: waits until these nodes have removed it: node-a"}));
}

TEST_F(OperatorTest, ChangesAreWrittenOnceASecondAtMost) {
  start();
  makeCache(kOne);
  pass(10s);
  const int before = written("PATCH gkmcaches ns/one status");
  for (int i = 0; i < 30; ++i) {
    makeNode(fmt::format("n{}", i));
    say("ns", fmt::format("n{}", i), {{"one"}});
    pass(10ms);
  }
  pass(5s);
  EXPECT_EQ(shown(kOne), "Extracted 30 0 30 0 0 0");
  EXPECT_LE(written("PATCH gkmcaches ns/one status") - before, 2);
}

TEST_F(OperatorTest, WhatDoesNotChangeIsNotWritten) {
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  start();
  pass(10s);
  const auto before = writes;
  say("ns", "node-a", {{"one"}});
  start();  // another process
  pass(10min);
  EXPECT_EQ(writes, before);
}

TEST_F(OperatorTest, AStandbyWritesNothingAndALeaderThatLostNeither) {
  start(false);
  makeCache(kOne);
  pass(10s);
  EXPECT_TRUE(writes.empty());
  EXPECT_TRUE(machine().readiness().ready);
  lead();
  pass(3s);
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  lead(false);
  const auto before = writes;
  say("ns", "node-a", {{"one"}});
  pass(10s);
  EXPECT_EQ(writes, before);
  lead();
  pass(3s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
}

TEST_F(OperatorTest, ANodeThatLeftReleasesItsCaches) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  say("ns", "node-b", {{"one"}});
  change(kcache::kCacheNode, {"ns", "node-b"}, [](json::Value& o) {
    o.child("metadata").child("finalizers").array().push_back("example.com/other");
  });
  pass(3s);
  EXPECT_EQ(shown(kOne), "Extracted 2 0 2 0 0 0");
  server.remove(kNodePresence, {"", "node-a"});
  server.remove(kNodePresence, {"", "node-b"});
  pass(20s);
  EXPECT_FALSE(hasNodeObject({"ns", "node-a"}));
  ASSERT_TRUE(hasNodeObject({"ns", "node-b"}));  // another's finalizer stays
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  server.deleteSoftly(kcache::kCache, kOne);
  pass(3s);
  EXPECT_FALSE(cache(kOne).has_value());
}

TEST_F(OperatorTest, ANodeThatTheWatchDoesNotKnowButLivesLosesNothing) {
  start();
  makeCache(kOne);
  // It is there, and no watch has said so.
  server.held.insert("nodes");
  makeNode("node-c");
  say("ns", "node-c", {{"one"}});
  pass(10min);
  EXPECT_TRUE(hasNodeObject({"ns", "node-c"}));
  EXPECT_EQ(written("PATCH gkmcachenodes"), 0);
}

TEST_F(OperatorTest, NothingIsReleasedWhileTheReadOfTheNodeFails) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  pass(3s);
  struct Refusal {
    int http;
    const char* reason;
  };
  for (const Refusal& refusal :
       {Refusal{500, "InternalError"}, Refusal{403, "Forbidden"}, Refusal{404, ""}}) {
    fate = [refusal](const kapi::Call& call) -> std::optional<kapi::Outcome> {
      if (call.kind != kNodePresence || call.verb != kapi::Verb::Get) { return std::nullopt; }
      return refused(refusal.http, refusal.reason);
    };
    if (server.objects.contains({"nodes", {"", "node-a"}})) { server.remove(kNodePresence, {"", "node-a"}); }
    pass(2min);
    EXPECT_TRUE(hasNodeObject({"ns", "node-a"})) << refusal.http;
  }
  fate = {};
  pass(2min);
  EXPECT_FALSE(hasNodeObject({"ns", "node-a"}));
}

TEST_F(OperatorTest, AnAgentThatWritesMeanwhileKeepsItsObject) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  pass(3s);
  bool is_written = false;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind == kcache::kCacheNode && !std::exchange(is_written, true)) {
      makeNode("node-a");  // it is back, and its agent writes
      say("ns", "node-a", {{"one", kDigestA, State::Running, 1}});
    }
    return std::nullopt;
  };
  server.remove(kNodePresence, {"", "node-a"});
  pass(2min);
  EXPECT_TRUE(is_written);
  EXPECT_TRUE(hasNodeObject({"ns", "node-a"}));
  EXPECT_EQ(shown(kOne), "Running 1 1 0 0 1 0");
}

TEST_F(OperatorTest, TwoObjectsOfOneNodeCountOnce) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one"}}, "one-12345678");  // as older versions named them
  pass(3s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
  say("ns", "node-a", {{"one", kDigestA, State::Running, 1}});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Running 1 1 0 0 1 0");
  server.remove(kcache::kCacheNode, {"ns", "node-a"});
  pass(3s);
  EXPECT_EQ(shown(kOne), "Extracted 1 0 1 0 0 0");
}

TEST_F(OperatorTest, OneBrokenCacheCostsOnlyItself) {
  start();
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.key != kOne || kapi::isRead(call.verb)) { return std::nullopt; }
    return refused(422, "", "broken");
  };
  makeCache(kOne);
  makeCache(kTwo);
  pass(60s);
  EXPECT_EQ(shown(kTwo), "Pending 0 0 0 0 0 0");
  EXPECT_LE(written("PATCH gkmcaches ns/one"), 14);
  EXPECT_EQ(std::count(logs.begin(), logs.end(), "adding the finalizer: 422 broken"), 1);
  fate = {};
  pass(12s);
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
}

TEST_F(OperatorTest, AWriteWhoseAnswerWasLostIsNotDoneTwice) {
  start();
  int lost = 0;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (kapi::isRead(call.verb) || call.kind != kcache::kCache || ++lost > 2) { return std::nullopt; }
    (void)server.carryOut(call);
    return kapi::Outcome{};
  };
  makeCache(kOne);
  pass(10s);
  EXPECT_EQ(shown(kOne), "Pending 0 0 0 0 0 0");
  EXPECT_EQ(written("PATCH gkmcaches ns/one"), 2);
}

TEST_F(OperatorTest, FinalizersAreLeftAloneWhereThereAreTooMany) {
  makeCache(kOne);
  change(kcache::kCache, kOne, [](json::Value& o) {
    json::Array many;
    for (int i = 0; i < 5000; ++i) { many.push_back(fmt::format("a/{}", i)); }
    o.child("metadata").set("finalizers", many);
  });
  start();
  pass(10s);
  EXPECT_EQ(written("PATCH gkmcaches ns/one"), 0);
}

TEST_F(OperatorTest, WhileAKindIsMissingNothingIsTakenForGone) {
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  change(kcache::kCache, kOne,
         [](json::Value& o) { o.child("metadata").set("finalizers", json::Array{kcache::kCacheFinalizer}); });
  server.deleteSoftly(kcache::kCache, kOne);
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kcache::kCacheNode) { return std::nullopt; }
    return refused(404);
  };
  start();
  pass(1min);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_FALSE(machine().readiness().ready);
  EXPECT_NE(machine().readiness().text().find("gkmcachenodes: not served; apply charts/gkm/crds/crds.yaml"),
            std::string::npos);
  fate = {};
  pass(1min);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_TRUE(machine().readiness().ready);
}

TEST_F(OperatorTest, AKindThatGoesAndThenFailsIsNotTakenForKnown) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one"}});
  pass(3s);
  server.deleteSoftly(kcache::kCache, kOne);
  pass(3s);
  const auto before = writes;
  int http = 404;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kcache::kCacheNode) { return std::nullopt; }
    return refused(http);
  };
  endWatch(kcache::kCacheNode, 404);
  pass(1min);
  http = 500;
  pass(1min);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_EQ(writes, before);
  EXPECT_FALSE(machine().readiness().ready);
  fate = {};
  pass(1min);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_TRUE(machine().readiness().ready);
}

TEST_F(OperatorTest, ACacheStaysWhileTheNewsOfItsNodesAreBehind) {
  for (const auto& key : {kOne, kWide}) {
    const auto kind = kcache::nodeKindOf(key);
    const std::string plural{kind->plural};
    start();
    makeCache(key);
    pass(3s);
    server.held.insert(plural);
    say(key.ns, "node-a", {{key.name}});
    server.deleteSoftly(kcache::cacheKindOf(key), key);
    pass(1min);
    EXPECT_TRUE(cache(key).has_value());
    say(key.ns, "node-a", {});
    server.held.erase(plural);
    pass(3s);
    EXPECT_FALSE(cache(key).has_value());
  }
}

TEST_F(OperatorTest, ACacheStaysWhileItsNodesCannotBeListed) {
  start();
  makeCache(kOne);
  makeCache(kTwo);
  pass(3s);
  server.held.insert("gkmcachenodes");
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kcache::kCacheNode || call.verb != kapi::Verb::List) { return std::nullopt; }
    return refused(503);
  };
  say("ns", "node-a", {{"one"}});
  server.deleteSoftly(kcache::kCache, kOne);
  server.deleteSoftly(kcache::kCache, kTwo);
  pass(5min);
  EXPECT_TRUE(cache(kOne) && cache(kTwo));
  fate = {};
  pass(1min);
  EXPECT_TRUE(cache(kOne).has_value());
  EXPECT_FALSE(cache(kTwo).has_value());
}

TEST_F(OperatorTest, CachesThatGoAtOnceCostFewLists) {
  start();
  const auto key = [](int i) { return model::ObjectKey{"ns", fmt::format("c{}", i)}; };
  for (int i = 0; i < 100; ++i) { makeCache(key(i)); }
  pass(1min);
  int lists = 0;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    lists += call.verb == kapi::Verb::List ? 1 : 0;
    return std::nullopt;
  };
  for (int i = 0; i < 100; ++i) { server.deleteSoftly(kcache::kCache, key(i)); }
  pass(1min);
  EXPECT_FALSE(cache(key(0)) || cache(key(99)));
  EXPECT_LE(lists, 3);
}

TEST_F(OperatorTest, WhatHappenedIsToldAlsoWhenTheWatchIsFasterThanTheAnswer) {
  for (const bool is_first : {false, true}) {
    news_first = [is_first] { return is_first; };
    const model::ObjectKey key{"ns", is_first ? "two" : "one"};
    start();
    makeCache(key);
    say("ns", "node-a", {{key.name, kDigestA, State::Error, 0, "why"}});
    pass(3s);
    const auto all = events();
    EXPECT_EQ(std::count(all.begin(), all.end(), "Warning Error: " + message(key)), is_first ? 2 : 1);
  }
}

TEST_F(OperatorTest, WhatWasToldIsNotToldAgainByTheNextLeader) {
  start();
  makeCache(kOne);
  say("ns", "node-a", {{"one", kDigestA, State::Error, 0, "why"}});
  pass(3s);
  start();
  pass(10min);
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(OperatorTest, ManyNodesThatFailAreToldOnce) {
  start();
  makeCache(kOne);
  for (int i = 0; i < 200; ++i) {
    const std::string node = fmt::format("n{:03}", i);
    makeNode(node);
    say("ns", node, {{"one", kDigestA, State::Error, 0, "disk full"}});
    pass(1s);
  }
  pass(1min);
  EXPECT_EQ(events().size(), 1U);
  EXPECT_NE(message(kOne).find("n000: disk full (and 199 more)"), std::string::npos) << message(kOne);
}

TEST_F(OperatorTest, ACauseThatChangesAgainAndAgainIsToldNowAndThen) {
  start();
  makeCache(kOne);
  for (int i = 0; i < 200; ++i) {
    say("ns", "node-a", {{"one", kDigestA, State::Error, 0, fmt::format("cause {}", i)}});
    pass(1s);
  }
  const auto most = static_cast<std::size_t>(4);
  EXPECT_LE(events().size(), most);
  EXPECT_GE(events().size(), 2U);
  EXPECT_LE(written("PATCH gkmcaches ns/one status"), 22);
  pass(2min);
  const auto all = events();
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& e) { return e.ends_with("cause 199"); }), 1);
}

TEST_F(OperatorTest, AMessageIsWrittenOnceWhateverTheDigestIs) {
  start();
  makeCache(kOne, "sha256:" + std::string(64, 'a') + "\u00e4\u00f6\u00fc");
  pass(10min);
  EXPECT_EQ(written("PATCH gkmcaches ns/one status"), 1);
}

TEST_F(OperatorTest, GaugesCountCachesByState) {
  start();
  makeCache(kOne);
  makeCache(kTwo);
  say("ns", "node-a", {{"one"}});
  pass(5s);
  EXPECT_EQ(gauges.at("gkm_operator_caches Extracted"), 1);
  EXPECT_EQ(gauges.at("gkm_operator_caches Pending"), 1);
  EXPECT_EQ(gauges.at("gkm_operator_node_objects"), 1);
  server.deleteSoftly(kcache::kCache, kOne);
  pass(5s);
  EXPECT_EQ(gauges.at("gkm_operator_deleting_caches"), 1);
  say("ns", "node-a", {});
  pass(5s);
  EXPECT_EQ(gauges.at("gkm_operator_deleting_caches"), 0);
  EXPECT_EQ(gauges.at("gkm_operator_caches Extracted"), 0);
}

}  // namespace
}  // namespace gs::gkm
