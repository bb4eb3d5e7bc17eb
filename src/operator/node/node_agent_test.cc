#include "operator/node/node_agent_hand_test.h"

namespace gs::gkm {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const model::ObjectKey kOne{"ns", "one"};
const model::ObjectKey kTwo{"ns", "two"};
const model::ObjectKey kWide{"", "wide"};
const std::string kOnesFinalizer = "gkm.io.one/finalizer";

kapi::Outcome answerOf(kapi::CallResult result, int http, const char* message) {
  kapi::Outcome out;
  out.result = result;
  out.http = http;
  out.message = message;
  return out;
}

using Texts = std::vector<std::string>;

class NodeAgentTest : public NodeHand {
 protected:
  [[nodiscard]] bool isTold(const std::string& event) const {
    const auto all = events();
    return std::find(all.begin(), all.end(), event) != all.end();
  }
};

TEST_F(NodeAgentTest, ACacheIsFetchedBehindItsFinalizerAndSaid) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
  EXPECT_EQ(counts("ns"), "1 0 1 0 0 0");
  EXPECT_EQ(finalizers("ns"), (Texts{kOnesFinalizer}));
  EXPECT_EQ(object("ns")->node.text, "node-a");
  EXPECT_EQ(object("ns")->gpus.at(0).type, "None Detected");
  EXPECT_EQ(
      server.objects.at({"gkmcachenodes", {"ns", "node-a"}})["metadata"]["labels"]["kubernetes.io/hostname"]
          .str(),
      "node-a");
  EXPECT_EQ(events(), (Texts{"Normal Created: GKMCacheNode for node node-a"}));
  EXPECT_LE(writes.size(), 3U);
}

TEST_F(NodeAgentTest, ProgressAloneIsWrittenLessAndLessOften) {
  makeCache(kOne);
  store.coming = kcache::Progress{.bytes = 0, .total_bytes = 1'000'000, .bytes_per_second = 100};
  start();
  std::vector<int> statuses;
  for (int minute = 0; minute < 60; ++minute) {
    for (int second = 0; second < 60; second += 2) {
      store.coming->bytes += 200;
      pass(seconds{2});
    }
    statuses.push_back(counted["status written"]);
  }
  EXPECT_EQ(statuses[0], 3);  // after 5 s, 10 more, 20 more
  EXPECT_LE(statuses[59], 12);
  EXPECT_GE(statuses[59] - statuses[38], 2) << "every ten minutes in the end";
  EXPECT_GT(object("ns")->caches.at("one").at(kDigestA).progress->bytes, 100'000);
  store.coming.reset();
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");  // that is not progress, and does not wait
}

TEST_F(NodeAgentTest, AWholeLifeTakesFewWritesAndEachIsCounted) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  store.pods[kOne][kDigestA] = {{"ns", "p", "v"}};
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Running");
  EXPECT_EQ(machine().states(), (std::map<kcache::State, std::size_t>{{kcache::State::Running, 1}}));
  store.pods.clear();
  pass(seconds{3});
  setDigest(kOne, kDigestB);
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@b: Extracted");
  deleteCache(kOne);
  pass(seconds{3});
  EXPECT_LE(counted["status written"], 6);
  EXPECT_EQ(counted["object written"], 1);
  EXPECT_EQ(counted["status written"] + counted["object written"] + counted["finalizer written"] +
                counted["deletion written"],
            static_cast<int>(writes.size()));
}

TEST_F(NodeAgentTest, NothingIsWantedBeforeTheFinalizerStands) {
  makeCache(kOne);
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.verb != kapi::Verb::Create) { return std::nullopt; }
    return answerOf(kapi::CallResult::Refused, 403, "no");
  };
  start();
  pass(minutes{1});
  ASSERT_NE(store.wanted(), nullptr);
  EXPECT_TRUE(store.wanted()->images.empty());
  EXPECT_EQ(logs.size(), 1U);      // the same trouble once
  EXPECT_LE(written("POST"), 15);  // and later each time
  fate = {};
  pass(seconds{15});
  EXPECT_EQ(store.wanted()->images.size(), 1U);
}

TEST_F(NodeAgentTest, ACacheOfTheClusterHasAnObjectOfTheCluster) {
  makeCache(kWide);
  start();
  pass(seconds{3});
  EXPECT_EQ(shown(""), "wide@a: Extracted");
  EXPECT_EQ(written("POST clustergkmcachenodes"), 1);
}

TEST_F(NodeAgentTest, CachesOfANamespaceShareOneObject) {
  makeCache(kOne);
  makeCache(kTwo);
  start();
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Extracted; two@a: Extracted");
  EXPECT_EQ(counts("ns"), "1 0 2 0 0 0");
  EXPECT_EQ(written("POST"), 1);
}

TEST_F(NodeAgentTest, WhatIsAskedForFirstComesFirstAsLongAsThatCounts) {
  const auto ask = [&](const std::string& text) {
    const Server::Key at{"gkmcachenodes", {"ns", "node-a"}};
    server.objects.at(at).child("metadata").set("annotations", json::Object{{kcache::kFirstKey, text}});
    server.touch(at);
    pass(seconds{2});
    return store.wanted()->first;
  };
  using Keys = std::set<model::ObjectKey>;
  store.is_held = true;
  makeCache(kOne);
  makeCache(kTwo);
  makeCache(kWide);
  start();
  pass(seconds{3});
  EXPECT_EQ(store.wanted()->first, Keys{});
  EXPECT_EQ(ask(kcache::printFirst({now().wall, {"two", "wide", "which-is-none"}})), (Keys{kTwo}))
      << "of its own namespace, and those that there are";
  EXPECT_EQ(ask(kcache::printFirst({now().wall - minutes{10}, {"two"}})), Keys{});
  EXPECT_EQ(ask("two"), Keys{}) << "no request";
  EXPECT_EQ(ask(kcache::printFirst({now().wall, {"one"}})), Keys{kOne});
  pass(minutes{10});
  EXPECT_EQ(store.wanted()->first, Keys{}) << "it ages out by itself";
  EXPECT_EQ(store.wanted()->images.size(), 3U) << "what is wanted is the same";
}

TEST_F(NodeAgentTest, ACacheWithoutADigestIsLeftAlone) {
  makeCache(kOne, "");
  start();
  pass(seconds{30});
  EXPECT_EQ(shown("ns"), "-");
  EXPECT_TRUE(writes.empty());
}

TEST_F(NodeAgentTest, AnImageThatIsNoneIsAnErrorAndTakesNothingAwayFromOthers) {
  makeCache(kOne, kDigestA, "NOT AN IMAGE");
  makeCache(kTwo);
  start();
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "one@a: Error; two@a: Extracted");
  EXPECT_NE(object("ns")->caches.at("one").at(kDigestA).condition->message.find("spec.image"),
            std::string::npos);
  EXPECT_EQ(counts("ns"), "1 0 1 1 0 0");
}

TEST_F(NodeAgentTest, PodsAreCountedAndTold) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{2});
  EXPECT_EQ(shown("ns"), "one@a: Running");
  EXPECT_EQ(counts("ns"), "1 1 0 0 1 0");
  EXPECT_TRUE(isTold("Normal CacheUsed: cache \"one\" used by pod \"ns/pod-1\", use count 1"));
  store.pods.clear();
  pass(seconds{2});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
  EXPECT_TRUE(isTold("Normal CacheRelease: cache \"one\" no longer used by pod \"ns/pod-1\", use count 0"));
  EXPECT_EQ(written("PUT"), 3);  // Extracted, Running, Extracted: what the node is can wait for the first
}

TEST_F(NodeAgentTest, ADeletedCacheGoesWithItsEntryFinalizerAndObject) {
  makeCache(kOne);
  makeCache(kTwo);
  start();
  pass(seconds{3});
  deleteCache(kOne);
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "two@a: Extracted");
  EXPECT_EQ(finalizers("ns"), (Texts{"gkm.io.two/finalizer"}));
  releaseCache(kOne);
  deleteCache(kTwo);
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "-");
  EXPECT_LE(written("PUT"), 12);
}

TEST_F(NodeAgentTest, ADeletedCacheThatPodsHaveKeepsFinalizerAndFilesUntilTheyEnd) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  deleteCache(kOne);
  pass(minutes{2});
  EXPECT_EQ(shown("ns"), "one@a: Running");
  EXPECT_EQ(finalizers("ns"), (Texts{kOnesFinalizer}));
  store.pods.clear();
  pass(seconds{4});
  EXPECT_EQ(shown("ns"), "-");
}

TEST_F(NodeAgentTest, AnOlderImageIsOutdatedWhilePodsHaveIt) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  setDigest(kOne, kDigestB);
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Outdated; one@b: Extracted");
  EXPECT_EQ(counts("ns"), "1 1 0 0 0 1");
  store.pods.clear();
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@b: Extracted");
}

TEST_F(NodeAgentTest, AFailedImageIsTriedAgainLaterEachTime) {
  store.failing[kDigestA] = "no such image";
  makeCache(kOne);
  start();
  pass(seconds{3});
  EXPECT_EQ(shown("ns"), "one@a: Error");
  EXPECT_NE(object("ns")->caches.at("one").at(kDigestA).condition->message.find("no such image"),
            std::string::npos);
  EXPECT_EQ(counts("ns"), "1 0 0 1 0 0");
  EXPECT_EQ(store.tries(), 1);
  pass(seconds{12});
  EXPECT_EQ(store.tries(), 2);
  pass(seconds{12});
  EXPECT_EQ(store.tries(), 2);
  pass(minutes{60});
  EXPECT_GE(store.tries(), 8);
  EXPECT_LE(store.tries(), 12);
  EXPECT_LE(written("PUT"), 2);  // the same cause is written once
  EXPECT_EQ(events().size(), 2U);
  store.failing.clear();
  pass(minutes{11});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
}

// Another cache's attempt brings it back before its own is due; then it is damaged again.
TEST_F(NodeAgentTest, WhatIsDamagedIsFetchedAgainHoweverOftenAndWhoeverMendedItBefore) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  for (int i = 0; i < 3; ++i) {
    store.breaks(kOne, kDigestA);
    pass(seconds{3});
    EXPECT_EQ(shown("ns"), "one@a: Error");
    store.heals(kOne, kDigestA);
    pass(seconds{3});
    EXPECT_EQ(shown("ns"), "one@a: Extracted");
  }
  store.breaks(kOne, kDigestA);
  pass(minutes{11});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
}

TEST_F(NodeAgentTest, AnotherDigestIsTriedAtOnceAfterOneThatFailed) {
  store.failing[kDigestA] = "no such image";
  makeCache(kOne);
  start();
  pass(minutes{30});
  setDigest(kOne, kDigestB);
  pass(seconds{2});
  EXPECT_EQ(shown("ns"), "one@b: Extracted");
}

/// Its only cache wants an image that does not come, and was tried once.
class FailedOnce : public NodeAgentTest {
 protected:
  FailedOnce() {
    store.failing[kDigestA] = "no such image";
    makeCache(kOne);
    start();
    pass(seconds{3});
    EXPECT_EQ(store.tries(), 1);
  }
};

TEST_F(FailedOnce, IsTriedAgainAlsoAfterItsNodeObjectWasAwayForAWhile) {
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.verb != kapi::Verb::Create) { return std::nullopt; }
    return answerOf(kapi::CallResult::Unknown, 500, "later");
  };
  server.remove(kcache::kCacheNode, {"ns", kNode});  // nothing is fetched before it is there again
  pass(seconds{3});
  ASSERT_TRUE(store.wanted()->undecided.contains(kOne));
  fate = nullptr;
  pass(seconds{15});
  ASSERT_FALSE(store.wanted()->undecided.contains(kOne));
  EXPECT_LE(store.tries(), 2) << "at its own pace";
  pass(minutes{30});
  EXPECT_GE(store.tries(), 5);
  EXPECT_LE(store.tries(), 10);
}

TEST_F(FailedOnce, IsTriedAtOnceAndAgainForACacheThatIsMadeAnew) {
  store.is_held = true;  // it looks only once the cache is there again
  deleteCache(kOne);
  pass(seconds{1});
  releaseCache(kOne);
  pass(seconds{1});
  makeCache(kOne);
  pass(seconds{1});
  store.is_held = false;
  pass(seconds{5});
  EXPECT_EQ(store.tries(), 2);
  pass(minutes{30});
  EXPECT_GE(store.tries(), 6);
  store.failing.clear();
  pass(minutes{11});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
}

TEST_F(NodeAgentTest, GpusSayWhichCanUseACache) {
  const kcache::CacheGpu hopper{0, "H100", "550", {"cuda", "90", 32}};
  kcache::CacheGpu ampere{1, "A100", "550", {"cuda", "80", 32}};
  makeCache(kOne);
  start({hopper, ampere});
  pass(seconds{3});
  EXPECT_EQ(object("ns")->caches.at("one").at(kDigestA).compatible_gpus, std::vector<int>{0});
  EXPECT_EQ(object("ns")->caches.at("one").at(kDigestA).incompatible_gpus, std::vector<int>{1});
  EXPECT_EQ(object("ns")->gpus.size(), 2U);
  look({hopper});
  pass(seconds{3});
  EXPECT_TRUE(object("ns")->caches.at("one").at(kDigestA).incompatible_gpus.empty());
  EXPECT_EQ(store.wanted()->gpus.size(), 1U);
}

TEST_F(NodeAgentTest, TheSecondCacheIsComparedAsTheFirst) {
  makeCache(kOne);
  makeCache(kTwo);
  start({{0, "H100", "550", {"cuda", "90", 32}}, {1, "A100", "550", {"cuda", "80", 32}}});
  pass(seconds{3});
  for (const char* name : {"one", "two"}) {
    const auto entry = object("ns")->caches.at(name).at(kDigestA);
    EXPECT_EQ(entry.compatible_gpus, std::vector<int>{0}) << name;
    EXPECT_EQ(entry.incompatible_gpus, std::vector<int>{1}) << name;
  }
}

TEST_F(NodeAgentTest, APodWithACacheForOtherGpusIsTold) {
  makeCache(kOne);
  start({{1, "A100", "550", {"cuda", "80", 32}}});
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  EXPECT_TRUE(
      isTold("Warning Incompatible: cache \"one\" is for none of the GPUs of this node, and pod "
             "\"ns/pod-1\" uses it"));
  look({{0, "H100", "550", {"cuda", "90", 32}}, {1, "A100", "550", {"cuda", "80", 32}}});
  store.pods[kOne][kDigestA].push_back({"ns", "pod-2", "csi-2"});
  pass(seconds{3});
  const auto all = events();
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& e) { return e.starts_with("Warning"); }), 1);
}

TEST_F(NodeAgentTest, ObjectsOfOtherNodesAreNobodysBusiness) {
  server.put(
      kcache::kCacheNode,
      json::Object{{"metadata", json::Object{{"name", "node-b"},
                                             {"namespace", "ns"},
                                             {"labels", json::Object{{"kubernetes.io/hostname", "node-b"}}},
                                             {"finalizers", json::Array{kOnesFinalizer}}}}});
  makeCache(kOne);
  start();
  pass(seconds{5});
  EXPECT_TRUE(object("ns", "node-b").has_value());
  EXPECT_EQ(written("DELETE"), 0);
}

TEST_F(NodeAgentTest, WhatAnOlderVersionNamedOtherwiseGoes) {
  server.put(
      kcache::kCacheNode,
      json::Object{{"metadata", json::Object{{"name", "one-1a2b3c4d"},
                                             {"namespace", "ns"},
                                             {"labels", json::Object{{"kubernetes.io/hostname", "node-a"}}},
                                             {"finalizers", json::Array{kOnesFinalizer}}}}});
  makeCache(kOne);
  start();
  pass(seconds{10});
  EXPECT_FALSE(object("ns", "one-1a2b3c4d").has_value());
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
}

TEST_F(NodeAgentTest, AnObjectThatSomebodyDeletesIsMadeAnew) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  const auto uid = object("ns")->uid;
  server.deleteSoftly(kcache::kCacheNode, {"ns", kNode});
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
  EXPECT_NE(object("ns")->uid, uid);
}

TEST_F(NodeAgentTest, OfACacheThatIsGoneAndMountedTheObjectIsMadeAnew) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  releaseCache(kOne);                                // somebody took its finalizers off,
  server.remove(kcache::kCacheNode, {"ns", kNode});  // and those of the node's object
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "one@a: Running");
  EXPECT_EQ(finalizers("ns"), (Texts{kOnesFinalizer}));
  store.pods.clear();
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "-");
}

TEST_F(NodeAgentTest, AnAnswerThatComesBehindTheNewsThatItIsGoneBringsNothingBack) {
  is_news_first = true;
  makeCache(kOne);
  start();
  pass(seconds{3});
  server.deleteSoftly(kcache::kCacheNode, {"ns", kNode});
  pass(seconds{10});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
  deleteCache(kOne);
  pass(seconds{10});
  EXPECT_EQ(shown("ns"), "-");
}

TEST_F(NodeAgentTest, AnObjectOfOurNameWithoutTheLabelGetsIt) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  server.remove(kcache::kCacheNode, {"ns", kNode});  // so the watch by label says
  json::Value bare = json::Object{
      {"metadata",
       json::Object{{"name", kNode}, {"namespace", "ns"}, {"finalizers", json::Array{kOnesFinalizer}}}}};
  server.put(kcache::kCacheNode, bare);
  pass(seconds{30});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
  EXPECT_EQ(logs.size(), 1U);
  deleteCache(kOne);
  pass(seconds{10});
  EXPECT_EQ(shown("ns"), "-");
}

TEST_F(NodeAgentTest, AStoreThatCannotBeOpenedSaysNothingOfWhatIsThere) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  deleteCache(kOne);
  pass(seconds{3});
  writes.clear();
  is_store_silent = true;
  start();
  tellNothing("the store belongs to another agent that runs");
  pass(minutes{5});
  EXPECT_TRUE(writes.empty()) << writes.front();
  EXPECT_FALSE(machine().readiness().ready);
  EXPECT_NE(machine().readiness().text().find("another agent"), std::string::npos);
  is_store_silent = false;
  pass(seconds{5});
  EXPECT_EQ(shown("ns"), "one@a: Running");
  EXPECT_TRUE(machine().readiness().ready);
}

TEST_F(NodeAgentTest, NewsAreToldWhenTheyStandThere) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  int left = 3;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.verb != kapi::Verb::Update || left-- <= 0) { return std::nullopt; }
    return answerOf(kapi::CallResult::Refused, 422, "no");
  };
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(minutes{1});
  const auto all = events();
  EXPECT_EQ(
      std::count_if(all.begin(), all.end(), [](const auto& e) { return e.starts_with("Normal CacheUsed"); }),
      1);
}

TEST_F(NodeAgentTest, ForeignFinalizersStay) {
  makeCache(kOne);
  start();
  pass(seconds{3});
  server.objects.at({"gkmcachenodes", {"ns", kNode}})
      .child("metadata")
      .set("finalizers", json::Array{"x.io/mine", kOnesFinalizer});
  server.touch({"gkmcachenodes", {"ns", kNode}});
  deleteCache(kOne);
  pass(seconds{5});
  EXPECT_EQ(finalizers("ns"), (Texts{"x.io/mine"}));
  pass(minutes{5});
  EXPECT_LE(written("DELETE"), 0);
}

TEST_F(NodeAgentTest, WhileAKindIsMissingNothingIsTakenAwayAndNothingWritten) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{3});
  fate = [](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.verb != kapi::Verb::List || call.kind != kcache::kCache) { return std::nullopt; }
    return answerOf(kapi::CallResult::Refused, 404, "page not found");
  };
  endWatch(kcache::kCache, 404);
  store.pods.clear();
  pass(minutes{2});
  EXPECT_EQ(finalizers("ns"), Texts{kOnesFinalizer});
  EXPECT_TRUE(object("ns")->caches.contains("one"));
  EXPECT_EQ(store.wanted()->images.size(), 1U);
  fate = {};
  pass(minutes{1});
  EXPECT_EQ(shown("ns"), "one@a: Extracted");
}

TEST_F(NodeAgentTest, AWriteThatIsRefusedWaitsLongerEachTime) {
  makeCache(kOne);
  start();
  int tries = 0;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.verb != kapi::Verb::Update) { return std::nullopt; }
    ++tries;
    return answerOf(kapi::CallResult::Unknown, 500, "etcd");
  };
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(minutes{2});
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, 25);
  fate = {};
  pass(seconds{11});
  EXPECT_EQ(shown("ns"), "one@a: Running");
}

TEST_F(NodeAgentTest, AfterARestartNothingIsWrittenThatStandsThere) {
  makeCache(kOne);
  start();
  store.pods[kOne][kDigestA] = {{"ns", "pod-1", "csi-1"}};
  pass(seconds{5});
  writes.clear();
  start();
  pass(minutes{5});
  EXPECT_TRUE(writes.empty()) << writes.front();
}

}  // namespace
}  // namespace gs::gkm
