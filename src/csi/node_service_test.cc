#include "csi/node_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>

#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

using cacherim::VolumeUse;

class NodeServiceTest : public testing::Test {
 protected:
  NodeServiceTest() : request_{machine_.request("u1", "kernels")} { machine_.extract(kVectors, "i1"); }

  Status publish() { return machine_.service().publish(request_); }
  Status unpublish() { return machine_.service().unpublish(NodeMachine::unpublishOf(request_)); }
  [[nodiscard]] std::vector<VolumeUse> uses() { return *machine_.service().uses(); }
  [[nodiscard]] VolumeUse expectedUse(const std::string& image) const {
    return readPublish(request_, FakeMounts::kRoot)->use(imageNamed(image));
  }
  [[nodiscard]] bool isComplete() const {
    return *cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false})->isComplete();
  }
  void tearUses() const {
    for (const auto& one : std::filesystem::directory_iterator{machine_.usage() + "/volumes"}) {
      if (one.path().extension() == ".json") { std::ofstream{one.path()} << "torn"; }
    }
  }
  void expectNothingLeft() {
    EXPECT_TRUE(machine_.mounts.mounts.empty());
    EXPECT_FALSE(machine_.mounts.folders.contains(request_.target_path));
    EXPECT_TRUE(uses().empty());
  }
  /// Fails this call, before it does anything.
  void failing(const std::string& call, Code code = Code::Unavailable) {
    machine_.mounts.fault = [=](const char* name, bool is_done) -> Status {
      return !is_done && name == call ? fail(code, call + ": no") : Status{};
    };
  }

  NodeMachine machine_;
  rpc::PublishRequest request_;
};

// ---- Publish

TEST_F(NodeServiceTest, PublishMountsTheTreeAndRecordsItsUse) {
  ASSERT_TRUE(publish());
  const auto* mount = machine_.mounts.top(request_.target_path);
  ASSERT_NE(mount, nullptr);
  EXPECT_EQ(mount->tree, cacherim::treeRootBelow(machine_.store(), imageNamed("i1")));
  EXPECT_EQ(mount->shown, (TargetMount{request_.target_path, true, imageNamed("i1"), kVectors, false}));
  EXPECT_EQ(uses(), std::vector{expectedUse("i1")});
  ASSERT_TRUE(unpublish());
  expectNothingLeft();
}

TEST_F(NodeServiceTest, PublishTwiceMountsOnce) {
  ASSERT_TRUE(publish());
  machine_.extract(kVectors, "i2");  // a newer image meanwhile: this pod keeps its own
  ASSERT_TRUE(publish());
  EXPECT_EQ(machine_.mounts.mounts.size(), 1U);
  EXPECT_EQ(uses(), std::vector{expectedUse("i1")});
}

TEST_F(NodeServiceTest, ReadOnlyIsAsked) {
  request_.read_only = true;
  ASSERT_TRUE(publish());
  EXPECT_TRUE(machine_.mounts.top(request_.target_path)->shown.is_read_only);
  EXPECT_TRUE(uses().at(0).is_read_only);
  EXPECT_TRUE(publish());
  request_.read_only = false;
  EXPECT_EQ(publish().error().code, Code::Conflict) << "a read-only one is there";
}

TEST_F(NodeServiceTest, ASecondPodDoesNotSeeWhatTheFirstWrote) {
  ASSERT_TRUE(publish());
  machine_.mounts.top(request_.target_path)->written.insert("poison.so");
  const auto other = machine_.request("u2", "kernels");
  ASSERT_TRUE(machine_.service().publish(other));
  EXPECT_TRUE(machine_.mounts.top(other.target_path)->written.empty());
}

TEST_F(NodeServiceTest, WhatIsNotExtractedIsNotFoundInTheAncestorsWords) {
  request_.context["csi.gkm.io/GKMCache"] = "other";
  EXPECT_EQ(publish().error(), (Error{Code::NotFound, "GKMCache has not been extracted"}));
  request_.context.erase("csi.gkm.io/namespace");
  EXPECT_EQ(publish().error(), (Error{Code::NotFound, "ClusterGKMCache has not been extracted"}));
  expectNothingLeft();
}

TEST_F(NodeServiceTest, ATreeThatIsNotCompleteIsNotExtracted) {
  std::filesystem::remove(cacherim::treeRootBelow(machine_.store(), imageNamed("i1")) + "/../record.json");
  EXPECT_EQ(publish().error().code, Code::NotFound);
  expectNothingLeft();
}

TEST_F(NodeServiceTest, WhatTheAncestorTellsIsNotExtracted) {
  std::ofstream{machine_.store() + "/caches/ml/vectors/cache.json"}
      << R"({"resolvedDigest":")" << imageNamed("i1").text() << R"(","image":"quay.io/x:i1"})";
  EXPECT_EQ(publish().error(), (Error{Code::NotFound, "GKMCache has not been extracted"}));
  expectNothingLeft();
}

TEST_F(NodeServiceTest, ACacheWhosePlaceIsGoneIsNotExtracted) {
  std::filesystem::remove(machine_.store() + "/caches/ml/vectors/" + imageNamed("i1").text());
  EXPECT_EQ(publish().error(), (Error{Code::NotFound, "GKMCache has not been extracted"}));
  expectNothingLeft();
}

TEST_F(NodeServiceTest, ATreeThatIsALinkIsAConflictAndNotMounted) {
  const std::string root = cacherim::treeRootBelow(machine_.store(), imageNamed("i1"));
  std::filesystem::remove(root);
  std::filesystem::create_directory_symlink(machine_.usage(), root);
  for (const bool is_read_only : {false, true}) {
    request_.read_only = is_read_only;
    EXPECT_EQ(publish().error().code, Code::Conflict);
    expectNothingLeft();
  }
}

TEST_F(NodeServiceTest, AReadOnlyMountWithoutAUseIsOfItsOwnCache) {
  const auto other = *cacherim::CacheName::inNamespace("a", "first");
  machine_.extract(other, "i1");  // the same image, of somebody else
  request_.read_only = true;
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  ASSERT_TRUE(machine_.begin().start());
  EXPECT_EQ(uses().at(0).cache, kVectors);
}

TEST_F(NodeServiceTest, AMountThatDoesNotSayWhoseItIsIsOfNoUsersCache) {
  machine_.mounts.mounts.push_back({{request_.target_path, true, imageNamed("i1"), {}, true}, "/t"});
  ASSERT_TRUE(machine_.begin().start());
  EXPECT_EQ(uses().at(0).cache, *cacherim::CacheName::ofCluster("unknown"));
  EXPECT_EQ(uses().at(0).image, imageNamed("i1"));
}

TEST_F(NodeServiceTest, NamespacesOfOthersAreRefusedBeforeAnythingIsLookedUp) {
  request_.context["csi.gkm.io/namespace"] = "other";
  EXPECT_EQ(publish().error().code, Code::Invalid);
  EXPECT_EQ(machine_.mounts.calls, 0);
}

TEST_F(NodeServiceTest, GpusThatCannotUseItAreAWarningOrARefusal) {
  machine_.extract(kVectors, "i1", {}, {0, 2});
  machine_.begin(Incompatible::Refuse);
  const Status refused = publish();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_NE(refused.error().message.find(
                "GKMCache ml/vectors: no GPU of this node can use it (incompatible: 0, 2)"),
            std::string::npos)
      << refused.error().message;
  expectNothingLeft();
  machine_.extract(kVectors, "i1", {1}, {0, 2});
  EXPECT_TRUE(publish()) << "one can";
  ASSERT_TRUE(unpublish());
  machine_.extract(kVectors, "i1", {}, {});
  EXPECT_TRUE(publish()) << "nobody looked";
  ASSERT_TRUE(unpublish());
  machine_.extract(kVectors, "i1", {}, {0});
  machine_.begin(Incompatible::Warn);
  EXPECT_TRUE(publish());
}

TEST_F(NodeServiceTest, AForeignMountIsLeftAlone) {
  machine_.mounts.foreign(request_.target_path);
  EXPECT_EQ(publish().error().code, Code::Conflict);
  EXPECT_EQ(unpublish().error().code, Code::Conflict);
  EXPECT_EQ(machine_.mounts.count(request_.target_path), 1U);
}

TEST_F(NodeServiceTest, ALostUseIsMadeAgainAndNothingUnmounted) {
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  machine_.extract(kVectors, "i2");
  ASSERT_TRUE(publish());
  EXPECT_EQ(uses(), std::vector{expectedUse("i1")}) << "of what is mounted, not of what would be now";
  EXPECT_EQ(machine_.mounts.count(request_.target_path), 1U);
}

TEST_F(NodeServiceTest, AUseThatCannotBeReadIsWrittenAnew) {
  ASSERT_TRUE(publish());
  tearUses();
  ASSERT_TRUE(publish());
  EXPECT_EQ(uses(), std::vector{expectedUse("i1")});
}

TEST_F(NodeServiceTest, AUseWithoutAMountIsBegunAnew) {
  ASSERT_TRUE(publish());
  machine_.mounts.mounts.clear();
  machine_.extract(kVectors, "i2");
  ASSERT_TRUE(publish());
  EXPECT_EQ(uses(), std::vector{expectedUse("i2")});
}

TEST_F(NodeServiceTest, AnotherVolumeAtTheTargetIsAConflict) {
  ASSERT_TRUE(publish());
  machine_.extract(*cacherim::CacheName::inNamespace("ml", "other"), "i1");
  request_.context["csi.gkm.io/GKMCache"] = "other";
  EXPECT_EQ(publish().error().code, Code::Conflict);
}

TEST_F(NodeServiceTest, TheSameVolumeAtASecondTargetIsAConflict) {
  ASSERT_TRUE(publish());
  rpc::PublishRequest other = machine_.request("u1", "again");
  other.volume_id = request_.volume_id;
  EXPECT_EQ(machine_.service().publish(other).error().code, Code::Conflict);
  EXPECT_TRUE(machine_.service().unpublish(NodeMachine::unpublishOf(other)));
  EXPECT_EQ(uses(), std::vector{expectedUse("i1")}) << "it is still mounted where it was";
}

TEST_F(NodeServiceTest, AFailureUndoesWhatWasDone) {
  for (const char* call : {"mkdir", "mount", "list"}) {
    failing(call);
    EXPECT_FALSE(publish()) << call;
    machine_.mounts.fault = {};
    expectNothingLeft();
  }
  EXPECT_TRUE(publish());
}

TEST_F(NodeServiceTest, WhileTheAgentTakesTreesAwayPublishIsRefused) {
  ASSERT_TRUE(machine_.service().start());
  const auto usage = cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false});
  const auto lock = usage->lock(cacherim::Usage::Hold::Alone, Duration{});
  EXPECT_EQ(publish().error().code, Code::Deadline);
  expectNothingLeft();
}

TEST_F(NodeServiceTest, ASecondCallForAVolumeOrTargetDoesNotWait) {
  rpc::PublishRequest same_target = machine_.request("u2", "kernels");
  same_target.target_path = request_.target_path;
  const rpc::PublishRequest other = machine_.request("u3", "kernels");
  int inside = 0;
  machine_.mounts.fault = [&](const char* name, bool is_done) -> Status {
    if (inside > 0 || is_done || name != std::string{"mount"}) { return {}; }
    ++inside;
    EXPECT_EQ(publish().error().code, Code::Unavailable);
    EXPECT_EQ(unpublish().error().code, Code::Unavailable);
    EXPECT_EQ(machine_.service().publish(same_target).error().code, Code::Unavailable);
    EXPECT_TRUE(machine_.service().publish(other)) << "different volumes go side by side";
    return {};
  };
  ASSERT_TRUE(publish());
  EXPECT_EQ(inside, 1);
  EXPECT_TRUE(publish()) << "and the next one goes";
}

// ---- Unpublish

TEST_F(NodeServiceTest, UnpublishIsFineWhateverIsGoneAlready) {
  EXPECT_TRUE(unpublish()) << "unknown";
  ASSERT_TRUE(publish());
  ASSERT_TRUE(unpublish());
  EXPECT_TRUE(unpublish()) << "again";
  ASSERT_TRUE(publish());
  machine_.mounts.mounts.clear();  // a reboot
  EXPECT_TRUE(unpublish());
  expectNothingLeft();
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  EXPECT_TRUE(unpublish()) << "its use was lost";
  expectNothingLeft();
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.store());
  EXPECT_TRUE(unpublish()) << "the cache is gone";
  expectNothingLeft();
}

TEST_F(NodeServiceTest, UnpublishTakesMountsThatStackAway) {
  ASSERT_TRUE(publish());
  machine_.mounts.mounts.push_back(machine_.mounts.mounts.front());
  machine_.mounts.mounts.push_back(machine_.mounts.mounts.front());
  ASSERT_TRUE(unpublish());
  expectNothingLeft();
}

TEST_F(NodeServiceTest, WhatIsInUseStaysWithItsUse) {
  ASSERT_TRUE(publish());
  failing("unmount");
  EXPECT_EQ(unpublish().error().code, Code::Unavailable);
  EXPECT_EQ(uses().size(), 1U);
  failing("rmdir");
  EXPECT_FALSE(unpublish());
  EXPECT_EQ(uses().size(), 1U) << "the use goes last";
  machine_.mounts.fault = {};
  EXPECT_TRUE(unpublish());
  expectNothingLeft();
}

// ---- Stats, readiness

TEST_F(NodeServiceTest, StatsAreOfAVolumeThatIsMounted) {
  const auto stats = [&](const std::string& id, const std::string& path) {
    return machine_.service().stats({.volume_id = id, .volume_path = path});
  };
  EXPECT_EQ(stats(request_.volume_id, request_.target_path).error().code, Code::NotFound);
  ASSERT_TRUE(publish());
  EXPECT_EQ(stats(request_.volume_id, request_.target_path), (rpc::VolumeStats{{10, 4, 6}, {5, 2, 3}}));
  EXPECT_EQ(stats("other", request_.target_path).error().code, Code::NotFound);
  EXPECT_EQ(stats(request_.volume_id, "/pods/elsewhere").error().code, Code::NotFound);
  EXPECT_EQ(stats("", "/pods/elsewhere").error().code, Code::Invalid);
}

TEST_F(NodeServiceTest, ReadyIsWhoReachesTheStoreAndTheUses) {
  EXPECT_TRUE(machine_.service().ready());
  ASSERT_TRUE(publish());
  tearUses();
  EXPECT_FALSE(machine_.service().ready());
  ASSERT_TRUE(machine_.service().start());
  EXPECT_TRUE(machine_.service().ready());
  std::filesystem::remove_all(machine_.store());
  EXPECT_FALSE(machine_.service().ready());
}

TEST_F(NodeServiceTest, WhoseFolderWasTakenAwayAsAWholeIsNotAlive) {
  EXPECT_TRUE(machine_.service().alive());
  std::filesystem::remove_all(machine_.usage());
  EXPECT_TRUE(machine_.service().alive()) << "it can be made again";
  const std::string run = machine_.store() + "/run";
  std::filesystem::create_directories(run);
  const net::Fd held{::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};  // as a mount holds it
  const std::string seen = "/proc/self/fd/" + std::to_string(held.get());
  FakeMounts mounts;
  const NodeService service{{.store = machine_.store(), .usage = seen + "/usage", .target_root = "/pods"},
                            *cacherim::Usage::open(seen + "/usage", cacherim::Disk{{}, false}),
                            mounts};
  EXPECT_TRUE(service.alive());
  std::filesystem::remove_all(run);
  const Status dead = service.alive();
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().code, Code::Unavailable);
  EXPECT_NE(dead.error().message.find(seen + " was taken away"), std::string::npos) << dead.error().message;
}

// ---- Complete

TEST_F(NodeServiceTest, UsesAreCompleteOnceStartHasLookedAtAll) {
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  machine_.begin();
  EXPECT_FALSE(isComplete());
  failing("list");
  EXPECT_FALSE(machine_.service().start());
  EXPECT_FALSE(isComplete());
  machine_.mounts.fault = {};
  machine_.disk_fault = [](std::string_view call) { return call == "write" ? ENOSPC : 0; };
  EXPECT_FALSE(machine_.begin().start());
  EXPECT_FALSE(isComplete());
  machine_.disk_fault = {};
  EXPECT_TRUE(machine_.begin().start());
  EXPECT_TRUE(isComplete());
  EXPECT_EQ(uses().size(), 1U);
}

TEST_F(NodeServiceTest, AnyCallMakesLostUsesOfAllVolumesAgain) {
  ASSERT_TRUE(publish());
  const auto other = machine_.request("u2", "kernels", true);
  const auto calls = std::vector<std::function<bool()>>{
      [&] { return machine_.service().ready().has_value(); },
      [&] { return machine_.service().publish(other).has_value(); },
      [&] { return machine_.service().unpublish(NodeMachine::unpublishOf(other)).has_value(); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::filesystem::remove_all(machine_.usage());
    EXPECT_TRUE(calls[i]()) << i;
    EXPECT_TRUE(isComplete()) << i;
    EXPECT_EQ(uses().size(), i == 1 ? 2U : 1U) << i;
  }
}

TEST_F(NodeServiceTest, WhileUsesCannotBeMadeAgainOnlyUnpublishGoes) {
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  machine_.disk_fault = [](std::string_view call) { return call == "write" ? ENOSPC : 0; };
  machine_.begin();  // its disk has the fault
  const auto other = machine_.request("u2", "kernels");
  const Status refused = machine_.service().publish(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_NE(refused.error().message.find("which volumes are mounted is not known"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(machine_.mounts.count(other.target_path), 0U);
  EXPECT_FALSE(machine_.service().ready());
  EXPECT_TRUE(unpublish());
}

TEST_F(NodeServiceTest, UsesAreNotCompleteWhileACallIsUnderWay) {
  ASSERT_TRUE(machine_.service().start());
  const auto other = machine_.request("u3", "kernels");
  machine_.mounts.fault = [&](const char* name, bool is_done) -> Status {
    if (is_done || name != std::string{"mount"}) { return {}; }
    std::filesystem::remove_all(machine_.usage());  // with the use of the mount that is about to be
    EXPECT_EQ(machine_.service().keepComplete().error().code, Code::Unavailable);
    EXPECT_EQ(machine_.service().publish(other).error().code, Code::Unavailable);
    EXPECT_FALSE(isComplete());
    return {};
  };
  ASSERT_TRUE(publish());
  EXPECT_FALSE(isComplete());
  machine_.mounts.fault = {};
  EXPECT_TRUE(machine_.service().keepComplete());
  EXPECT_TRUE(isComplete());
  EXPECT_EQ(uses().size(), 1U);
}

TEST_F(NodeServiceTest, NoCallBeginsWhileUsesAreMadeAgain) {
  ASSERT_TRUE(publish());
  std::filesystem::remove_all(machine_.usage());
  const auto other = machine_.request("u3", "kernels");
  int inside = 0;
  machine_.mounts.fault = [&](const char*, bool) -> Status {
    if (inside++ > 0) { return {}; }
    EXPECT_EQ(machine_.service().publish(other).error().code, Code::Unavailable);
    EXPECT_EQ(unpublish().error().code, Code::Unavailable);
    return {};
  };
  EXPECT_TRUE(machine_.service().keepComplete());
  EXPECT_GT(inside, 0);
  EXPECT_TRUE(machine_.service().publish(other)) << "and the next one goes";
}

TEST_F(NodeServiceTest, AUseThatCannotBeReadIsThereUntilItsMountHasOne) {
  ASSERT_TRUE(publish());
  ASSERT_TRUE(isComplete());
  tearUses();
  machine_.disk_fault = [](std::string_view call) { return call == "write" ? ENOSPC : 0; };
  EXPECT_FALSE(machine_.begin().start());
  EXPECT_FALSE(machine_.service().uses()) << "the agent takes nothing away";
  machine_.disk_fault = {};
  EXPECT_TRUE(machine_.begin().start());
  EXPECT_EQ(uses().at(0).image, imageNamed("i1"));
}

// ---- Start

TEST_F(NodeServiceTest, StartGivesMountsTheirLostUses) {
  ASSERT_TRUE(publish());
  const auto other = [&] {
    auto out = machine_.request("u2", "kernels", true);
    EXPECT_TRUE(machine_.service().publish(out));
    return out;
  }();
  std::filesystem::remove_all(machine_.usage());
  ASSERT_TRUE(machine_.begin().start());
  ASSERT_EQ(uses().size(), 2U);
  for (const VolumeUse& use : uses()) {
    EXPECT_EQ(use.image, imageNamed("i1"));
    EXPECT_EQ(use.cache, kVectors) << "also of the read-only one";
    EXPECT_EQ(use.pod_uid, use.target == other.target_path ? "u2" : "u1");
  }
  EXPECT_TRUE(publish());
  EXPECT_TRUE(machine_.service().publish(other));
  EXPECT_EQ(machine_.service().uses()->at(0).pod_name.substr(0, 4), "pod-")
      << "the kubelet says who they are";
  EXPECT_TRUE(unpublish());
  EXPECT_TRUE(machine_.service().unpublish(NodeMachine::unpublishOf(other)));
  expectNothingLeft();
}

TEST_F(NodeServiceTest, StartGivesMountsOfTheAncestorAUse) {
  const std::string target = request_.target_path;
  machine_.mounts.folders.insert(target);
  machine_.mounts.mounts.push_back(
      {{target, true, imageNamed("old"), kVectors, false}, "/var/lib/gkm/caches"});
  const std::string old = machine_.usage() + "/ml/vectors/" + imageNamed("old").text();
  std::filesystem::create_directories(old);
  std::ofstream{old + "/usage.json"} << R"({"pods":[{"podNamespace":"ml","podName":"old-0","volumeId":")"
                                     << request_.volume_id << R"("}]})";
  ASSERT_TRUE(machine_.begin().start());
  VolumeUse expected = expectedUse("old");
  expected.pod_name = "old-0";
  EXPECT_EQ(uses(), std::vector{expected});
  EXPECT_TRUE(unpublish());
  expectNothingLeft();
}

TEST_F(NodeServiceTest, StartDropsUsesOfPodsThatAreGone) {
  ASSERT_TRUE(publish());
  const auto other = machine_.request("u2", "kernels");
  ASSERT_TRUE(machine_.service().publish(other));
  machine_.mounts.mounts.clear();
  machine_.mounts.removePod("u1");
  ASSERT_TRUE(machine_.begin().start());
  ASSERT_EQ(uses().size(), 1U) << "for the other one the kubelet comes again";
  EXPECT_EQ(uses().at(0).pod_uid, "u2");
}

TEST_F(NodeServiceTest, StartLeavesForeignMountsAndFoldersOfAllImagesAlone) {
  machine_.mounts.foreign(request_.target_path);
  machine_.mounts.mounts.push_back({{"/pods/u2/x", true, std::nullopt, kVectors, false}, "/old"});
  ASSERT_TRUE(machine_.service().start());
  EXPECT_TRUE(uses().empty());
  EXPECT_EQ(machine_.mounts.mounts.size(), 2U);
}

TEST_F(NodeServiceTest, AMountAtATargetOfNoKubeletIsKeptAndGoesByItsTarget) {
  machine_.mounts.folders.insert("/pods/sanity");
  machine_.mounts.mounts.push_back({{"/pods/sanity/mount", true, imageNamed("i1"), kVectors, false}, "/t"});
  ASSERT_TRUE(machine_.service().start());
  EXPECT_EQ(uses().at(0).volume_id, "mount:/pods/sanity/mount");
  ASSERT_TRUE(machine_.service().unpublish({.volume_id = "whatever", .target_path = "/pods/sanity/mount"}));
  EXPECT_TRUE(uses().empty());
}

}  // namespace
}  // namespace gs::csi
