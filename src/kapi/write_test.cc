#include "kapi/write.h"

#include <gtest/gtest.h>

#include "base/cpu_time_test.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "kapi/time.h"

namespace gs::kapi {
namespace {

model::Pod podToBind() {
  model::Pod pod;
  pod.key = {"team-a", "train-0"};
  pod.uid = model::Uid{"u-1"};
  pod.revision = 42;
  return pod;
}

const Wall kNow = *parseTime("2025-06-15T15:06:40.123456Z");

std::string request(const Call& c) { return std::string{httpMethod(c.verb)} + " " + target(c); }

TEST(Write, GetAndList) {
  EXPECT_EQ(request(getObject(kPod, {"ns", "p"})), "GET /api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(request(listObjects(kPod, "", 0)), "GET /api/v1/pods");
  EXPECT_EQ(
      request(listObjects(kLease, "gs", 500, "a+b=", {"gpu.scheduling/managed=true", "metadata.name=q"})),
      "GET /apis/coordination.k8s.io/v1/namespaces/gs/"
      "leases?limit=500&continue=a%2Bb%3D&labelSelector=gpu.scheduling%2Fmanaged%3Dtrue"
      "&fieldSelector=metadata.name%3Dq");
}

TEST(Write, BindPodCarriesUidRevisionAndAnnotations) {
  const Call c =
      bindPod(podToBind(), model::NodeName{"node-a"}, {{"gpu.scheduling/allocated", "node-a:0,1"}});
  EXPECT_EQ(request(c), "POST /api/v1/namespaces/team-a/pods/train-0/binding");
  EXPECT_EQ(
      json::print(c.body),
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"train-0","namespace":"team-a","uid":"u-1",)"
      R"("resourceVersion":"42","annotations":{"gpu.scheduling/allocated":"node-a:0,1"}},)"
      R"("target":{"apiVersion":"v1","kind":"Node","name":"node-a"}})");
}

TEST(Write, FencePodCarriesTheUid) {
  const Call c = fencePod({"team-a", "train-0"}, model::Uid{"u-1"}, "f-1");
  EXPECT_EQ(request(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"u-1","annotations":{"gpu.scheduling/fence":"f-1"}}})");
}

TEST(Write, AnnotatePodSetsSomeAndRemovesOthers) {
  const Call c = annotatePod(podToBind(), {{"a", "1"}}, {"b", "c"});
  EXPECT_EQ(request(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"b":null,"c":null,"a":"1"}}})");
}

/// null there would remove every annotation that the pod has.
TEST(Write, AnnotatePodLeavesAllOthersWhereNothingIsToChange) {
  EXPECT_EQ(json::print(annotatePod(podToBind(), {}, {}).body),
            R"({"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{}}})");
}

TEST(Write, AnnotatePodCostsAsMuchAsThereIsToRemove) {
  const auto costOf = [](int n) {
    std::vector<std::string> keys;
    for (int i = 0; i < n; ++i) { keys.push_back("tencent.com/predicate-gpu-idx-" + std::to_string(i)); }
    return cpuSecondsOf([&] { (void)annotatePod(podToBind(), {{"a", "1"}}, keys); });
  };
  EXPECT_LT(costOf(12'000), 40 * costOf(1'000));
}

TEST(Write, SetUnschedulableKeepsTheTimeOfTheLastChange) {
  model::Pod pod = podToBind();
  const Call c = setUnschedulable(pod, "Unschedulable", "0/1 nodes", kNow);
  EXPECT_EQ(request(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::StrategicPatch);
  EXPECT_EQ(
      json::print(c.body),
      R"({"metadata":{"uid":"u-1","resourceVersion":"42"},"status":{"conditions":[{"type":"PodScheduled",)"
      R"("status":"False",)"
      R"("reason":"Unschedulable","message":"0/1 nodes","lastProbeTime":null,)"
      R"("lastTransitionTime":"2025-06-15T15:06:40Z"}]}})");
  pod.scheduled.change().status = "False";
  const Call again = setUnschedulable(pod, "a", "b", kNow);
  EXPECT_EQ(again.body["status"]["conditions"].at(0).find("lastTransitionTime"), nullptr);
}

TEST(Write, NominatePodSaysTheNodeOrTakesItBack) {
  const Call c = nominatePod(podToBind(), model::NodeName{"node-a"});
  EXPECT_EQ(request(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::MergePatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"u-1","resourceVersion":"42"},"status":{"nominatedNodeName":"node-a"}})");
  EXPECT_EQ(json::print(nominatePod(podToBind(), {}).body),
            R"({"metadata":{"uid":"u-1","resourceVersion":"42"},"status":{"nominatedNodeName":null}})");
}

TEST(Write, MarkPreemptedIsTheConditionOfKubeScheduler) {
  model::Pod victim = podToBind();
  const Call c = markPreempted(victim, "gpu-scheduler", kNow);
  EXPECT_EQ(request(c), "PATCH /api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(c.verb, Verb::StrategicPatch);
  EXPECT_EQ(json::print(c.body),
            R"({"metadata":{"uid":"u-1"},"status":{"conditions":[{"type":"DisruptionTarget",)"
            R"("status":"True","reason":"PreemptionByScheduler",)"
            R"("message":"gpu-scheduler: preempting to accommodate a higher priority pod",)"
            R"("lastTransitionTime":"2025-06-15T15:06:40Z"}]}})");
  victim.preempted = true;
  const Call again = markPreempted(victim, "gpu-scheduler", kNow);
  EXPECT_EQ(again.body["status"]["conditions"].at(0).find("lastTransitionTime"), nullptr);
}

TEST(Write, DeletePodMeansThatOneAndLeavesItItsGrace) {
  const Call c = deletePod({"team-a", "train-0"}, model::Uid{"u-1"});
  EXPECT_EQ(request(c), "DELETE /api/v1/namespaces/team-a/pods/train-0");
  EXPECT_EQ(json::print(c.body),
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"}})");
}

model::Lease gpuLease() {
  model::Lease l;
  l.key = {"gs", "gpu-node-a-1"};
  l.uid = model::Uid{"l-1"};
  l.revision = 5;
  l.holder = "u-1";
  l.node = model::NodeName{"node-a"};
  l.gpu = 1;
  l.uuid = "GPU-1";
  l.pod = {"team-a", "train-0"};
  l.pod_uid = model::Uid{"u-1"};
  l.reservation = model::ReservationId{"r-1"};
  l.devices = "node-a:0,1";
  return l;
}

TEST(Write, CreateLeaseHasNoPreconditions) {
  const Call c = createLease(gpuLease());
  EXPECT_EQ(request(c), "POST /apis/coordination.k8s.io/v1/namespaces/gs/leases");
  EXPECT_EQ(json::print(c.body),
            R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"gpu-node-a-1",)"
            R"("namespace":"gs",)"
            R"("labels":{"gpu.scheduling/managed":"true","gpu.scheduling/pod":"train-0"},"annotations":{)"
            R"("gpu.scheduling/format":"1","gpu.scheduling/node":"node-a","gpu.scheduling/gpu":"1",)"
            R"("gpu.scheduling/uuid":"GPU-1","gpu.scheduling/pod-namespace":"team-a",)"
            R"("gpu.scheduling/pod-name":"train-0",)"
            R"("gpu.scheduling/pod-uid":"u-1","gpu.scheduling/reservation":"r-1",)"
            R"("gpu.scheduling/devices":"node-a:0,1"}},)"
            R"("spec":{"holderIdentity":"u-1"}})");
}

TEST(Write, UpdateLeaseCarriesUidAndRevision) {
  const Call c = updateLease(gpuLease());
  EXPECT_EQ(request(c), "PUT /apis/coordination.k8s.io/v1/namespaces/gs/leases/gpu-node-a-1");
  EXPECT_EQ(c.body["metadata"]["uid"].str(), "l-1");
  EXPECT_EQ(c.body["metadata"]["resourceVersion"].str(), "5");
}

TEST(Write, DeleteLeaseCarriesUidAndRevision) {
  const Call c = deleteLease({"gs", "gpu-node-a-1"}, model::Uid{"l-1"}, 5);
  EXPECT_EQ(request(c), "DELETE /apis/coordination.k8s.io/v1/namespaces/gs/leases/gpu-node-a-1");
  EXPECT_EQ(
      json::print(c.body),
      R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"l-1","resourceVersion":"5"}})");
}

TEST(Write, ASharedLeaseIsLabelledWithItsFirstHolder) {
  model::Lease l = gpuLease();
  l.holder = "shared";
  l.holders = {{model::Uid{"b"}, {"n", "pod-b"}, 500, 1024, model::ReservationId{"r"}, "node-a:1"},
               {model::Uid{"a"}, {"n", "pod-a"}, 0, 0, model::ReservationId{"q"}, "node-a:1"}};
  const Call c = createLease(l);
  EXPECT_EQ(c.body["metadata"]["labels"]["gpu.scheduling/pod"].str(), "pod-a");
  EXPECT_EQ(c.body["metadata"]["annotations"]["gpu.scheduling/holders"].str(),
            R"([{"uid":"a","namespace":"n","name":"pod-a","milli":0,"mib":0,"reservation":"q",)"
            R"("devices":"node-a:1"},)"
            R"({"uid":"b","namespace":"n","name":"pod-b","milli":500,"mib":1024,"reservation":"r",)"
            R"("devices":"node-a:1"}])");
  EXPECT_EQ(c.body["metadata"]["annotations"].find("gpu.scheduling/pod-uid"), nullptr);
}

TEST(Write, ElectionRecord) {
  model::Lease l;
  l.key = {"gs", "scheduler.gpu.scheduling"};
  l.holder = "me";
  l.record = {5, 2, "2025-06-15T15:06:40.000000Z", "2025-06-15T15:06:41.000000Z"};
  l.record.address = "http://a";
  const Call create = writeElection(l, true);
  EXPECT_EQ(request(create), "POST /apis/coordination.k8s.io/v1/namespaces/gs/leases");
  EXPECT_EQ(json::print(create.body["spec"]),
            R"({"holderIdentity":"me","leaseDurationSeconds":5,"acquireTime":"2025-06-15T15:06:40.000000Z",)"
            R"("renewTime":"2025-06-15T15:06:41.000000Z","leaseTransitions":2})");
  EXPECT_EQ(create.body["metadata"]["annotations"]["gpu.scheduling/address"].str(), "http://a");
  EXPECT_EQ(create.body["metadata"].find("labels"), nullptr);
  EXPECT_EQ(create.body["metadata"].find("resourceVersion"), nullptr);
  l.uid = model::Uid{"l"};
  l.revision = 7;
  const Call update = writeElection(l, false);
  EXPECT_EQ(request(update),
            "PUT /apis/coordination.k8s.io/v1/namespaces/gs/leases/scheduler.gpu.scheduling");
  EXPECT_EQ(update.body["metadata"]["uid"].str(), "l");
  EXPECT_EQ(update.body["metadata"]["resourceVersion"].str(), "7");
  EXPECT_EQ(decodeLease(update.body).record, l.record);
}

TEST(Write, RecordLeaseNamespaceCarriesTheCrdsRevision) {
  const Call c =
      recordLeaseNamespace({"gpuclaims.gpu.scheduling", model::Uid{"c"}, 3, "", ""}, "gs", "me", "t");
  EXPECT_EQ(request(c),
            "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpuclaims.gpu.scheduling");
  EXPECT_EQ(json::print(c.body), R"({"metadata":{"uid":"c","resourceVersion":"3","annotations":)"
                                 R"({"gpu.scheduling/lease-namespace":"gs",)"
                                 R"("gpu.scheduling/lease-namespace-scheduler":"me",)"
                                 R"("gpu.scheduling/lease-namespace-term":"t"}}})");
}

ClaimAllocation allocation(int n, std::int64_t bound_at_s) {
  return {"pod-" + std::to_string(n),
          model::Uid{"u-" + std::to_string(1000 + n)},
          model::NodeName{"node-" + std::to_string(n)},
          {n % 8},
          Wall{std::chrono::seconds{bound_at_s}}};
}

TEST(ClaimStatus, IsAnApplyWithForce) {
  const Call c = applyClaimStatus({"a", "four"}, model::Uid{"u-c"}, 8,
                                  {"Bound", "", {allocation(1, 10), allocation(2, 20)}, 2});
  EXPECT_EQ(
      request(c),
      "PATCH "
      "/apis/gpu.scheduling/v1/namespaces/a/gpuclaims/four/status?fieldManager=gpu-scheduler&force=true");
  EXPECT_STREQ(contentType(c.verb), "application/apply-patch+yaml");
  EXPECT_EQ(
      json::print(c.body),
      R"({"apiVersion":"gpu.scheduling/v1","kind":"GpuClaim","metadata":{"name":"four","namespace":"a",)"
      R"("uid":"u-c","resourceVersion":"8"},)"
      R"("status":{"phase":"Bound","nodeName":"node-1","gpuIds":[1],"allocated":"node-1:1; node-2:2",)"
      R"("allocations":[{"pod":"pod-1","uid":"u-1001","node":"node-1","gpuIds":[1]},)"
      R"({"pod":"pod-2","uid":"u-1002","node":"node-2","gpuIds":[2]}],"allocationsTotal":2}})");
}

TEST(ClaimStatus, EmptyMembersAreLeftOut) {
  EXPECT_EQ(
      json::print(
          applyClaimStatus({"a", "c"}, model::Uid{"u-c"}, 8, {"Pending", "no GPUs", {}, 0}).body["status"]),
      R"({"phase":"Pending","message":"no GPUs"})");
  EXPECT_EQ(json::print(applyClaimStatus({"a", "c"}, model::Uid{"u-c"}, 8, {}).body["status"]), "{}");
}

TEST(ClaimStatus, CountsThoseThatItDoesNotName) {
  ClaimStatus status{"Bound", "", {}, 300};
  for (int i = 0; i < 9; ++i) { status.allocations.push_back(allocation(i, i)); }
  const auto out = applyClaimStatus({"a", "c"}, model::Uid{"u-c"}, 8, status).body["status"];
  EXPECT_EQ(out["allocations"].items().size(), 9U);
  EXPECT_EQ(out["allocationsTotal"].integer(), 300);
  EXPECT_NE(out["allocated"].str().find("; node-7:7 (+292 more)"), std::string_view::npos);
}

TEST(AllocatedText, NamesUpToEight) {
  std::vector<ClaimAllocation> sorted;
  EXPECT_EQ(allocatedText(sorted, 0), "");
  for (int i = 0; i < 8; ++i) { sorted.push_back(allocation(i, i)); }
  EXPECT_EQ(allocatedText({sorted[0]}, 1), "node-0:0");
  EXPECT_EQ(allocatedText(sorted, 8).find("more"), std::string::npos);
  sorted.push_back(allocation(8, 8));
  EXPECT_TRUE(allocatedText(sorted, 9).ends_with("; node-7:7 (+1 more)"));
}

}  // namespace
}  // namespace gs::kapi
