// Claims of pods' ephemeral volumes, on the API server in memory.
#include "sandbox/controllers/controllers_test.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

class EphemeralTest : public ControllersTest {
 protected:
  void makePod() {
    make("/api/v1/namespaces/default/pods",
         R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "i"}], "volumes": [
             {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}},
              "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "now",
                       "resources": {"requests": {"storage": "1Gi"}}}}}}]}})");
  }
};

TEST_F(EphemeralTest, APodGetsAClaimThatGoesWithIt) {
  makeClass("now");
  makePod();
  const Value claim = get(claimPath("p-scratch"));
  EXPECT_EQ(claim["metadata"]["labels"]["a"].str(), "b");
  EXPECT_EQ(claim["spec"]["storageClassName"].str(), "now");
  const Value& owner = claim["metadata"]["ownerReferences"].at(0);
  EXPECT_EQ(owner["uid"].str(), uid(podPath("p")));
  EXPECT_TRUE(owner["controller"].boolOr(false));
  EXPECT_EQ(claim["status"]["phase"].str(), "Bound");
  const std::string volume = volumePath(volumeOf("p-scratch"));
  send("DELETE", podPath("p"));
  EXPECT_FALSE(isThere(claimPath("p-scratch")));
  EXPECT_FALSE(isThere(volume));
}

TEST_F(EphemeralTest, AClaimOfThatNameThatIsNotThePodsIsLeftAlone) {
  makeClaim("p-scratch", "");
  makePod();
  EXPECT_EQ(
      told("FailedBinding"),
      "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)");
  send("DELETE", claimPath("p-scratch"));
  run(std::chrono::minutes{2});
  EXPECT_EQ(get(claimPath("p-scratch"))["metadata"]["ownerReferences"].items().size(), 1U);
}

TEST_F(EphemeralTest, OneThatSomebodyDeletesIsMadeAgain) {
  makePod();
  const std::string first = uid(claimPath("p-scratch"));
  send("DELETE", claimPath("p-scratch"));
  EXPECT_TRUE(isThere(claimPath("p-scratch")));
  EXPECT_NE(uid(claimPath("p-scratch")), first);
}

}  // namespace
}  // namespace gs::sandbox::controllers
