#include "kapi/write_dra.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"

namespace gs::kapi {
namespace {

model::Pod thePod() {
  model::Pod pod;
  pod.key = {"team-a", "train-0"};
  pod.uid = model::Uid{"u-1"};
  pod.revision = 42;
  return pod;
}

model::ResourceClaim theClaim() {
  model::ResourceClaim claim;
  claim.key = {"team-a", "gpu-u-1"};
  claim.uid = model::Uid{"c-1"};
  claim.revision = 9;
  return claim;
}

std::vector<model::LimitRequest> asked() {
  return {{"main", "nvidia.com/gpu", "container-0-request-0", "gpu.nvidia.com", 2},
          {"side", "nvidia.com/gpu", "container-1-request-0", "gpu.nvidia.com", 1}};
}

std::string lineOf(const Call& c) { return std::string{httpMethod(c.verb)} + " " + target(c); }

TEST(WriteDra, TheClaimIsThePodsAndSaysWhatEachContainerAsksFor) {
  const Call c = createClaim(thePod(), asked(), "r-1");
  EXPECT_EQ(lineOf(c), "POST /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims");
  const model::ResourceClaim claim = decodeResourceClaim(c.body);
  EXPECT_EQ(claim.key, claimKeyOf(thePod()));
  EXPECT_EQ(claim.key, (model::ObjectKey{"team-a", "gpu-u-1"}));
  EXPECT_EQ(claim.owner_pod, model::Uid{"u-1"});
  EXPECT_EQ(claim.reservation, "r-1");
  ASSERT_EQ(claim.requests.size(), 2U);
  EXPECT_EQ(claim.requests[0].name, "container-0-request-0");
  EXPECT_EQ(claim.requests[0].ways.at(0).device_class, "gpu.nvidia.com");
  EXPECT_EQ(claim.requests[0].ways.at(0).count, 2);
  const json::Value& metadata = c.body["metadata"];
  EXPECT_EQ(json::print(metadata["finalizers"]), R"(["resource.kubernetes.io/delete-protection"])");
  EXPECT_EQ(metadata["annotations"]["resource.kubernetes.io/extended-resource-claim"].str(), "true");
  EXPECT_EQ(json::print(metadata["ownerReferences"]),
            R"([{"apiVersion":"v1","kind":"Pod","name":"train-0","uid":"u-1","controller":true}])");
}

TEST(WriteDra, TheMappingIsOnePatchWithTheFence) {
  const Call c = mapPod(thePod(), asked(), "f-1");
  EXPECT_EQ(lineOf(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(
      json::print(c.body),
      R"({"metadata":{"uid":"u-1","annotations":{"gpu.scheduling/fence":"f-1"},"resourceVersion":"42"},"status":{)"
      R"("extendedResourceClaimStatus":{"resourceClaimName":"gpu-u-1","requestMappings":[)"
      R"({"containerName":"main","resourceName":"nvidia.com/gpu","requestName":"container-0-request-0"},)"
      R"({"containerName":"side","resourceName":"nvidia.com/gpu","requestName":"container-1-request-0"}]}}})");
}

TEST(WriteDra, AnAllocationCarriesUidAndRevisionOfTheClaim) {
  const Call c = allocateClaim(theClaim(), thePod(), model::NodeName{"node-a"},
                               {{"container-0-request-0", {"gpu.nvidia.com", "node-a", "gpu-3"}, false}});
  EXPECT_EQ(lineOf(c), "PUT /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/gpu-u-1/status");
  EXPECT_EQ(
      json::print(c.body),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"gpu-u-1",)"
      R"("namespace":"team-a","uid":"c-1","resourceVersion":"9"},"status":{"allocation":{"devices":{"results":[)"
      R"({"request":"container-0-request-0","driver":"gpu.nvidia.com","pool":"node-a","device":"gpu-3"}]},)"
      R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
      R"("values":["node-a"]}]}]}},"reservedFor":[{"resource":"pods","name":"train-0","uid":"u-1"}]}})");
  const auto back = decodeResourceClaim(c.body);
  EXPECT_TRUE(back.allocated);
  EXPECT_EQ(back.reserved_for, std::vector<model::Uid>{model::Uid{"u-1"}});
}

TEST(WriteDra, AnAllocationRepeatsWhatDriversAreToKnow) {
  const std::vector<model::DeviceConfig> config{
      {true, {"gpus"}, R"({"opaque":{"driver":"d","parameters":{"a":1}}})"}, {false, {}, "{}"}};
  const Call c = allocateClaim(theClaim(), thePod(), model::NodeName{"node-a"}, {}, config);
  EXPECT_EQ(json::print(c.body["status"]["allocation"]["devices"]["config"]),
            R"([{"opaque":{"driver":"d","parameters":{"a":1}},"source":"FromClass","requests":["gpus"]},)"
            R"({"source":"FromClaim"}])");
}

TEST(WriteDra, AClaimThatWeDidNotMakeKeepsItsFinalizersAndGetsOurs) {
  model::ResourceClaim claim = theClaim();
  claim.finalizers = {"example.com/theirs"};
  EXPECT_FALSE(isProtected(claim));
  const Call c = protectClaim(claim);
  EXPECT_EQ(lineOf(c), "PATCH /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/gpu-u-1");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"c-1","resourceVersion":"9","finalizers":["example.com/theirs",)"
            R"("resource.kubernetes.io/delete-protection"]}})");
  claim.finalizers.push_back(model::kDeleteProtection);
  EXPECT_TRUE(isProtected(claim));
}

TEST(WriteDra, UndoIsAnEmptyStatusWithTheSamePreconditions) {
  const Call c = emptyClaim(theClaim());
  EXPECT_EQ(lineOf(c), "PUT /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/gpu-u-1/status");
  EXPECT_EQ(json::print(c.body),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"gpu-u-1",)"
            R"("namespace":"team-a","uid":"c-1","resourceVersion":"9"},"status":{}})");
}

TEST(WriteDra, TheFenceOfAClaimCarriesItsUid) {
  const Call c = fenceClaim(theClaim(), "f-2");
  EXPECT_EQ(lineOf(c), "PATCH /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/gpu-u-1");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"c-1","annotations":{"gpu.scheduling/fence":"f-2"}}})");
}

}  // namespace
}  // namespace gs::kapi
