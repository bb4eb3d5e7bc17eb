// StatefulSets on the World: in which order their pods come, change and go.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

class StatefulSets : public Workloads {
 protected:
  void make(int replicas, json::Object more = {}, int gpus = 0) {
    world.create(workload("StatefulSet", "db", replicas, templateOf("db", gpus), std::move(more)));
  }
  Value status() { return statusOf("statefulsets", "db"); }
  bool ready(int replicas) {
    return status()["readyReplicas"].intOr(0) == replicas && status()["replicas"].intOr(0) == replicas;
  }
  std::string imageOf(const std::string& pod) {
    return std::string{object("pods", pod)["spec"]["containers"].at(0)["image"].str()};
  }
  /// "image of db-0, of db-1, ..."; "-" for one that is not there.
  std::string images(int replicas) {
    std::string out;
    for (int i = 0; i < replicas; ++i) {
      const std::string image = imageOf(fmt::format("db-{}", i));
      out += (out.empty() ? "" : " ") + (image.empty() ? "-" : image);
    }
    return out;
  }
  bool updated(int replicas) {
    const Value s = status();
    return ready(replicas) && s["currentRevision"] == s["updateRevision"] &&
           s["observedGeneration"] == object("statefulsets", "db")["metadata"]["generation"];
  }
};

TEST_F(StatefulSets, PodsComeOneAfterTheOtherAndGoBackwards) {
  make(3, {{"serviceName", "db"}}, 1);
  ASSERT_TRUE(eventually([&] {
    const auto pods = podsOf("db");
    for (std::size_t i = 0; i + 1 < pods.size(); ++i) {
      EXPECT_TRUE(isReady(pods[i])) << "a pod came before the one before it was Ready";
    }
    return updated(3);
  }));
  EXPECT_EQ(names("pods"), " db-0 db-1 db-2");
  const Value last = object("pods", "db-2");
  EXPECT_EQ(last["spec"]["hostname"].str(), "db-2");
  EXPECT_EQ(last["spec"]["subdomain"].str(), "db");
  EXPECT_EQ(last["metadata"]["labels"]["apps.kubernetes.io/pod-index"].str(), "2");
  EXPECT_EQ(last["metadata"]["labels"]["controller-revision-hash"], status()["currentRevision"]);
  EXPECT_EQ(status()["availableReplicas"].intOr(0), 3);
  scale("statefulsets", "db", 1);
  bool in_order = true;
  ASSERT_TRUE(eventually([&] {
    const auto pods = podsOf("db");
    in_order = in_order && !(pods.size() == 3 && isDeleting(pods[1]));
    return ready(1);
  }));
  EXPECT_TRUE(in_order) << "db-1 was deleted while db-2 was there";
  EXPECT_EQ(names("pods"), " db-0");
}

TEST_F(StatefulSets, ParallelOnesComeAtOnce) {
  make(4, {{"podManagementPolicy", "Parallel"}, {"ordinals", Object{{"start", 5}}}});
  ASSERT_TRUE(eventually([&] { return podsOf("db").size() == 4; }, 1s));
  EXPECT_EQ(names("pods"), " db-5 db-6 db-7 db-8");
}

TEST_F(StatefulSets, APodComesBackUnderItsName) {
  make(2);
  ASSERT_TRUE(eventually([&] { return updated(2); }));
  const auto uid = object("pods", "db-0")["metadata"]["uid"];
  deletePod("db-0");
  ASSERT_TRUE(eventually([&] {
    const auto now = object("pods", "db-0")["metadata"]["uid"];
    return updated(2) && !now.isNull() && now != uid;
  }));
  finish("db-1");
  EXPECT_TRUE(eventually([&] { return status()["readyReplicas"].intOr(0) == 1; }));
  EXPECT_TRUE(eventually([&] { return updated(2); })) << "one that ended is replaced";
}

TEST_F(StatefulSets, AnUpdateGoesFromTheLastToTheFirst) {
  make(3);
  ASSERT_TRUE(eventually([&] { return updated(3); }));
  setImage("statefulsets", "db", "i:2");
  std::vector<std::string> seen;
  ASSERT_TRUE(eventually([&] {
    const std::string now = images(3);
    if (seen.empty() || seen.back() != now) { seen.push_back(now); }
    return updated(3) && now == "i:2 i:2 i:2";
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"i:1 i:1 i:1", "i:1 i:1 -", "i:1 i:1 i:2", "i:1 - i:2",
                                            "i:1 i:2 i:2", "- i:2 i:2", "i:2 i:2 i:2"}));
}

TEST_F(StatefulSets, ThoseBelowThePartitionKeepTheOldTemplate) {
  make(3, {{"updateStrategy", Object{{"rollingUpdate", Object{{"partition", 2}}}}}});
  ASSERT_TRUE(eventually([&] { return updated(3); }));
  setImage("statefulsets", "db", "i:2");
  ASSERT_TRUE(eventually([&] { return images(3) == "i:1 i:1 i:2" && ready(3); }));
  deletePod("db-0");
  ASSERT_TRUE(eventually([&] { return images(3) == "- i:1 i:2"; }));
  ASSERT_TRUE(eventually([&] { return images(3) == "i:1 i:1 i:2" && ready(3); }));
  EXPECT_EQ(status()["currentReplicas"].intOr(0), 2);
  EXPECT_EQ(status()["updatedReplicas"].intOr(0), 1);
  EXPECT_NE(status()["currentRevision"], status()["updateRevision"]);
  merge("statefulsets", "db",
        Object{{"spec", Object{{"updateStrategy", Object{{"rollingUpdate", Object{{"partition", 0}}}}}}}});
  EXPECT_TRUE(eventually([&] { return updated(3) && images(3) == "i:2 i:2 i:2"; }));
}

TEST_F(StatefulSets, OnDeleteWaitsForSomebodyToDelete) {
  make(2, {{"updateStrategy", Object{{"type", "OnDelete"}}}});
  ASSERT_TRUE(eventually([&] { return ready(2); }));
  setImage("statefulsets", "db", "i:2");
  world.run(1min);
  EXPECT_EQ(images(2), "i:1 i:1");
  deletePod("db-1");
  EXPECT_TRUE(eventually([&] { return images(2) == "i:1 i:2"; }));
}

TEST_F(StatefulSets, TheirTemplatesAreKeptAsRevisions) {
  make(1, {{"revisionHistoryLimit", 1}});
  ASSERT_TRUE(eventually([&] { return updated(1); }));
  const Value first = list("controllerrevisions").at(0);
  EXPECT_EQ(first["revision"].intOr(0), 1);
  setImage("statefulsets", "db", "i:2");
  ASSERT_TRUE(eventually([&] { return updated(1); }));
  EXPECT_EQ(list("controllerrevisions").size(), 2U);
  const auto back =
      world.request("PATCH", pathOf("statefulsets", "db"), first["data"],
                    "application/strategic-merge-patch+json");  // as kubectl rollout undo does it
  ASSERT_EQ(back.code, 200);
  ASSERT_TRUE(eventually([&] { return updated(1) && images(1) == "i:1"; }));
  EXPECT_EQ(list("controllerrevisions").size(), 2U) << "it is found again";
  EXPECT_EQ(object("controllerrevisions", std::string{first["metadata"]["name"].str()})["revision"].intOr(0),
            3);
  for (const char* image : {"i:3", "i:4", "i:5"}) {
    setImage("statefulsets", "db", image);
    ASSERT_TRUE(eventually([&] { return updated(1); }));
  }
  EXPECT_TRUE(eventually([&] { return list("controllerrevisions").size() == 2; }))
      << "one beside that in use";
}

json::Value claimTemplate(json::Value spec) {
  return Object{{"metadata", Object{{"name", "data"}}}, {"spec", std::move(spec)}};
}

TEST_F(StatefulSets, EachPodHasAClaimThatOutlivesIt) {
  world.create(Object{{"apiVersion", "storage.k8s.io/v1"},
                      {"kind", "StorageClass"},
                      {"metadata", Object{{"name", "now"}}},
                      {"provisioner", "sandbox.gpu.scheduling"}});
  const json::Value spec = Object{{"storageClassName", "now"},
                                  {"accessModes", json::Array{"ReadWriteOnce"}},
                                  {"resources", Object{{"requests", Object{{"storage", "1Gi"}}}}}};
  make(2, {{"volumeClaimTemplates", json::Array{claimTemplate(spec)}}});
  ASSERT_TRUE(eventually([&] { return ready(2); }));
  const std::string path = "/api/v1/namespaces/default/persistentvolumeclaims/data-db-1";
  const json::Value claim = world.get(path);
  EXPECT_EQ(claim["status"]["phase"].str(), "Bound");
  EXPECT_EQ(claim["metadata"]["labels"]["app"].str(), "db");
  const auto volumes = [&] { return podObject("db-1")["spec"]["volumes"]; };
  EXPECT_EQ(json::print(volumes()), R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-db-1"}}])");
  const json::Value first = podObject("db-1")["metadata"]["uid"];
  world.request("DELETE", pathOf("pods", "db-1"));
  ASSERT_TRUE(eventually([&] {
    const json::Value next = podObject("db-1")["metadata"]["uid"];
    return !next.isNull() && next != first && ready(2);
  }));
  EXPECT_EQ(world.get(path)["metadata"]["uid"], claim["metadata"]["uid"]);
}

TEST_F(StatefulSets, AClaimThatIsRefusedIsSaid) {
  make(1, {{"volumeClaimTemplates", json::Array{claimTemplate(Object{})}}});
  EXPECT_TRUE(eventually([&] { return toldOf("StatefulSet", "db", "FailedCreate") > 0; }));
  EXPECT_TRUE(podsOf("db").empty());
}

TEST_F(StatefulSets, MinReadySecondsHoldTheNextOneBack) {
  make(2, {{"minReadySeconds", 30}});
  ASSERT_TRUE(eventually([&] { return status()["readyReplicas"].intOr(0) == 1; }));
  EXPECT_FALSE(eventually([&] { return podsOf("db").size() == 2; }, 28s));
  EXPECT_TRUE(eventually([&] { return podsOf("db").size() == 2; }, 5s));
}

}  // namespace
}  // namespace gs::test
