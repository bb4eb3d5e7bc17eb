// Operators and agents of kernel caches in a World, over stores that are values.
#include "sandbox/caches/caches.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "kcache/kinds/names.h"
#include "sandbox/caches/csi_drivers_test.h"
#include "yaml/yaml.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

constexpr const char* kCrdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kOne = "/apis/gkm.io/v1alpha1/namespaces/default/gkmcaches/one";
const std::string kDigestA = "sha256:" + std::string(64, 'a');

/// What is wanted is there with the next turn, and goes when it is not wanted any more.
class RimByHand final : public CacheRim {
 public:
  int starts = 0;
  int dies_in = -1;  // turns
  kcache::MountPathsPtr paths;

  void begin(Now /*now*/) override {
    ++starts;
    has_died_ = false;
  }
  void end() override { wanted_.reset(); }
  void want(kcache::WantedPtr wanted) override { wanted_ = std::move(wanted); }
  void mountPaths(kcache::MountPathsPtr told) override { paths = std::move(told); }
  kcache::NodeHasPtr turn(Now /*now*/) override {
    has_died_ = dies_in-- == 0;
    if (has_died_) { return nullptr; }
    auto has = std::make_shared<kcache::NodeHas>();
    if (wanted_ != nullptr) {
      for (const auto& [cache, image] : wanted_->images) {
        has->caches[cache][image.image.digest->text()].what = kcache::HasImage::What::Here;
      }
    }
    return has;
  }
  [[nodiscard]] std::optional<Mono> nextDue() const override { return std::nullopt; }
  [[nodiscard]] bool hasDied() const override { return has_died_; }

 private:
  kcache::WantedPtr wanted_;
  bool has_died_ = false;
};

/// Two nodes, and the kinds of charts/gkm. (Tests run in the repository's root.)
class CachesTest : public testing::Test {
 protected:
  explicit CachesTest(std::uint64_t seed = 1) : world{{.seed = seed, .controllers = true}} {
    const auto documents = yaml::toJson(readFile("charts/gkm/crds/crds.yaml", 1 << 20).value_or(""));
    for (const auto& one : *documents) { crd(json::parse(one).value()); }
    crd(csiDriverCrd());
    caches.emplace(world, Caches::Options{.seed = seed, .rims = [this](const std::string& node) {
                                            auto out = std::make_unique<RimByHand>();
                                            rims[node] = out.get();
                                            return out;
                                          }});
  }
  void crd(const Value& crd) {
    const auto answer = world.request("POST", kCrdPath, crd);
    EXPECT_EQ(answer.code, 201) << json::print(answer.body);
  }
  void makeCache() {
    world.create(
        Object{{"apiVersion", "gkm.io/v1alpha1"},
               {"kind", "GKMCache"},
               {"metadata", Object{{"name", "one"}, {"annotations", Object{{kcache::kDigestKey, kDigestA}}}}},
               {"spec", Object{{"image", "quay.io/gkm/a:b"}}}});
  }
  bool isExtractedOn(int nodes) {
    return world.runUntil(
        [&] { return world.get(kOne)["status"]["counts"]["nodeNotInUseCnt"].intOr(0) == nodes; }, 60s);
  }
  bool isGone() {
    return world.runUntil([&] { return world.get(kOne)["code"].intOr(0) == 404; }, 60s);
  }
  void remove() { (void)world.request("DELETE", kOne, Object{}); }

  std::map<std::string, RimByHand*> rims;
  World world;
  std::optional<Caches> caches;
};

TEST_F(CachesTest, ACacheComesToEachMachineAndGoes) {
  makeCache();
  EXPECT_TRUE(isExtractedOn(2)) << json::print(world.get(kOne));
  EXPECT_EQ(world.get("/apis/storage.k8s.io/v1/csidrivers/csi.gkm.io")["kind"].str(), "CSIDriver");
  remove();
  EXPECT_TRUE(isGone()) << json::print(world.get(kOne));
  const auto hasNoNodeObjects = [&] {
    return world.get("/apis/gkm.io/v1alpha1/gkmcachenodes")["items"].items().empty();
  };
  EXPECT_TRUE(world.runUntil(hasNoNodeObjects, 60s));
}

TEST_F(CachesTest, PodsFindACacheByAClaimThatGoesWithIt) {
  constexpr const char* kClaim = "/api/v1/namespaces/default/persistentvolumeclaims/one";
  makeCache();
  (void)world.request("PATCH", kOne, Object{{"spec", Object{{"pvc", true}}}}, "application/merge-patch+json");
  EXPECT_TRUE(world.runUntil([&] { return world.get(kClaim)["status"]["phase"].str() == "Bound"; }, 60s))
      << json::print(world.get(kClaim));
  EXPECT_TRUE(world.runUntil(
      [&] { return world.get(kOne)["status"]["pvcStatus"]["default"]["pvcName"].str() == "one"; }, 60s));
  remove();
  EXPECT_TRUE(isGone()) << json::print(world.get(kOne));
  const auto hasNone = [&] {
    return world.get(kClaim)["code"].intOr(0) == 404 &&
           world.get("/api/v1/persistentvolumes")["items"].items().empty();
  };
  EXPECT_TRUE(world.runUntil(hasNone, 60s)) << json::print(world.get("/api/v1/persistentvolumes"));
}

TEST_F(CachesTest, TheAgentOfAMachineTellsWhereItsPodsMountACache) {
  const auto podOn = [](const std::string& name, const std::string& node) {
    const Value volume = Object{{"name", "kernels"}, {"csi", Object{{"driver", kcache::kDriver}}}};
    const Value mount = Object{{"name", "kernels"}, {"mountPath", "/at/" + name}};
    const Value container = Object{{"name", "main"}, {"image", "cuda"}, {"volumeMounts", json::Array{mount}}};
    return Object{{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", Object{{"name", name}, {"namespace", "default"}}},
                  {"spec", Object{{"nodeName", node},
                                  {"containers", json::Array{container}},
                                  {"volumes", json::Array{volume}}}}};
  };
  world.create(podOn("one", "node-a"));
  world.create(podOn("two", "node-b"));
  const auto pathsOn = [&](const std::string& node) {
    std::vector<std::string> out;
    if (rims.at(node)->paths == nullptr) { return out; }
    for (const auto& [uid, paths] : *rims.at(node)->paths) { out.push_back(paths.volumes.at("kernels")); }
    return out;
  };
  EXPECT_TRUE(world.runUntil([&] { return pathsOn("node-a") == std::vector<std::string>{"/at/one"}; }, 10s));
  EXPECT_EQ(pathsOn("node-b"), std::vector<std::string>{"/at/two"});
  caches->crashAgent("node-a");
  rims.at("node-a")->paths.reset();
  EXPECT_TRUE(world.runUntil([&] { return pathsOn("node-a") == std::vector<std::string>{"/at/one"}; }, 10s));
}

TEST_F(CachesTest, AnotherOperatorTakesOverWhenTheOneThatLeadsIsKilledAgainAndAgain) {
  EXPECT_TRUE(world.runUntil([&] { return caches->leader().has_value(); }, 30s));
  const int first = *caches->leader();
  caches->crashOperator(first);
  EXPECT_EQ(caches->leader(), std::nullopt);
  for (int i = 0; i < 30; ++i) {
    world.run(1s);
    if (caches->leader() != 1 - first) { caches->crashOperator(first); }
  }
  EXPECT_EQ(caches->leader(), 1 - first);
  makeCache();
  EXPECT_TRUE(isExtractedOn(2));
}

TEST_F(CachesTest, AnAgentThatDiesInTheMidstOfATurnIsStartedAgain) {
  rims.at("node-a")->dies_in = 1;
  makeCache();
  EXPECT_TRUE(isExtractedOn(2));
  EXPECT_EQ(rims.at("node-a")->starts, 2);
  EXPECT_EQ(rims.at("node-b")->starts, 1);
}

TEST_F(CachesTest, WhatANodeThatLeftHadHoldsNothing) {
  makeCache();
  EXPECT_TRUE(isExtractedOn(2));
  world.machines().removeNode("node-a");
  world.touch();
  world.run(100ms);
  EXPECT_EQ(caches->rimOf("node-a"), nullptr);
  EXPECT_TRUE(isExtractedOn(1)) << json::print(world.get(kOne));
  remove();
  EXPECT_TRUE(isGone());
}

TEST_F(CachesTest, TheWireHasAJudgeAndIsCutOffFromAServerThatIsAway) {
  int calls = 0;
  caches->wire().setJudge([&](ReplicaId, const kapi::Call&) {
    ++calls;
    return CallFault{};
  });
  world.setApiAway(true);
  makeCache();
  world.run(20s);
  EXPECT_TRUE(world.get(kOne)["metadata"]["finalizers"].isNull());
  world.setApiAway(false);
  EXPECT_TRUE(isExtractedOn(2));
  EXPECT_GT(calls, 0);
}

class SeededCaches : public CachesTest {
 public:
  explicit SeededCaches(std::uint64_t seed) : CachesTest{seed} {}
  void TestBody() override {}
  std::vector<std::string> play() {
    makeCache();
    world.run(10s);
    caches->crashAgent("node-a");
    caches->crashOperator(0);
    world.run(40s);
    remove();
    world.run(20s);
    return caches->wire().writes();
  }
};

TEST(CachesDeterminism, TheSameSeedWritesTheSameCalls) {
  const auto play = [](std::uint64_t seed) { return SeededCaches{seed}.play(); };
  EXPECT_EQ(play(3), play(3));
  EXPECT_FALSE(play(3).empty());
}

}  // namespace
}  // namespace gs::sandbox
