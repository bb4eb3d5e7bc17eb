#include "engine/device_claims.h"

#include <limits>

#include "engine/device_claims_hand_test.h"

namespace gs::engine {
namespace {

TEST_F(DeviceClaimsTest, APodThatNamesNoneAsksForNothing) {
  const auto objects = asked(PodBuilder("p"));
  EXPECT_EQ(objects.selection, nullptr);
  EXPECT_EQ(objects.no_selection, sched::Blocked{});
}

TEST_F(DeviceClaimsTest, SaysWhatItsClaimsLack) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  EXPECT_EQ(
      blocked(pod),
      "ResourceClaimMissing: resourceclaim \"c\" of spec.resourceClaims[c] not found in namespace default; "
      "create it");
  const auto good = claim("c", {{"gpus", {way(1)}}});
  auto c = good;
  c.deleting = true;
  claimComes(c);
  EXPECT_EQ(blocked(pod),
            "ResourceClaimTaken: resourceclaim \"c\" of spec.resourceClaims[c] is being deleted");
  c = good;
  c.owner_pod = model::Uid{"other"};
  claimComes(c);
  EXPECT_NE(asked(pod).selection, nullptr) << "whoever names it may use it, whatever users write into it";
  c = good;
  c.allocated = true;
  c.results = {{"gpus", {"gpu.nvidia.com", "node-d", "gpu-2"}, true}};
  claimComes(c);
  EXPECT_EQ(
      blocked(pod),
      "ResourceClaimTaken: resourceclaim \"c\" of spec.resourceClaims[c] is allocated with adminAccess, "
      "which is not supported by this scheduler");
  c = good;
  c.allocated = true;
  for (std::size_t i = 0; i < model::kMaxReservedFor; ++i) {
    c.reserved_for.push_back(model::Uid{"other-" + std::to_string(1000 + i)});
  }
  claimComes(c);
  EXPECT_EQ(
      blocked(pod),
      "ResourceClaimTaken: resourceclaim \"c\" of spec.resourceClaims[c] is reserved for 256 pods already, "
      "and no more are allowed");
  c.reserved_for.back() = model::Uid{"uid-p"};
  claimComes(c);
  EXPECT_NE(asked(pod).selection, nullptr) << "it is one of them";
  claimComes(good);
  EXPECT_NE(asked(pod).selection, nullptr);
  engine.resourceClaimGone(good.key, good.uid, now);
  EXPECT_EQ(blocked(pod).substr(0, 20), "ResourceClaimMissing");
}

/// What a claim is allocated for others serves a pod that names it, and nothing else does.
TEST_F(DeviceClaimsTest, WhatOthersWereAllocatedIsJoined) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto c = claim("c", {{"gpus", {way(2)}}});
  claimComes(c);
  EXPECT_EQ(picked(pod, {0, 1}, {2, 3}), "0,1") << "it may choose, but not what others have";
  c.allocated = true;
  c.results = {{"gpus", {"gpu.nvidia.com", "node-d", "gpu-2"}},
               {"gpus", {"gpu.nvidia.com", "node-d", "gpu-1"}}};
  claimComes(c);
  EXPECT_EQ(picked(pod, {0, 1, 2, 3}), "1,2") << "for nobody";
  const sched::DeviceSelection::Joinable by_itself{1, {c.uid}};
  EXPECT_EQ(asked(pod).selection->pick(kNode, {2}, {by_itself}).ids, (std::vector{1, 2}))
      << "it holds for itself";
  c.reserved_for = {model::Uid{"other"}};
  claimComes(c);
  EXPECT_EQ(picked(pod, {0}, {1, 2, 3}), "1,2");
  const std::string others =
      "claim c is allocated a device that others have, or as many pods as may, or that is not healthy";
  EXPECT_EQ(picked(pod, {0, 1}, {3}), others);
  EXPECT_EQ(asked(pod).selection->most(), 2);
  EXPECT_EQ(asked(pod).selection->pick(model::NodeName{"node-e"}, {1, 2}, {}).lack,
            "claim c is allocated devices of another node");
  const sched::DeviceSelection::Joinable with_a_stranger{2, {model::Uid{"other"}, model::Uid{"stranger"}}};
  EXPECT_EQ(asked(pod).selection->pick(kNode, {0, 1}, {with_a_stranger}).lack, others)
      << "one that shares the GPU by no claim, or whose claim was taken back while its containers run";
  const auto given = engine.deviceClaims().give(pod.value(), kNode, {1, 2});
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given.front().devices, c.results);
  EXPECT_EQ(given.front().config.size(), 1U) << "of its class: should it have to be allocated anew";
  EXPECT_TRUE(engine.deviceClaims().give(pod.value(), kNode, {0, 1}).empty());
  auto rival = claim("rival", {{"r", {way(1)}}});
  rival.allocated = true;
  rival.results = {{"r", {"gpu.nvidia.com", "node-d", "gpu-2"}}};
  claimComes(rival);
  EXPECT_EQ(picked(pod, {0}, {1, 2, 3}),
            "claim c is allocated a device that claim default/rival is allocated too");
  engine.resourceClaimGone(rival.key, rival.uid, now);
  c.results.front().device.device = "gpu-3";
  claimComes(c);
  EXPECT_EQ(picked(pod, {}, {1, 3}), "1,3") << "what was read before is not what it is now";
  c.results.front().device.device = "nic-0";
  claimComes(c);
  EXPECT_EQ(picked(pod, {}, {1, 3}), "claim c is allocated a device that no node lists as a GPU");
}

/// Then it was decided before, and can be decided anew; where it is not, what it has serves it, by whichever
/// request each device is.
TEST_F(DeviceClaimsTest, WhatIsAllocatedForThePodAlone) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto c = claim("c", {{"left", {way(1)}}, {"right", {way(1)}}});
  c.allocated = true;
  c.reserved_for = {model::Uid{"uid-p"}};
  c.results = {{"left", {"gpu.nvidia.com", "node-d", "gpu-3"}},
               {"right", {"gpu.nvidia.com", "node-d", "gpu-1"}}};
  claimComes(c);
  EXPECT_EQ(picked(pod, {0, 2}), "0,2");
  EXPECT_EQ(engine.deviceClaims().give(pod.value(), kNode, {1, 3}).front().devices, c.results);
  std::swap(c.results[0].request, c.results[1].request);
  claimComes(c);
  EXPECT_EQ(engine.deviceClaims().give(pod.value(), kNode, {1, 3}).front().devices, c.results);
  EXPECT_NE(engine.deviceClaims().give(pod.value(), kNode, {0, 1}).front().devices, c.results);
}

/// Beside a claim that is allocated, one whose devices can be chosen.
TEST_F(DeviceClaimsTest, OneThatIsJoinedAndOneThatIsNot) {
  const auto pod = PodBuilder("p").resourceClaim("c").resourceClaim("d");
  auto c = claim("c", {{"gpus", {way(1)}}});
  c.allocated = true;
  c.reserved_for = {model::Uid{"other"}};
  c.results = {{"gpus", {"gpu.nvidia.com", "node-d", "gpu-3"}}};
  claimComes(c);
  claimComes(claim("d", {{"gpus", {way(2)}}}));
  EXPECT_EQ(asked(pod).selection->most(), 3);
  EXPECT_EQ(picked(pod, {0, 1}, {2, 3}), "0,1,3");
  EXPECT_EQ(picked(pod, {0}, {2, 3}), "request gpus of claim d needs 2 devices of class gpu 1/2");
  const auto given = engine.deviceClaims().give(pod.value(), kNode, {0, 1, 3});
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[0].devices, c.results);
  EXPECT_EQ(given[1].devices.size(), 2U);
}

/// The first one chooses; until that is written the others wait, and hear of its end.
TEST_F(DeviceClaimsTest, WhoSharesAClaimWaitsForTheFirst) {
  using Pods = DeviceClaims::Pods;
  const auto first = PodBuilder("p").resourceClaim("c");
  const auto second = PodBuilder("q").resourceClaim("c");
  const model::Uid p{"uid-p"};
  const model::Uid q{"uid-q"};
  auto c = claim("c", {{"gpus", {way(1)}}});
  claimComes(c);
  comes(first);
  comes(second);
  auto& claims = engine.deviceClaims();
  const model::Uid stranger{"stranger"};
  EXPECT_TRUE(claims.isUser(c.key, p)) << "it names it";
  EXPECT_FALSE(claims.isUser({"default", "d"}, p));
  EXPECT_FALSE(claims.isUser({"other", "c"}, p));
  EXPECT_FALSE(claims.isUser(c.key, stranger));
  EXPECT_EQ(claims.begun(first.value()), Pods{q});
  EXPECT_NE(asked(first).selection, nullptr);
  EXPECT_EQ(
      blocked(second),
      "ResourceClaimBegun: resourceclaim \"c\" of spec.resourceClaims[c] is being allocated for another pod");
  c.allocated = true;
  c.reserved_for = {p};
  c.results = {{"gpus", {"gpu.nvidia.com", "node-d", "gpu-3"}}};
  claimComes(c);
  const sched::DeviceSelection::Joinable of_first{3, {p}};
  EXPECT_EQ(asked(second).selection->pick(kNode, {}, {of_first}).ids, std::vector{3});
  EXPECT_EQ(claims.begun(second.value()), Pods{}) << "nobody has to wait for that";
  EXPECT_EQ(claims.over(p), Pods{});
  EXPECT_TRUE(claims.isUser(c.key, p)) << "it is reserved for it";
  EXPECT_FALSE(claims.isUser(c.key, stranger));
  claimComes(claim("c", {{"gpus", {way(1)}}}));
  EXPECT_EQ(blocked(first).substr(0, 18), "ResourceClaimBegun") << "it was emptied, and the second goes on";
  EXPECT_EQ(claims.over(q), Pods{p});
  EXPECT_NE(asked(first).selection, nullptr);
  EXPECT_TRUE(claims.over(q).empty());
  EXPECT_TRUE(claims.begun(PodBuilder("r").value()).empty());
}

TEST_F(DeviceClaimsTest, AClaimOfATemplateIsForItsPodAlone) {
  model::Pod pod = PodBuilder("p").value();
  pod.claims = {{"gpus", "", true}};
  EXPECT_EQ(engine.deviceClaims().asked(pod).no_selection.text,
            "the ResourceClaim of spec.resourceClaims[gpus] is not made from its template yet");
  pod.claims[0].claim = "c";
  auto c = claim("c", {{"r", {way(1)}}});
  claimComes(c);
  EXPECT_EQ(engine.deviceClaims().asked(pod).no_selection.text,
            "resourceclaim \"c\" of spec.resourceClaims[gpus] was made for another pod");
  c.owner_pod = pod.uid;
  claimComes(c);
  EXPECT_NE(engine.deviceClaims().asked(pod).selection, nullptr);
}

/// Another pod names it, and was allocated it first.
TEST_F(DeviceClaimsTest, AClaimOfATemplateThatAnotherPodUsesIsWaitedFor) {
  model::Pod pod = PodBuilder("p").value();
  pod.claims = {{"gpus", "c", true}};
  auto c = claim("c", {{"r", {way(1)}}});
  c.owner_pod = pod.uid;
  c.allocated = true;
  c.results = {{"r", {"gpu.nvidia.com", "node-d", "gpu-2"}}};
  c.reserved_for = {model::Uid{"other"}};
  claimComes(c);
  EXPECT_EQ(
      engine.deviceClaims().asked(pod).no_selection.text,
      "resourceclaim \"c\" of spec.resourceClaims[gpus] was made for this pod, and another pod that names "
      "it uses it: it is waited for");
  const auto ids = [&] {
    const auto selection = engine.deviceClaims().asked(pod).selection;
    return selection == nullptr ? std::vector{-1} : selection->pick(kNode, {0, 1, 2, 3}, {}).ids;
  };
  c.reserved_for = {model::Uid{"other"}, pod.uid};
  claimComes(c);
  EXPECT_EQ(ids(), std::vector{2}) << "both use it: it cannot be allocated anew";
  c.reserved_for = {pod.uid};
  claimComes(c);
  EXPECT_EQ(ids(), std::vector{3}) << "it can";
  c.reserved_for.clear();
  claimComes(c);
  EXPECT_EQ(ids(), std::vector{3}) << "nobody uses it";
  c.allocated = false;
  c.results.clear();
  claimComes(c);
  EXPECT_EQ(ids(), std::vector{3});
}

TEST_F(DeviceClaimsTest, AClassThatIsMissingMayCome) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto one = way(1);
  one.device_class = "nics";
  claimComes(claim("c", {{"r", {one}}}));
  EXPECT_EQ(asked(pod).no_selection.kind, "DeviceClassMissing");
}

/// What we may not list may be there.
TEST_F(DeviceClaimsTest, SaysWhichRightIsMissing) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  comes(pod);
  engine.mayList(kapi::kResourceClaim, false);
  EXPECT_EQ(
      blocked(pod),
      "MayNotList:resourceclaims: gpu-scheduler may not list resourceclaims: give its ClusterRole a rule "
      "with apiGroups [resource.k8s.io], resources [resourceclaims] and verbs [list, watch]");
  auto one = way(1);
  one.device_class = "nics";
  claimComes(claim("c", {{"r", {one}}}));
  EXPECT_EQ(asked(pod).no_selection.kind, "DeviceClassMissing");
  EXPECT_TRUE(touched(pod));
  engine.mayList(kapi::kDeviceClass, false);
  EXPECT_TRUE(touched(pod));
  EXPECT_EQ(asked(pod).no_selection.kind, "MayNotList:deviceclasses");
  engine.mayList(kapi::kDeviceClass, false);
  EXPECT_FALSE(touched(pod)) << "that is no news";
  engine.mayList(kapi::kDeviceClass, true);
  EXPECT_TRUE(touched(pod));
  EXPECT_EQ(asked(pod).no_selection.kind, "DeviceClassMissing");
}

TEST_F(DeviceClaimsTest, WhatIsNotServedIsSaidByThePodsNameOfIt) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  claimComes(claim("c", {{"gpus", {way(1, "device.attributes.exists(a, true)")}}}));
  EXPECT_EQ(blocked(pod).substr(0, 31), "ResourceClaimNotServed: claim c");
}

TEST_F(DeviceClaimsTest, TolerationsOfTaintsAreNotServedYet) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto tolerant = way(1);
  tolerant.tolerations = {{"fan", "", "", true}};
  claimComes(claim("c", {{"gpus", {tolerant}}}));
  EXPECT_EQ(blocked(pod),
            "ResourceClaimNotServed: claim c: request gpus tolerates taints of devices, which is not "
            "supported by this "
            "scheduler yet");
}

/// What would make a look at one node take long, for everybody.
TEST_F(DeviceClaimsTest, AskingForVeryMuchAtOnceIsRefused) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  std::vector<model::DevicesRequest> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back({std::to_string(i), {way(1, "device.driver != '" + std::string(1'000, 'x') + "'")}});
  }
  claimComes(claim("c", requests));
  EXPECT_NE(blocked(pod).find(" bytes of selectors and 0 constraints"), std::string::npos);
  auto c = claim("c", {{"r", {way(1)}}});
  c.constraints.resize(65);
  claimComes(c);
  EXPECT_NE(blocked(pod).find("65 constraints"), std::string::npos);
  auto many = PodBuilder("p");
  for (int i = 0; i < 33; ++i) {
    claimComes(claim("c" + std::to_string(i), {{"r", {way(1)}}}));
    many.resourceClaim(("c" + std::to_string(i)).c_str());
  }
  EXPECT_EQ(blocked(many), "ResourceClaimNotServed: the pod has 33 ResourceClaims and 32 are served");
}

/// Also where a change is looked at later: a rule for very many nodes, a slice that goes.
TEST_F(DeviceClaimsTest, WhatIsPublishedAnewIsLookedAtAgainAtOnce) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  claimComes(claim("c", {{"r", {way(1)}}}));
  const auto read = sched::readPod(pod.value(), asked(pod));
  const auto& request = std::get<sched::PodRequest>(read);
  const auto version = [&] { return engine.ledger().find(kNode)->versionFor(request); };
  auto last = version();
  model::DeviceTaintRule rule;
  rule.key = {"", "rule"};
  rule.revision = ++revision;
  rule.device = "gpu-9";
  rule.taint = {"fan", "", "NoSchedule"};
  engine.apply({kapi::kDeviceTaintRule, rule.key, {}, shared(rule), rule.revision}, now);
  EXPECT_GT(version(), last);
  last = version();
  model::ResourceSlice other;
  other.key = {"", "nics"};
  other.revision = ++revision;
  other.driver = "nic.example.com";
  other.pool = "p";
  other.slices = 2;
  other.node = kNode;
  other.devices.emplace_back().name = "nic-0";
  engine.apply({kapi::kResourceSlice, other.key, {}, shared(other), other.revision}, now);
  EXPECT_GT(version(), last);
  last = version();
  engine.apply({kapi::kResourceSlice, other.key, {}, {}, ++revision}, now);
  EXPECT_GT(version(), last);
}

TEST_F(DeviceClaimsTest, PicksWhatSelectorsAndConstraintsMean) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto c = claim("c", {{"gpus", {way(2)}}});
  claimComes(c);
  EXPECT_EQ(picked(pod, {0, 1, 2, 3}), "2,3") << "from the end";
  EXPECT_EQ(picked(pod, {0, 2}), "0,2");
  EXPECT_EQ(picked(pod, {0}), "request gpus of claim c needs 2 devices of class gpu 1/2");
  c.constraints.emplace_back().match = {"gpu.nvidia.com", "half"};
  claimComes(c);
  EXPECT_EQ(picked(pod, {0, 1, 2}), "0,1");
  EXPECT_NE(picked(pod, {0, 2}), "0,2");
  claimComes(claim("c", {{"gpus", {way(1, "device.attributes['gpu.nvidia.com'].half == 0")}}}));
  EXPECT_EQ(picked(pod, {0, 1, 2, 3}), "1");
}

/// Of several claims each has its own devices, and what each is allocated is told in the pod's order.
TEST_F(DeviceClaimsTest, GivesEachClaimWhatItAsksFor) {
  const auto pod = PodBuilder("p").resourceClaim("b").resourceClaim("a");
  auto of_a = claim("a", {{"one", {way(1)}}});
  of_a.config = {{false, {}, "1"}, {false, {"one"}, "2"}, {false, {"other"}, "3"}};
  claimComes(of_a);
  claimComes(claim("b", {{"r", {way(9, "", "many"), way(1, "", "few")}}, {"s", {way(1)}}}));
  EXPECT_EQ(picked(pod, {0, 1, 3}), "0,1,3");
  const auto given = engine.deviceClaims().give(pod.value(), kNode, {0, 1, 3});
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[0].claim->key.name, "b");
  ASSERT_EQ(given[0].devices.size(), 2U);
  EXPECT_EQ(given[0].devices[0].request, "r/few");
  EXPECT_EQ(given[0].config, (std::vector<model::DeviceConfig>{{true, {"r/few", "s"}, R"({"opaque":1})"}}))
      << "of a class once";
  EXPECT_EQ(given[1].devices.size(), 1U);
  EXPECT_EQ(given[1].config,
            (std::vector<model::DeviceConfig>{
                {true, {"one"}, R"({"opaque":1})"}, {false, {}, "1"}, {false, {"one"}, "2"}}));
  EXPECT_TRUE(engine.deviceClaims().give(pod.value(), kNode, {0, 1}).empty()) << "too few";
}

TEST_F(DeviceClaimsTest, AllThatANodeHasIsForAnyClass) {
  const auto pod = PodBuilder("p").resourceClaim("a");
  claimComes(claim("a", {{"r", {all()}}}));
  EXPECT_EQ(picked(pod, {0, 1, 2, 3}), "0,1,2,3");
  const auto read = sched::readPod(pod.value(), asked(pod));
  const auto id = engine.decider().classOf(std::get<sched::PodRequest>(read));
  EXPECT_EQ(engine.decider().decide(id)->ids, (std::vector{0, 1, 2, 3}));
}

TEST_F(DeviceClaimsTest, OneThatAsksForNothingIsNotServed) {
  const auto pod = PodBuilder("p").resourceClaim("a");
  claimComes(claim("a", {}));
  EXPECT_EQ(blocked(pod),
            "ResourceClaimNotServed: the pod's ResourceClaims ask for no device: write a request");
}

TEST_F(DeviceClaimsTest, KnowsTheMostThatTheyTake) {
  const auto pod = PodBuilder("p").resourceClaim("a").resourceClaim("b");
  claimComes(claim("a", {{"r", {way(4, "", "big"), way(1, "", "small")}}, {"s", {way(2)}}}));
  claimComes(claim("b", {{"r", {way(3)}}}));
  EXPECT_EQ(asked(pod).selection->most(), 9);
  claimComes(claim("b", {{"r", {all()}}}));
  EXPECT_EQ(asked(pod).selection->most(), 0) << "as many as there are";
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  claimComes(claim(
      "b", {{"r", {way(kHuge, "", "x"), way(1, "", "y")}}, {"s", {way(kHuge, "", "x"), way(1, "", "y")}}}));
  EXPECT_EQ(asked(pod).selection->most(), 6 + 64) << "no claim has more than 32 of anything";
}

/// Pods of one template are of one class; another version of a class is another selection.
TEST_F(DeviceClaimsTest, EqualClaimsAreOneSelection) {
  model::Pod p = PodBuilder("p").value();
  model::Pod q = PodBuilder("q").value();
  p.claims = {{"gpus", "p-gpus", false}};
  q.claims = {{"gpus", "q-gpus", false}};
  claimComes(claim("p-gpus", {{"r", {way(1)}}}));
  claimComes(claim("q-gpus", {{"r", {way(1)}}}));
  const auto of_p = engine.deviceClaims().asked(p).selection;
  EXPECT_EQ(engine.deviceClaims().asked(q).selection, of_p);
  claimComes(claim("q-gpus", {{"r", {way(2)}}}));
  EXPECT_NE(engine.deviceClaims().asked(q).selection, of_p);
  classComes("device.driver == 'another'");
  EXPECT_NE(engine.deviceClaims().asked(p).selection, of_p);
  EXPECT_EQ(picked(PodBuilder("p").resourceClaim("p-gpus"), {0, 1}),
            "request r of claim p-gpus needs devices of class gpu and none matches");
}

TEST_F(DeviceClaimsTest, WhoWaitsHearsOfClaimsAndClasses) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  const auto other = PodBuilder("o").resourceClaim("elsewhere");
  comes(pod);
  comes(other);
  (void)engine.takeTouched();
  const auto c = claim("c", {{"r", {way(1)}}});
  claimComes(c);
  const auto heard = engine.takeTouched();
  EXPECT_TRUE(heard.contains(pod.value().uid));
  EXPECT_FALSE(heard.contains(other.value().uid));
  claimComes(c);
  EXPECT_FALSE(touched(pod)) << "its labels, say";
  classComes("true");
  EXPECT_TRUE(touched(pod));
  engine.resourceClaimGone(c.key, c.uid, now);
  EXPECT_TRUE(touched(pod));
  auto bound = PodBuilder("p").revision(2);
  comes(bound.on("node-d"));
  (void)engine.takeTouched();
  classComes();
  claimComes(c);
  EXPECT_FALSE(touched(pod)) << "it waits no more";
  EXPECT_TRUE(engine.deviceClaims().waitingFor(c.key).empty());
}

/// Who waits is read once, until a class or its claim is another.
TEST_F(DeviceClaimsTest, WhatWasReadIsRemembered) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  comes(pod);
  claimComes(claim("c", {{"r", {way(1, "device.attributes.exists(a, true)")}}}));
  const std::string first = blocked(pod);
  EXPECT_EQ(blocked(pod), first);
  auto anew = claim("c", {{"r", {way(1)}}});
  anew.uid = model::Uid{"another"};
  engine.resourceClaimGone(anew.key, {}, now);
  claimComes(anew);
  EXPECT_NE(asked(pod).selection, nullptr);
  const auto selection = asked(pod).selection;
  EXPECT_EQ(asked(pod).selection, selection);
  classComes("device.driver == 'another'");
  EXPECT_NE(asked(pod).selection, selection);
}

/// Selections that nobody uses are not kept.
TEST_F(DeviceClaimsTest, ForgetsWhatNobodyAsksForAnyMore) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  for (int i = 1; i <= 1000; ++i) {
    claimComes(
        claim("c", {{"r", {way(1, "device.attributes['gpu.nvidia.com'].half == " + std::to_string(i))}}}));
    EXPECT_NE(asked(pod).selection, nullptr);
  }
  EXPECT_LT(engine.deviceClaims().known(), 200U);
}

}  // namespace
}  // namespace gs::engine
