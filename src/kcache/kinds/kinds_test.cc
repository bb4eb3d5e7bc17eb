#include "kcache/kinds/kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/paths.h"
#include "kcache/kinds/names.h"

namespace gs::kcache {
namespace {

const std::string kSomeDigest = "sha256:" + std::string(64, 'a');

json::Value parsedObject(const std::string& text) {
  auto out = json::parse(text);
  EXPECT_TRUE(out.has_value()) << text;
  return out ? *out : json::Value{};
}

json::Value cacheNode(const std::string& status) {
  return parsedObject(
      R"({"metadata": {"name": "node-a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
    "labels": {"kubernetes.io/hostname": "node-l"}, "finalizers": ["gkm.io.one/finalizer", "example.com/f"]},
    "status": )" +
      status + "}");
}

TEST(Cache, IsReadWithDigestFinalizersAndStatus) {
  const Cache cache = decodeCache(parsedObject(R"({"metadata": {"name": "one", "namespace": "ns", "uid": "u",
    "resourceVersion": "7", "deletionTimestamp": "2025-06-15T15:06:40Z", "finalizers": ["a/b"],
    "annotations": {"gkm.io/resolvedDigest": "sha256:x"}}, "spec": {"image": "quay.io/gkm/a:b"},
    "status": {"resolvedDigest": "sha256:y", "counts": {"nodeCnt": 2, "podRunningCnt": -1, "nodeErrorCnt": "1"},
    "conditions": [{"type": "Extracted", "reason": "Extracted", "status": "True", "message": "m",
                    "lastTransitionTime": "2025-06-15T15:06:40Z"}]}})"));
  EXPECT_EQ(cache.key, (model::ObjectKey{"ns", "one"}));
  EXPECT_EQ(cache.revision, 7U);
  EXPECT_TRUE(cache.is_deleting);
  EXPECT_TRUE(cache.finalizers.has("a/b"));
  EXPECT_EQ(cache.image, "quay.io/gkm/a:b");
  EXPECT_EQ(cache.digest, "sha256:x");
  ASSERT_TRUE(cache.status.has_value());
  EXPECT_EQ(cache.status->resolved_digest, "sha256:y");
  EXPECT_EQ(cache.status->counts, (Counts{.nodes = 2}));
  ASSERT_TRUE(cache.status->condition.has_value());
  EXPECT_EQ(cache.status->condition->state, State::Extracted);
}

TEST(Cache, WithOtherConditionsThanOursHasNone) {
  const std::string good = R"({"type": "Error", "reason": "Error", "status": "True"})";
  for (const std::string& conditions :
       {std::string{"[]"}, "[" + good + "," + good + "]",
        std::string{R"([{"type": "Error", "reason": "Error"}])"},
        std::string{R"([{"type": "Error", "reason": "Pending", "status": "True"}])"},
        std::string{R"([{"type": "Ready", "reason": "Ready", "status": "True"}])"},
        "[" + good + R"(, {"type": "Ready", "status": "True"}])",
        std::string{R"([{"type": "ClaimsReady", "reason": "Bound", "status": "True"}])"},
        std::string{R"({"0": 1})"}, std::string{"7"}}) {
    const Cache cache = decodeCache(parsedObject(R"({"status": {"conditions": )" + conditions + "}}"));
    ASSERT_TRUE(cache.status.has_value());
    EXPECT_EQ(cache.status->condition, std::nullopt) << conditions;
  }
}

TEST(Cache, NonsenseReadsAsAbsent) {
  for (const char* text : {"{}", "[]", "7", R"({"metadata": 1, "spec": [], "status": "x"})",
                           R"({"metadata": {"finalizers": {"a": 1}, "annotations": 7}})"}) {
    const Cache cache = decodeCache(parsedObject(text));
    EXPECT_EQ(cache.key.name, "");
    EXPECT_EQ(cache.digest, "");
    EXPECT_EQ(cache.status, std::nullopt);
  }
}

TEST(Cache, SaysWhichSecretsAreForItsRegistry) {
  const Cache cache = decodeCache(parsedObject(R"({"metadata": {"name": "one", "namespace": "ns"},
    "spec": {"imagePullSecrets": [{"name": "a"}, {"name": "No/Name"}, {}, 7, {"name": "b.c"}]}})"));
  EXPECT_EQ(cache.pull_secrets, (std::vector<std::string>{"a", "b.c"}));
}

TEST(Cache, StatusOfClaimsReadsAsItWasPrinted) {
  const Wall then{std::chrono::seconds{100}};
  CacheStatus status;
  status.condition = Condition{State::NoNamespace, messageOf(State::NoNamespace, "b"), then};
  status.claims["a"] = {"pv-a", "one", Condition{State::Extracted, messageOf(State::Extracted), then}};
  status.remarks = {{Remark::Kind::ClaimsReady, false, "NoNamespace", "namespace b is not there", then},
                    {Remark::Kind::FieldsUnused, true, "NotNeeded", "spec.podTemplate", then}};
  json::Value object = parsedObject(R"({"metadata": {"name": "one"}})");
  object.set("status", statusValue(status));
  EXPECT_EQ(decodeCache(object).status, status);
  EXPECT_EQ(object["status"]["pvcOwner"].str(), "Operator");
}

TEST(Cache, ClaimsThatAreNoMoreAreTakenOutOfItsStatusAndOnlyOurs) {
  Cache cache = decodeCache(parsedObject(R"({"metadata": {"name": "one"}, "status": {"pvcStatus": {
    "a": {"pvName": "pv", "pvcName": "one", "pvcOwner": "Operator"}, "b": {"pvcOwner": "Agent"}}}})"));
  ASSERT_EQ(cache.status->claims.size(), 1U);
  const kapi::Call call = writeStatus(cache, {});
  EXPECT_EQ(call.body["status"]["pvcStatus"], parsedObject(R"({"a": null})"));
  EXPECT_TRUE(call.body["status"].find("pvcOwner")->isNull());
}

TEST(CacheNode, OfALongNameIsKnownByItsOwnName) {
  const std::string node = std::string(200, 'n') + ".example.com";
  json::Value object = json::Object{
      {"metadata", json::Object{{"name", node}, {"labels", json::Object{{kHostLabel, nodeLabel(node)}}}}}};
  EXPECT_EQ(decodeCacheNode(object).node.text, node);
}

TEST(CacheNode, IsReadByCacheAndDigest) {
  const CacheNode node = decodeCacheNode(cacheNode(fmt::format(
      R"({{"nodeName": "node-a", "counts": {{"nodeCnt": 1}}, "gpus": [{{"gpuType": "A100", "driverVersion": "535",
        "ids": [0, 1, "x", -1]}}], "caches": {{"one": {{"{}": {{"compatibleGPUs": [0], "incompatibleGPUs": [1],
        "volumeSize": 80415, "pods": [{{"podNamespace": "ns", "podName": "p", "volumeId": "csi-1"}}],
        "progress": {{"bytes": 1, "totalBytes": 2}}}}, "nonsense": {{}}}}, "two": 7}}}})",
      kSomeDigest)));
  EXPECT_EQ(node.node.text, "node-a");
  ASSERT_EQ(node.gpus.size(), 1U);
  EXPECT_EQ(node.gpus[0].ids, (std::vector{0, 1}));
  ASSERT_EQ(node.caches.size(), 2U);
  EXPECT_TRUE(node.caches.at("two").empty());
  ASSERT_EQ(node.caches.at("one").size(), 1U);
  const CacheEntry& entry = node.caches.at("one").at(kSomeDigest);
  EXPECT_EQ(entry.size, 80415);
  EXPECT_EQ(entry.pods, (std::vector{PodUse{"ns", "p", "csi-1"}}));
  EXPECT_EQ(entry.progress, (Progress{1, 2, 0}));
  EXPECT_EQ(entry.condition, std::nullopt);
}

TEST(CacheNode, ItsNodeIsThatOfTheStatusElseOfTheLabelElseItsName) {
  EXPECT_EQ(decodeCacheNode(cacheNode(R"({"nodeName": "node-s"})")).node.text, "node-s");
  EXPECT_EQ(decodeCacheNode(cacheNode("{}")).node.text, "node-l");
  EXPECT_EQ(decodeCacheNode(parsedObject(R"({"metadata": {"name": "node-a"}})")).node.text, "node-a");
}

TEST(CacheNode, ReadsAsItWasPrinted) {
  CacheNode node;
  node.node = model::NodeName{"node-a"};
  node.key = {"", "node-a"};
  node.counts = {1, 1, 0, 0, 2, 0};
  node.gpus = {{"A100", "535.1", {0, 1}}};
  CacheEntry entry;
  entry.condition = Condition{State::Running, "m", Wall{std::chrono::seconds{100}}};
  entry.compatible_gpus = {0};
  entry.incompatible_gpus = {1};
  entry.size = 5;
  entry.progress = Progress{1, 2, 3};
  entry.pods = {{"ns", "p", "v"}};
  entry.last_updated = Wall{std::chrono::seconds{200}};
  node.caches["one"][kSomeDigest] = entry;
  node.caches["none"];
  json::Value object = json::Object{{"metadata", json::Object{{"name", "node-a"}}}};
  object.set("status", statusValue(node));
  EXPECT_EQ(decodeCacheNode(object), node);
}

TEST(Finalizers, AreAddedOnceAndTakenAwayAlone) {
  const Finalizers before{{"a/b", "c/d"}, false};
  EXPECT_EQ(before.with("a/b"), before.names);
  EXPECT_EQ(before.with("e/f"), (std::vector<std::string>{"a/b", "c/d", "e/f"}));
  EXPECT_EQ(before.without("a/b"), (std::vector<std::string>{"c/d"}));
}

TEST(Finalizers, TooManyAreCutAndToldOf) {
  json::Array many;
  for (int i = 0; i < 5000; ++i) { many.push_back(fmt::format("a/{}", i)); }
  const Cache cache =
      decodeCache(json::Value{json::Object{{"metadata", json::Object{{"finalizers", many}}}}});
  EXPECT_TRUE(cache.finalizers.are_cut);
  EXPECT_LT(cache.finalizers.names.size(), 5000U);
}

TEST(Writes, LabelsOfNodesFitWhateverTheirNames) {
  const std::string node = std::string(240, 'n') + ".example.com";
  EXPECT_LE(nodeLabel(node).size(), 63U);
  EXPECT_EQ(createNode({"ns", node}, {}).body["metadata"]["labels"][kHostLabel].str(), nodeLabel(node));
  EXPECT_EQ(labelNode({"ns", node}).body["metadata"]["labels"][kHostLabel].str(), nodeLabel(node));
}

TEST(Writes, CarryUidAndRevisionAndLeaveOtherFields) {
  Cache cache;
  cache.key = {"ns", "one"};
  cache.uid = model::Uid{"u"};
  cache.revision = 7;
  const kapi::Call status = writeStatus(
      cache, {kSomeDigest, {.nodes = 1}, Condition{State::Pending, messageOf(State::Pending), {}}, {}});
  EXPECT_EQ(kapi::target(status), "/apis/gkm.io/v1alpha1/namespaces/ns/gkmcaches/one/status");
  EXPECT_EQ(status.body["metadata"], parsedObject(R"({"uid": "u", "resourceVersion": "7"})"));
  EXPECT_EQ(status.body["status"]["counts"],
            parsedObject(R"({"nodeCnt": 1, "nodeInUseCnt": 0, "nodeNotInUseCnt": 0, "nodeErrorCnt": 0,
                        "podRunningCnt": 0, "podOutdatedCnt": 0})"));
  EXPECT_EQ(status.body["status"].find("pvcStatus"), nullptr);
  const kapi::Call finalizers =
      writeFinalizers(kClusterCache, {"", "one"}, cache.uid, 7, {kClusterCacheFinalizer});
  EXPECT_EQ(kapi::target(finalizers), "/apis/gkm.io/v1alpha1/clustergkmcaches/one");
  EXPECT_EQ(finalizers.body, parsedObject(R"({"metadata": {"uid": "u", "resourceVersion": "7",
                                         "finalizers": ["gkm.io.clustergkmcachenode/finalizer"]}})"));
}

}  // namespace
}  // namespace gs::kcache
