// Random sequences of what kubelets, agents, machines and crashes do, against the laws of node_service.h.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "base/log.h"
#include "base/random.h"
#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

/// Two pods with two volumes each, one of them read-only.
class Play {
 public:
  explicit Play(std::uint64_t seed) : rng_{seed} {
    machine_.extract(kVectors, "i0");
    for (const char* uid : {"u0", "u1"}) {
      for (const char* volume : {"a", "b"}) {
        asked_.push_back(machine_.request(uid, volume, *volume == 'b'));
      }
    }
    machine_.disk_fault = [this](std::string_view) { return fault() ? EIO : 0; };
    machine_.mounts.fault = [this](const char* call, bool) -> Status {
      return fault() ? fail(Code::Unavailable, call) : Status{};
    };
    static_cast<void>(machine_.begin().start());
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check(i);
    }
    settle();
  }

 private:
  /// What happens to a call while it is under way: nothing, an error at one place, or the end of the process.
  bool fault() {
    if (trouble_at_ < 0 || trouble_at_-- > 0) { return false; }
    if (is_crash_) { throw Crash{}; }
    return true;
  }
  template <class Call>
  void called(const Call& call) {
    const bool has_trouble = rng_.below(2) == 0;
    trouble_at_ = has_trouble ? static_cast<int>(rng_.below(16)) : -1;
    is_crash_ = rng_.below(2) == 0;
    try {
      call();
    } catch (const Crash&) {
      trouble_at_ = -1;
      restart();
    }
    trouble_at_ = -1;
  }
  void restart() {
    // What starts may end again.
    for (bool started = false; !started;) {
      trouble_at_ = rng_.below(3) == 0 ? static_cast<int>(rng_.below(8)) : -1;
      is_crash_ = true;
      try {
        started = machine_.begin().start().has_value();
      } catch (const Crash&) { started = false; }
    }
    trouble_at_ = -1;
  }

  const rpc::PublishRequest& any() { return asked_[rng_.below(asked_.size())]; }
  void step() {
    switch (rng_.below(9)) {
      case 0:
      case 1:
      case 2: publish(any()); break;
      case 3:
      case 4: unpublish(any()); break;
      case 5: sweep(); break;
      case 6: surprise(); break;
      case 7: emptyRun(); break;
      default: restart(); break;
    }
  }
  void publish(const rpc::PublishRequest& request) {
    const bool was_mounted = machine_.mounts.top(request.target_path) != nullptr;
    called([&] {
      const Status done = machine_.service().publish(request);
      if (!done) { return; }
      auto* mount = machine_.mounts.top(request.target_path);
      ASSERT_NE(mount, nullptr) << "it said that it is mounted";
      EXPECT_TRUE(was_mounted || mount->written.empty()) << "a new one has what another pod wrote";
      EXPECT_EQ(mount->shown.is_read_only, request.read_only);
      if (!request.read_only) { mount->written.insert(request.volume_id); }
    });
  }
  void unpublish(const rpc::PublishRequest& request) {
    called([&] {
      if (!machine_.service().unpublish(NodeMachine::unpublishOf(request))) { return; }
      EXPECT_EQ(machine_.mounts.count(request.target_path), 0U);
      EXPECT_FALSE(machine_.mounts.folders.contains(request.target_path));
    });
  }
  /// The agent: another image for new pods, and trees that nobody uses go.
  void sweep() {
    const auto usage = *cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false});
    const auto lock = usage.lock(cacherim::Usage::Hold::Alone, Duration{});
    ASSERT_TRUE(lock);
    const auto uses = usage.all();
    ASSERT_TRUE(uses) << uses.error().message;
    const bool is_complete = *usage.isComplete();
    const std::string image = "i" + std::to_string(++images_);
    machine_.extract(kVectors, image);
    trees_.insert(imageNamed(image));
    std::erase_if(trees_, [&](const kcache::Digest& tree) {
      const bool is_used =
          !is_complete || tree == imageNamed(image) ||
          std::any_of(uses->begin(), uses->end(), [&](const auto& use) { return use.image == tree; });
      if (!is_used) { std::filesystem::remove_all(cacherim::treeRootBelow(machine_.store(), tree) + "/.."); }
      return !is_used;
    });
  }
  /// Under the running driver, which nobody starts anew.
  void emptyRun() {
    std::filesystem::remove_all(machine_.usage());
    if (rng_.below(2) == 0) { return; }
    EXPECT_TRUE(machine_.service().keepComplete());
    EXPECT_TRUE(isComplete()) << "the agent may sweep again";
  }
  [[nodiscard]] bool isComplete() const {
    return *cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false})->isComplete();
  }
  void surprise() {
    switch (rng_.below(3)) {
      case 0: machine_.mounts.mounts.clear(); break;                 // a reboot,
      case 1: std::filesystem::remove_all(machine_.usage()); break;  // and /run emptied under running pods:
      default: machine_.mounts.foreign("/pods/other/mount"); return;
    }
    std::filesystem::remove_all(machine_.usage());
    restart();
  }

  /// Whatever has happened: what is mounted has its tree, and its use where it is said that all have.
  void check(int step) {
    const bool is_complete = isComplete();
    const auto uses = *cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false})->all();
    for (const auto& mount : machine_.mounts.mounts) {
      if (!mount.shown.is_ours) { continue; }
      EXPECT_TRUE(std::filesystem::exists(mount.tree))
          << "step " << step << ": no tree below " << mount.shown.target;
      EXPECT_LE(machine_.mounts.count(mount.shown.target), 1U) << "step " << step;
      const bool has_use = std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
        return use.target == mount.shown.target && use.image == *mount.shown.image;
      });
      EXPECT_TRUE(has_use || !is_complete) << "step " << step << ": no use of " << mount.shown.target;
    }
  }
  /// The kubelet takes every pod away, however often it must ask.
  void settle() {
    for (const auto& request : asked_) {
      int tries = 0;
      while (!machine_.service().unpublish(NodeMachine::unpublishOf(request)) && ++tries < 10) {}
      EXPECT_LT(tries, 10) << request.target_path;
    }
    for (const char* uid : {"u0", "u1"}) { machine_.mounts.removePod(uid); }
    EXPECT_TRUE(machine_.begin().start());
    EXPECT_TRUE(isComplete());
    EXPECT_EQ(machine_.service().uses(), std::vector<cacherim::VolumeUse>{});
    for (const auto& mount : machine_.mounts.mounts) {
      EXPECT_FALSE(mount.shown.is_ours) << mount.shown.target;
    }
  }

  NodeMachine machine_;
  Rng rng_;
  std::vector<rpc::PublishRequest> asked_;
  std::set<kcache::Digest> trees_{imageNamed("i0")};
  int images_ = 0;
  int trouble_at_ = -1;
  bool is_crash_ = false;
};

TEST(NodeProperty, WhatIsMountedHasItsTreeAndUseAndNothingIsLeft) {
  log::setLevel(log::Level::Error);
  for (std::uint64_t seed = 1; seed <= 80 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play{seed}.run(40);
  }
  log::setLevel(log::Level::Info);
}

}  // namespace
}  // namespace gs::csi
