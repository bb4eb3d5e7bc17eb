// What a World begins with that is to have classes of volumes and of priority.
#include <gtest/gtest.h>

#include "sandbox/world/world.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStorage = "/apis/storage.k8s.io/v1/storageclasses";
constexpr const char* kPriorities = "/apis/scheduling.k8s.io/v1/priorityclasses";

TEST(FirstClasses, AreThereOnceAndNotAgainAfterARestart) {
  sandbox::World world{{.controllers = true, .classes = true}};
  EXPECT_EQ(world.get(kStorage)["items"].items().size(), 1U);
  EXPECT_EQ(world.get(kPriorities)["items"].items().size(), 2U);
  EXPECT_EQ(world.request("DELETE", std::string{kPriorities} + "/low").code, 200);
  sandbox::World next{{.controllers = true, .classes = true, .restore = world.api().save()}};
  EXPECT_EQ(next.get(kPriorities)["items"].items().size(), 1U);
}

TEST(FirstClasses, AreNotThereUnasked) {
  sandbox::World world{{.controllers = true}};
  EXPECT_TRUE(world.get(kStorage)["items"].items().empty());
  EXPECT_TRUE(world.get(kPriorities)["items"].items().empty());
}

TEST(FirstClasses, AClaimOfTheDefaultOneIsBoundOnceANodeIsChosen) {
  sandbox::World world{{.controllers = true, .classes = true}};
  const std::string path = "/api/v1/namespaces/default/persistentvolumeclaims/c";
  world.run(1s);  // the nodes come
  world.create(json::parse(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
      "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})")
                   .value());
  world.run(5s);
  EXPECT_EQ(world.get(path)["spec"]["storageClassName"].str(), "standard");
  EXPECT_EQ(world.get(path)["status"]["phase"].str(), "Pending");
  world.request(
      "PATCH", path,
      json::parse(R"({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-a"}}})")
          .value(),
      "application/merge-patch+json");
  EXPECT_TRUE(world.runUntil([&] { return world.get(path)["status"]["phase"].str() == "Bound"; }, 10s));
}

}  // namespace
}  // namespace gs::test
