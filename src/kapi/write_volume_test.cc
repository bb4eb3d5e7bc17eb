#include "kapi/write_volume.h"

#include <gtest/gtest.h>

#include <string>

#include "kapi/paths.h"

namespace gs::kapi {
namespace {

model::PersistentVolume aVolume() {
  model::PersistentVolume v;
  v.key = {"", "pv-1"};
  v.uid = model::Uid{"v-1"};
  v.revision = 42;
  return v;
}

model::PersistentVolumeClaim aVolumeClaim() {
  model::PersistentVolumeClaim c;
  c.key = {"team-a", "data"};
  c.uid = model::Uid{"c-1"};
  c.revision = 9;
  return c;
}

std::string sentTo(const Call& c) { return std::string{httpMethod(c.verb)} + " " + target(c); }

TEST(WriteVolume, AVolumeIsMeantForTheClaim) {
  const Call c = bindVolume(aVolume(), aVolumeClaim());
  EXPECT_EQ(sentTo(c), "PATCH /api/v1/persistentvolumes/pv-1");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(
      json::print(c.body),
      R"({"metadata":{"uid":"v-1","resourceVersion":"42","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},)"
      R"("spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"team-a","name":"data",)"
      R"("uid":"c-1","resourceVersion":"9"}}})");
}

// Somebody meant it for that claim, so that it is not given to others when the claim goes.
TEST(WriteVolume, OneThatWasMeantForItBeforeIsNotSaidToBeBoundByAController) {
  model::PersistentVolume volume = aVolume();
  volume.claim = model::ClaimRef{{"team-a", "data"}, {}};
  const Call c = bindVolume(volume, aVolumeClaim());
  EXPECT_TRUE(c.body["metadata"]["annotations"].isNull());
  EXPECT_EQ(c.body["spec"]["claimRef"]["uid"].str(), "c-1");
}

TEST(WriteVolume, AClaimIsToldTheNode) {
  const Call c = selectNode(aVolumeClaim(), model::NodeName{"node-a"});
  EXPECT_EQ(sentTo(c), "PATCH /api/v1/namespaces/team-a/persistentvolumeclaims/data");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(
      json::print(c.body),
      R"({"metadata":{"uid":"c-1","resourceVersion":"9","annotations":{"volume.kubernetes.io/selected-node":"node-a"}}})");
}

}  // namespace
}  // namespace gs::kapi
