// On a folder that stands for the kubelet's. Where calls wait they are in threads of their own; nothing
// sleeps.
#include "csi/gate/gate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "csi/kubelet/request_checks.h"

namespace gs::csi {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Says what it was told to say, to any thread.
class Sayer {
 public:
  void say(Status answer) {
    const MutexLock lock{mutex_};
    answer_ = std::move(answer);
  }
  Status ask(const model::Uid& pod, const std::string& ns, const std::string& name) {
    const MutexLock lock{mutex_};
    ++asked_;
    last_ = ns + '/' + name + ' ' + pod.text;
    return answer_;
  }
  [[nodiscard]] int asked() const {
    const MutexLock lock{mutex_};
    return asked_;
  }
  [[nodiscard]] std::string last() const {
    const MutexLock lock{mutex_};
    return last_;
  }

 private:
  mutable Mutex mutex_;
  Status answer_ GS_GUARDED_BY(mutex_);
  int asked_ GS_GUARDED_BY(mutex_) = 0;
  std::string last_ GS_GUARDED_BY(mutex_);
};

Status notYet() { return fail(Code::Unavailable, "its leases were not read yet"); }

class GateTest : public testing::Test {
 protected:
  Gate& make(Duration patience, std::size_t most_waiting = 32) {
    gate_ = std::make_unique<Gate>(
        Gate::Options{.target_root = root(), .patience = patience, .most_waiting = most_waiting},
        [this](const model::Uid& pod, const std::string& ns, const std::string& name) {
          return sayer.ask(pod, ns, name);
        },
        clock_);
    return *gate_;
  }
  [[nodiscard]] std::string root() const { return folder_.path("pods"); }
  /// Without the folder itself, as the kubelet calls.
  [[nodiscard]] std::string target(const std::string& uid) const {
    const std::string above = root() + "/" + uid + "/volumes/kubernetes.io~csi/gpu-scheduling-gate";
    fs::create_directories(above);
    return above + "/mount";
  }
  [[nodiscard]] rpc::PublishRequest request(const std::string& uid) const {
    return {.volume_id = "csi-" + uid,
            .target_path = target(uid),
            .has_capability = true,
            .is_block = false,
            .mount_flags = {},
            .read_only = true,
            .context = {{kEphemeralKey, "true"},
                        {kPodNameKey, "pod-" + uid},
                        {kPodNamespaceKey, "ml"},
                        {kPodUidKey, uid},
                        {"whatever", "the pod's author wrote"}}};
  }
  static rpc::UnpublishRequest unpublishOf(const rpc::PublishRequest& request) {
    return {.volume_id = request.volume_id, .target_path = request.target_path};
  }
  static Code codeOf(const Status& done) {
    EXPECT_FALSE(done);
    return done ? Code::Internal : done.error().code;
  }
  static void untilWaiting(const Gate& gate, std::size_t calls) {
    while (gate.waiting() != calls) { std::this_thread::yield(); }
  }

  Sayer sayer;

 private:
  const TempFolder folder_;
  const SystemClock clock_{};
  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, APodThatMayStartGetsAnEmptyFolder) {
  Gate& gate = make(0s);
  const auto asked = request("u1");
  ASSERT_TRUE(gate.publish(asked));
  EXPECT_TRUE(fs::is_empty(asked.target_path));
  EXPECT_EQ(sayer.last(), "ml/pod-u1 u1");
  EXPECT_TRUE(gate.publish(asked)) << "again, after a restart of the kubelet";
  EXPECT_EQ(sayer.asked(), 2) << "it is asked anew each time";
  EXPECT_EQ(gate.stats({.volume_id = asked.volume_id, .volume_path = asked.target_path}), rpc::VolumeStats{});
  EXPECT_TRUE(gate.unpublish(unpublishOf(asked)));
  EXPECT_FALSE(fs::exists(asked.target_path));
  EXPECT_TRUE(gate.unpublish(unpublishOf(asked)));
  EXPECT_EQ(gate.stats({.volume_id = asked.volume_id, .volume_path = asked.target_path}).error().code,
            Code::NotFound);
}

TEST_F(GateTest, APodThatMayNotStartGetsNoneAndIsToldWhy) {
  Gate& gate = make(0s);
  const auto asked = request("u1");
  sayer.say(notYet());
  const Status later = gate.publish(asked);
  EXPECT_EQ(codeOf(later), Code::Unavailable);
  EXPECT_EQ(later.error().message, "its leases were not read yet");
  EXPECT_FALSE(fs::exists(asked.target_path));
}

/// A pod whose lease says otherwise is told so at once: it will not pass by itself.
TEST_F(GateTest, WhatIsRefutedIsNotWaitedFor) {
  Gate& gate = make(1h);
  sayer.say(fail(Code::Conflict, "the lease of GPU 0 is pod b's"));
  EXPECT_EQ(codeOf(gate.publish(request("u1"))), Code::Conflict);
  EXPECT_EQ(sayer.asked(), 1);
}

TEST_F(GateTest, ACallWaitsUntilThePodMayStart) {
  Gate& gate = make(1h);
  sayer.say(notYet());
  auto done = std::async(std::launch::async, [&] { return gate.publish(request("u1")); });
  untilWaiting(gate, 1);
  EXPECT_FALSE(fs::exists(target("u1")));
  gate.changed();  // of another pod
  untilWaiting(gate, 1);
  sayer.say({});
  gate.changed();
  EXPECT_TRUE(done.get());
  EXPECT_TRUE(fs::exists(target("u1")));
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST_F(GateTest, OnlySoManyWait) {
  Gate& gate = make(1h, 1);
  sayer.say(notYet());
  auto first = std::async(std::launch::async, [&] { return gate.publish(request("u1")); });
  untilWaiting(gate, 1);
  EXPECT_EQ(codeOf(gate.publish(request("u2"))), Code::Unavailable) << "answered at once";
  sayer.say({});
  EXPECT_TRUE(gate.publish(request("u3"))) << "one that need not wait goes on";
  gate.changed();
  EXPECT_TRUE(first.get());
}

TEST_F(GateTest, WhoeverWaitsIsReleasedAtTheEnd) {
  Gate& gate = make(1h);
  sayer.say(notYet());
  auto done = std::async(std::launch::async, [&] { return gate.publish(request("u1")); });
  untilWaiting(gate, 1);
  gate.stopping();
  EXPECT_EQ(codeOf(done.get()), Code::Unavailable);
  EXPECT_EQ(codeOf(gate.publish(request("u2"))), Code::Unavailable) << "nobody waits from now on";
  EXPECT_TRUE(gate.unpublish(unpublishOf(request("u1"))));
}

/// The worst that a gate can do is to keep pods from ending.
TEST_F(GateTest, APodEndsWhateverTheAgentKnows) {
  Gate& gate = make(1h);
  const auto asked = request("u1");
  ASSERT_TRUE(gate.publish(asked));
  sayer.say(fail(Code::Conflict, "never heard of it"));
  auto waits = std::async(std::launch::async, [&] {
    sayer.say(notYet());
    return gate.publish(request("u2"));
  });
  untilWaiting(gate, 1);
  EXPECT_TRUE(gate.unpublish(unpublishOf(asked))) << "beside calls that wait";
  EXPECT_FALSE(fs::exists(asked.target_path));
  EXPECT_TRUE(gate.unpublish({.volume_id = "csi-x", .target_path = "/elsewhere/u/mount"}));
  EXPECT_TRUE(gate.unpublish({.volume_id = "csi-x", .target_path = root() + "/gone/volumes/x/y/mount"}));
  std::ofstream{request("u3").target_path} << "no folder";
  EXPECT_TRUE(gate.unpublish(unpublishOf(request("u3"))));
  EXPECT_EQ(codeOf(gate.unpublish({.volume_id = "", .target_path = asked.target_path})), Code::Invalid);
  gate.stopping();
  static_cast<void>(waits.get());
}

TEST_F(GateTest, AFolderThatWouldKeepThePodFromEndingIsNotTaken) {
  Gate& gate = make(0s);
  const auto asked = request("u1");
  fs::create_directories(asked.target_path + "/left");
  const Status done = gate.publish(asked);
  EXPECT_EQ(codeOf(done), Code::Conflict);
  EXPECT_NE(done.error().message.find(asked.target_path), std::string::npos);
  fs::remove(asked.target_path + "/left");
  EXPECT_TRUE(gate.publish(asked));
}

TEST_F(GateTest, NoLinkIsFollowed) {
  Gate& gate = make(0s);
  const auto asked = request("u1");
  const std::string elsewhere = root() + "/elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directory_symlink(elsewhere, asked.target_path);
  EXPECT_EQ(codeOf(gate.publish(asked)), Code::Conflict);
}

TEST_F(GateTest, WhatTheKubeletDoesNotSayIsRefused) {
  Gate& gate = make(0s);
  struct Case {
    const char* name;
    void (*spoil)(rpc::PublishRequest&);
    const char* said;
  };
  const Case cases[] = {
      {"no id", [](auto& r) { r.volume_id.clear(); }, "VolumeId"},
      {"no target", [](auto& r) { r.target_path.clear(); }, "TargetPath"},
      {"no capability", [](auto& r) { r.has_capability = false; }, "VolumeCapability"},
      {"a block device", [](auto& r) { r.is_block = true; }, "block device"},
      {"a target elsewhere", [](auto& r) { r.target_path = "/etc/mount"; }, "is not below"},
      {"a way out", [](auto& r) { r.target_path += "/../../mount"; }, "not an absolute path"},
      {"no pod info", [](auto& r) { r.context.clear(); }, "gate.gpu.scheduling needs podInfoOnMount: true"},
      {"no uid", [](auto& r) { r.context.erase(kPodUidKey); }, "pod.uid is not there"},
      {"another pod's target", [](auto& r) { r.context[kPodUidKey] = "u2"; }, "no volume of the pod"},
      {"a PersistentVolume", [](auto& r) { r.context[kEphemeralKey] = "false"; }, "PersistentVolume"},
  };
  for (const Case& one : cases) {
    auto asked = request("u1");
    one.spoil(asked);
    const Status done = gate.publish(asked);
    ASSERT_FALSE(done) << one.name;
    EXPECT_EQ(done.error().code, Code::Invalid) << one.name;
    EXPECT_NE(done.error().message.find(one.said), std::string::npos)
        << one.name << ": " << done.error().message;
  }
  EXPECT_EQ(sayer.asked(), 0);
  EXPECT_FALSE(fs::exists(target("u1")));
}

TEST_F(GateTest, APodWhoseFolderWentMeanwhileIsNotStarted) {
  Gate& gate = make(0s);
  const auto asked = request("u1");
  fs::remove_all(root() + "/u1");
  EXPECT_EQ(codeOf(gate.publish(asked)), Code::Conflict) << "the kubelet makes the folder above it";
}

TEST_F(GateTest, CallsForOneVolumeGoSideBySide) {
  Gate& gate = make(1h);
  sayer.say(notYet());
  auto first = std::async(std::launch::async, [&] { return gate.publish(request("u1")); });
  auto second = std::async(std::launch::async, [&] { return gate.publish(request("u1")); });
  untilWaiting(gate, 2);
  sayer.say({});
  gate.changed();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_TRUE(fs::is_empty(target("u1")));
}

}  // namespace
}  // namespace gs::csi
