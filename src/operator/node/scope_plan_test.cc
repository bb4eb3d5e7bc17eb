#include "operator/node/scope_plan.h"

#include <gtest/gtest.h>

#include "kcache/kinds/names.h"

namespace gs::gkm {
namespace {

using kcache::HasImage;
using kcache::State;

const std::string kDigest = "sha256:" + std::string(64, 'a');
const std::string kOther = "sha256:" + std::string(64, 'b');
const model::ObjectKey kObject{"ns", "node-a"};
constexpr Wall kNow = Wall{} + std::chrono::hours{1000};

/// The state of one entry, by what the node has of it.
struct StateRow {
  const char* name;
  HasImage has;
  bool is_present;
  State state;
};

TEST(ScopePlan, AnEntrySaysWhatTheNodeHas) {
  using What = HasImage::What;
  const std::vector<kcache::PodUse> pods{{"ns", "p", "v"}};
  const std::vector<StateRow> rows{
      {"being fetched", {.what = What::Coming}, true, State::Pending},
      {"being fetched again", {.what = What::Coming, .cause = "why"}, true, State::Error},
      {"complete", {.what = What::Here}, true, State::Extracted},
      {"complete, not the present one", {.what = What::Here}, false, State::Extracted},
      {"failed", {.what = What::Failed, .cause = "why"}, true, State::Error},
      {"in use", {.what = What::Here, .pods = pods}, true, State::Running},
      {"in use, an older one", {.what = What::Here, .pods = pods}, false, State::Outdated},
      {"in use, and gone", {.what = What::Gone, .pods = pods}, true, State::Running},
      {"in use, and failed", {.what = What::Failed, .cause = "why", .pods = pods}, true, State::Running},
      {"cannot be removed", {.what = What::Here, .unload_error = "why"}, false, State::UnloadError},
      {"cannot be removed, in use",
       {.what = What::Here, .unload_error = "why", .pods = pods},
       false,
       State::Outdated},
  };
  for (const StateRow& row : rows) {
    NodeScope scope;
    auto cache = std::make_shared<kcache::Cache>();
    cache->key = {"ns", "one"};
    cache->image = "quay.io/gkm/a:b";
    cache->digest = row.is_present ? kDigest : kOther;
    scope.caches["one"] = cache;
    scope.has["one"][kDigest] = row.has;
    const auto status = statusOf(scope, {model::NodeName{"node-a"}, {}}, kNow);
    EXPECT_EQ(status.caches.at("one").at(kDigest).condition->state, row.state) << row.name;
  }
}

/// A pod runs on with a file that is damaged, and somebody has to start it anew.
TEST(ScopePlan, WhatIsWrongWithAnImageThatPodsHaveIsSaid) {
  NodeScope scope;
  scope.has["one"][kDigest] = {
      .what = HasImage::What::Failed, .cause = "a file of it is damaged", .pods = {{"ns", "p", "v"}}};
  const auto status = statusOf(scope, {model::NodeName{"node-a"}, {}}, kNow);
  const auto said = status.caches.at("one").at(kDigest).condition;
  EXPECT_EQ(said->state, State::Running);
  EXPECT_EQ(kcache::causeIn(said->state, said->message), "a file of it is damaged");
}

TEST(ScopePlan, TimesOfWhatStaysTheSameStay) {
  NodeScope scope;
  auto object = std::make_shared<kcache::CacheNode>();
  scope.has["one"][kDigest] = {.what = HasImage::What::Here, .size = 7};
  *object = statusOf(scope, {model::NodeName{"node-a"}, {}}, kNow);
  scope.object = object;
  const Wall later = kNow + std::chrono::hours{1};
  EXPECT_EQ(statusOf(scope, {model::NodeName{"node-a"}, {}}, later).caches, object->caches);
  scope.has["one"][kDigest].size = 8;  // the same state, another size
  const auto changed = statusOf(scope, {model::NodeName{"node-a"}, {}}, later).caches.at("one").at(kDigest);
  EXPECT_EQ(changed.last_updated, later);
  EXPECT_EQ(changed.condition->since, kNow);
}

TEST(ScopePlan, ImagesThatAreBeingFetchedAreNotUrgent) {
  const NodeFacts facts{model::NodeName{"node-a"}, {}};
  NodeScope scope;
  auto object = std::make_shared<kcache::CacheNode>();
  object->key = kObject;
  object->finalizers.names = {kcache::nodeFinalizer("one")};
  scope.object = object;
  scope.has["one"][kDigest] = {.what = HasImage::What::Coming, .progress = kcache::Progress{1, 10, 1}};
  ScopePlan plan = planOf(kObject, scope, facts, kNow);  // the first status
  EXPECT_EQ(plan.act, NodeAct::WriteStatus);
  EXPECT_TRUE(plan.can_wait);

  auto written = std::make_shared<kcache::CacheNode>(statusOf(scope, facts, kNow));
  scope.object = written;
  EXPECT_EQ(planOf(kObject, scope, facts, kNow).act, NodeAct::Nothing);
  scope.has["one"][kDigest].progress->bytes = 5;
  EXPECT_TRUE(planOf(kObject, scope, facts, kNow).can_wait);
  const auto coming = scope.has["one"];
  scope.has["one"][kDigest] = {.what = HasImage::What::Here};
  EXPECT_FALSE(planOf(kObject, scope, facts, kNow).can_wait);
  scope.has.clear();  // it is not coming any more
  EXPECT_EQ(planOf(kObject, scope, facts, kNow).act, NodeAct::WriteStatus);
  EXPECT_FALSE(planOf(kObject, scope, facts, kNow).can_wait);

  // Finalizers that may go do not wait with it.
  scope.has["one"] = coming;
  scope.has["one"][kDigest].progress->bytes = 6;
  written->finalizers.names = {kcache::nodeFinalizer("one"), kcache::nodeFinalizer("two")};
  plan = planOf(kObject, scope, facts, kNow);
  EXPECT_EQ(plan.act, NodeAct::WriteFinalizers);
  EXPECT_EQ(plan.finalizers, (std::vector<std::string>{kcache::nodeFinalizer("one")}));
}

TEST(ScopePlan, AnImageThatIsFetchedAgainIsNotUrgentWhileItSaysTheSame) {
  const NodeFacts facts{model::NodeName{"node-a"}, {}};
  NodeScope scope;
  scope.has["one"][kDigest] = {.what = HasImage::What::Failed, .cause = "why"};
  auto object = std::make_shared<kcache::CacheNode>(statusOf(scope, facts, kNow));
  object->key = kObject;
  object->finalizers.names = {kcache::nodeFinalizer("one")};
  scope.object = object;
  auto& has = scope.has["one"][kDigest];
  has.what = HasImage::What::Coming;
  EXPECT_EQ(planOf(kObject, scope, facts, kNow).act, NodeAct::Nothing);
  has.progress = kcache::Progress{1, 10, 1};
  EXPECT_EQ(planOf(kObject, scope, facts, kNow).act, NodeAct::WriteStatus);
  EXPECT_TRUE(planOf(kObject, scope, facts, kNow).can_wait);
  has = {.what = HasImage::What::Failed, .cause = "why else"};
  EXPECT_FALSE(planOf(kObject, scope, facts, kNow).can_wait);
}

TEST(ScopePlan, AListOfFinalizersThatIsCutIsNotWritten) {
  NodeScope scope;
  auto object = std::make_shared<kcache::CacheNode>();
  object->finalizers.are_cut = true;
  scope.object = object;
  scope.has["one"][kDigest] = {.what = HasImage::What::Here};
  EXPECT_EQ(planOf(kObject, scope, {model::NodeName{"node-a"}, {}}, kNow).act, NodeAct::Nothing);
}

TEST(ScopePlan, AnImageThatIsNoneSaysWhichFieldIsWrong) {
  kcache::Cache cache;
  cache.key = {"ns", "one"};
  EXPECT_FALSE(wantedOf(cache).has_value());
  cache.digest = "sha256:12";
  EXPECT_FALSE(wantedOf(cache).has_value());
  cache.finalizers.names = {kcache::kCacheFinalizer};
  EXPECT_EQ(wantedOf(cache)->error().message.find("annotation gkm.io/resolvedDigest: "), 0U);
  cache.digest = kDigest;
  cache.image = "quay.io/gkm/a:b";
  EXPECT_EQ((*wantedOf(cache))->image.text(), "quay.io/gkm/a@" + kDigest);
  cache.image = "not an image";
  EXPECT_EQ(wantedOf(cache)->error().message.find("spec.image: "), 0U);
  cache.is_deleting = true;
  EXPECT_FALSE(wantedOf(cache).has_value());
}

}  // namespace
}  // namespace gs::gkm
