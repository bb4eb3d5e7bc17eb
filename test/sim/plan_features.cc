// The steps that each feature adds: small scenes of which the plain plays bring too few,
// among the other steps.
#include <fmt/format.h>

#include "base/random.h"
#include "json/value.h"
#include "test/sim/cluster.h"
#include "test/sim/plan.h"

namespace gs::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kFeatureSeed = 0xfea70000;
constexpr milliseconds kPlayTime{40'000};
constexpr std::uint64_t kLargeEvery = 500;  // seeds: one of them takes as long as a hundred others

/// One feature's steps of one plan.
class Scenes {
 public:
  Scenes(Plan& plan, Feature feature)
      : plan_{plan}, rng_{plan.seed ^ (kFeatureSeed + static_cast<std::uint64_t>(feature))} {}
  void caches() { addCacheSteps(plan_, rng_); }
  void oddCaches() { addOddCacheSteps(plan_, rng_); }
  [[nodiscard]] bool isDrawn(int percent) { return rng_.chance(static_cast<unsigned>(percent)); }

  void renumber() {
    for (int scenes = 2 + below(4); scenes > 0; --scenes) {
      const milliseconds at = any(kPlayTime);
      pods(at - milliseconds{6'000}, milliseconds{5'000}, 3);
      const int node = below(kNodes);
      for (int i = 1 + below(2); i > 0; --i) {
        add(at + any(milliseconds{1'500}), Op::Renumber, node, below(5), below(4));
      }
      for (int i = below(3); i > 0; --i) { add(at + any(milliseconds{4'000}), Op::EndPod, below(kSlots)); }
      pods(at + milliseconds{500}, milliseconds{30'000}, 5);
    }
  }

  /// They come to a node just before pods that are given GPUs by their ids: the next look of its agent says
  /// which they have.
  void unnamed() {
    const milliseconds at = milliseconds{7'000} + any(milliseconds{6'000});
    const int node = below(kNodes);
    const int slot = below(kSlots);
    for (int i = 0; i < 2; ++i) {
      add(at + any(milliseconds{400}), Op::ComesBound, (slot + i) % kSlots, node, 1 + below(2));
    }
    for (int i = 2; i < 8; ++i) {
      add(at + milliseconds{2'500} + any(milliseconds{3'000}), Op::AddPod, (slot + i) % kSlots, 0);
    }
  }

  /// Nobody sees that they start: their agent is down. What they have is counted, and goes on when they are
  /// deleted by force.
  void foreign() {
    for (int scenes = 1 + below(2); scenes > 0; --scenes) {
      const milliseconds at = any(milliseconds{25'000});
      const int node = below(kNodes);
      add(at, Op::AgentDown, node, 1);
      const int slot = below(kSlots);
      const milliseconds dies = at + milliseconds{22'000} + any(milliseconds{4'000});
      for (int i = 0; i < 3; ++i) {
        add(at + milliseconds{500} + any(milliseconds{900}), Op::ComesBound, (slot + i) % kSlots, node,
            1 + below(2));
        if (i < 2) { add(dies, Op::KillPod, (slot + i) % kSlots); }
      }
      pods(dies, milliseconds{6'000}, 8, (slot + 3) % kSlots, 10);
      add(dies + milliseconds{8'000} + any(milliseconds{20'000}), Op::AgentDown, node, 0);
    }
  }

  void sidecars() {
    for (int scenes = 1 + below(2); scenes > 0; --scenes) {
      const milliseconds at = any(milliseconds{30'000});
      for (int node = 0; node < kNodes; ++node) {
        if (rng_.chance(70)) { add(at, Op::AgentDown, node, 1); }
      }
      const int slot = below(kSlots);
      for (int i = 0; i < 4; ++i) {
        const int which = (slot + i) % kSlots;
        const milliseconds comes = at + milliseconds{300} + any(milliseconds{800});
        add(comes - milliseconds{200}, Op::KillPod, which);
        add(comes, Op::AddPod, which, 11);
        add(comes + milliseconds{2'500}, Op::EndPod, which);
        add(comes + milliseconds{3'500} + any(milliseconds{4'000}),
            rng_.chance(80) ? Op::KillPod : Op::DeletePod, which);
      }
      pods(at + milliseconds{6'000}, milliseconds{6'000}, 8, (slot + 4) % kSlots, 10);
      const milliseconds up = at + milliseconds{14'000} + any(milliseconds{20'000});
      for (int node = 0; node < kNodes; ++node) { add(up, Op::AgentDown, node, 0); }
    }
  }

  void stuck() {
    const milliseconds at = any(milliseconds{15'000});
    const int what = below(5);
    const int lasts = 30 + below(40);
    add(at, Op::Stick, what, lasts, below(3));
    add(at + milliseconds{1'000} * lasts, Op::Stick, what);  // the play goes on until then
    for (int i = 0; i < 7; ++i) {                            // of namespace b
      add(at + any(milliseconds{3'000}), Op::AddPod, 2 * i + 1, rng_.chance(50) ? 0 : below(9));
    }
    for (int i = 0; i < 6; ++i) {  // of a
      const int slot = 2 * below(kSlots / 2);
      const milliseconds comes = at + milliseconds{3'000} + any(milliseconds{25'000});
      add(comes - milliseconds{3'000}, Op::DeletePod, slot);
      add(comes, Op::AddPod, slot, rng_.chance(70) ? 0 : 10);
    }
  }

  /// Pods of both namespaces ask for shares, and those of namespace a have room.
  void sharesWhileStuck() {
    const auto stuck = std::find_if(plan_.steps.begin(), plan_.steps.end(),
                                    [](const Step& s) { return s.op == Op::Stick && s.x <= 2 && s.y > 0; });
    if (stuck == plan_.steps.end()) { return calmOutageOfShares(); }
    const auto at = std::chrono::duration_cast<milliseconds>(stuck->at);
    sticksLonger(milliseconds{30'000});
    removeShares(at);
    for (int slot = 1; slot < kShareSlots; slot += 2) {
      add(at + milliseconds{500} + any(milliseconds{3'000}), Op::ShareComes, slot, below(8));
    }
    for (int i = 0; i < 4; ++i) {
      const milliseconds comes = at + milliseconds{2'000} + any(milliseconds{25'000});
      add(comes, Op::ShareComes, 2 * below(kShareSlots / 2), below(4));
    }
  }

  /// Once nothing else happens any more: pods of namespace b that would fill all nodes come before anybody
  /// can know that none of them can be written, and then those of namespace a.
  void calmOutageOfShares() {
    milliseconds at = kPlayTime;
    for (const Step& s : plan_.steps) {
      at = std::max(at, std::chrono::duration_cast<milliseconds>(s.at) + milliseconds{12'000});
    }
    for (int i = 0; i < kReplicas + plan_.extenders; ++i) { add(at - milliseconds{6'000}, Op::Start, i); }
    removeShares(at - milliseconds{2'000});
    constexpr int kStatusesOfB = 2;
    add(at, Op::Stick, kStatusesOfB, 70, below(3));
    add(at + milliseconds{70'000}, Op::Stick, kStatusesOfB);
    for (int slot = 1; slot < kShareSlots; slot += 2) {
      add(at + milliseconds{100} + any(milliseconds{400}), Op::ShareComes, slot, rng_.chance(50) ? 5 : 7);
    }
    for (int slot = 0; slot < kShareSlots; slot += 2) {
      add(at + milliseconds{8'000} + any(milliseconds{12'000}), Op::ShareComes, slot, below(4));
    }
  }

  void forbidden() {
    const milliseconds at = any(milliseconds{25'000});
    pods(at - milliseconds{8'000}, milliseconds{6'000}, 5);
    add(at, Op::Stick, 5 + below(2), 20 + below(40), 1);
    for (int i = 2 + below(6); i > 0; --i) { add(at + any(milliseconds{4'000}), Op::DropLease, below(10)); }
    pods(at, milliseconds{10'000}, 4);
  }

  void leaseEdits() {
    for (int i = 2 + below(6); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      pods(at - milliseconds{4'000}, milliseconds{3'000}, 2);
      add(at, Op::EditLease, below(10), below(6));
    }
  }

  void podEdits() {
    for (int i = 3 + below(8); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      const int slot = below(kSlots);
      add(at - milliseconds{rng_.chance(50) ? 3'000 : 4}, Op::AddPod, slot, below(6));
      add(at + any(milliseconds{30}), Op::EditPod, slot, below(7));
      if (rng_.chance(50)) { continue; }
      // What else speaks of its GPUs goes too, and others want them.
      const milliseconds later = at + milliseconds{1'000} + any(milliseconds{8'000});
      for (int k = below(3); k > 0; --k) { add(later, Op::DropLease, below(10)); }
      if (rng_.chance(50)) { add(later + any(milliseconds{2'000}), Op::KillPod, slot); }
      pods(later, milliseconds{4'000}, 4);
    }
    pods(milliseconds{20'000}, milliseconds{25'000}, 6);
  }

  void forged() {
    for (int i = 1 + below(4); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      const int slot = kFirstForged + below(4);
      add(at, Op::Forge, slot, below(kNodes), below(8));
      if (rng_.chance(60)) {
        add(at + any(milliseconds{20'000}), rng_.chance(50) ? Op::KillPod : Op::DeletePod, slot);
      }
    }
    pods(milliseconds{5'000}, milliseconds{35'000}, 6);
  }

  void unmanaged() {
    for (int i = 1 + below(3); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      const int node = below(kNodes);
      const int gpu = below(3);
      add(at, Op::OwnLease, node, gpu);
      if (rng_.chance(50)) { add(at + any(milliseconds{20'000}), Op::OwnLease, node, gpu, 1); }
      pods(at, milliseconds{8'000}, 5);
    }
  }

  void another() {
    const milliseconds at = any(milliseconds{25'000});
    pods(at - milliseconds{6'000}, milliseconds{5'000}, 4);
    add(at, Op::Another, 0, 1);
    for (int i = 0; i < 2; ++i) {
      add(at + milliseconds{1'000} + any(milliseconds{10'000}), rng_.chance(70) ? Op::Crash : Op::Stop, i);
    }
    for (int i = 0; i < 2; ++i) { add(at + milliseconds{14'000} + any(milliseconds{9'000}), Op::Start, i); }
    if (rng_.chance(50)) { add(at + milliseconds{12'000} + any(milliseconds{12'000}), Op::Another, 0, 0); }
  }

  void restore() {
    const milliseconds at = any(milliseconds{20'000});
    pods(milliseconds{500}, milliseconds{6'000}, 4);
    add(at, Op::Save);
    pods(at + milliseconds{100}, milliseconds{8'000}, 4);
    add(at + milliseconds{1'000} + any(milliseconds{9'000}), Op::Restore);
    pods(at + milliseconds{10'000}, milliseconds{8'000}, 3);
  }

  void resources() {
    for (int i = 8 + below(8); i > 0; --i) { add(any(kPlayTime), Op::AddPod, below(kSlots), 12 + below(3)); }
    for (int i = 1 + below(4); i > 0; --i) {
      add(any(kPlayTime), Op::Taint, below(kNodes), rng_.chance(60) ? 1 : 0);
    }
    for (int i = 4 + below(6); i > 0; --i) { add(any(kPlayTime), Op::AddPod, below(kSlots), 15 + below(2)); }
  }

  void enforcer() {
    for (int i = 1 + below(3); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      pods(at - milliseconds{5'000}, milliseconds{4'000}, 3);
      add(at - milliseconds{200} + any(milliseconds{400}), Op::KillPod, below(kSlots));
      const int node = below(kNodes);
      add(at, Op::Enforce, node, 1 + below(3));
      pods(at, milliseconds{3'000}, 3);
      const bool stays = rng_.chance(50);
      const milliseconds known = at + milliseconds{stays ? 21'000 : 0};  // to everybody
      if (stays) { pods(known, milliseconds{3'000}, 3); }
      add(known + any(milliseconds{15'000}), Op::Enforce, node, 0);
    }
  }

  void clock() {
    for (int i = 1 + below(4); i > 0; --i) {
      add(any(kPlayTime), Op::WallJumps, 0, (1 + below(3'000)) * (rng_.chance(50) ? 1 : -1));
    }
  }

  /// More pods at once than may be under way (24 of each of two namespaces), and more than a sweep looks at
  /// in one step.
  void large() {
    const milliseconds at{2'000};
    for (int i = 0; i < 320; ++i) {
      add(at + any(milliseconds{1'500}), Op::AddPod, kFirstLarge + i,
          rng_.chance(60)   ? 0
          : rng_.chance(50) ? 2
                            : 7);
    }
    for (int i = 0; i < 800; ++i) { add(any(milliseconds{9'000}), Op::AddPod, kFirstLarge + 400 + i, 10); }
    for (int i = 0; i < 150; ++i) {
      add(milliseconds{6'000} + any(milliseconds{20'000}), Op::KillPod, kFirstLarge + below(320));
    }
    for (int i = 0; i < 60; ++i) {
      add(milliseconds{8'000} + any(milliseconds{25'000}), Op::DropLease, below(200));
    }
    for (int i = 0; i < 200; ++i) {
      add(milliseconds{12'000} + any(milliseconds{20'000}), Op::AddPod, kFirstLarge + 2'000 + i, 0);
    }
    for (int i = 0; i < 4; ++i) { add(at + any(milliseconds{30'000}), Op::Crash, i % kReplicas); }
    for (int i = 0; i < 4; ++i) { add(at + any(milliseconds{30'000}), Op::Start, i % kReplicas); }
  }

  /// Their containers run though nobody ever said so, on nodes whose agent is down or not.
  void unstarted() {
    constexpr int kFlavours[] = {0, 0, 2, 4, 7};
    for (int scenes = 1 + below(2); scenes > 0; --scenes) {
      const milliseconds at = any(milliseconds{30'000});
      for (int node = 0; node < kNodes; ++node) {
        if (rng_.chance(60)) { add(at, Op::AgentDown, node, 1); }
      }
      const int slot = below(kSlots);
      for (int i = 0; i < 4; ++i) {
        const int which = (slot + i) % kSlots;
        const milliseconds comes = at + milliseconds{300} + any(milliseconds{2'000});
        add(comes - milliseconds{200}, Op::KillPod, which);
        add(comes - milliseconds{100}, Op::FailUnstarted, which, below(2), below(12));
        add(comes, Op::AddPod, which, kFlavours[below(5)]);
      }
      pods(at + milliseconds{3'000}, milliseconds{15'000}, 9, (slot + 4) % kSlots, 10);
      const milliseconds up = at + milliseconds{8'000} + any(milliseconds{20'000});
      for (int node = 0; node < kNodes; ++node) { add(up, Op::AgentDown, node, 0); }
    }
  }

  void quotas() {
    add(any(milliseconds{3'000}), Op::Limit, below(2), below(4) - 1, below(8) - 1);
    for (int i = 2 + below(6); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      add(at, Op::Limit, below(2), below(4) - 1, below(9) - 1);
      pods(at - milliseconds{2'000}, milliseconds{4'000}, 6);
      for (int k = below(4); k > 0; --k) { add(at + any(milliseconds{6'000}), Op::EndPod, below(kSlots)); }
    }
  }

  /// No extender is alone: what happens to those happens to the schedulers.
  /// No clock stands still (kShareWeights).
  void combined() {
    if (plan_.extenders == 0) { shares(kReplicas); }
    plan_.extenders = 0;
    for (Step& s : plan_.steps) {
      if (s.op == Op::Stall) { s.op = Op::Freeze; }
      const bool of_replica =
          (s.op >= Op::Crash && s.op <= Op::Freeze) || s.op == Op::Break || s.op == Op::LastWord;
      if (of_replica) { s.x %= kReplicas; }
    }
  }

  /// Some have all nodes for themselves when they come, and three members often fill those.
  void gangs() {
    if (!plan_.hasShares()) {
      plan_.extenders = 1 + below(2);
      if (rng_.chance(50)) { shares(plan_.extenders); }
    }
    for (int scenes = 2 + below(4); scenes > 0; --scenes) {
      const milliseconds at = milliseconds{3'000} + any(kPlayTime);
      const int gang = below(kGangs);
      if (rng_.chance(60)) { removeShares(at - milliseconds{1'500}); }
      for (int i = rng_.chance(30) ? 1 + below(3) : 0; i > 0; --i) {
        add(at - milliseconds{1'000} + any(milliseconds{2'000}), Op::ShareComes, below(kShareSlots),
            below(8));
      }
      add(at, Op::GangComes, gang, below(6), rng_.chance(50) ? 3 : 2 + below(kMostMembers - 1));
      if (rng_.chance(30)) {
        add(at + any(milliseconds{2'000}), Op::GangGoes, gang, below(2), 1 + below(kMostMembers));
      }
      if (rng_.chance(40)) { interruptExtender(at + any(milliseconds{1'500})); }
      if (rng_.chance(60)) {
        const milliseconds over = at + milliseconds{1'000} + any(milliseconds{20'000});
        add(over, rng_.chance(50) ? Op::GangEnds : Op::GangGoes, gang, below(2));
      }
    }
  }

  /// Among others of their schedulers, some of them bound whatever was answered.
  void oddShares() {
    if (!plan_.hasShares()) {
      plan_.extenders = 1 + below(2);
      shares(plan_.extenders);
    }
    for (int i = 3 + below(6); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      const int slot = below(kShareSlots);
      add(at - milliseconds{200}, Op::ShareGoes, slot, 1);
      add(at, Op::OddShareComes, slot, below(8));
      add(at + any(milliseconds{2'000}), Op::ShareComes, below(kShareSlots), below(8));
      if (rng_.chance(50)) { add(at + any(milliseconds{1'500}), Op::ShareAsked, slot, 1 + below(3)); }
      if (rng_.chance(20)) { add(at + any(milliseconds{4'000}), Op::ShareElsewhere, slot, below(2)); }
    }
  }

  void latePatches() {
    for (int i = 1 + below(3); i > 0; --i) {
      const milliseconds at = any(kPlayTime);
      add(at, Op::PatchesLate, 0, 1 + below(5), 8 + below(20));
      for (int k = 2 + below(4); k > 0; --k) {
        add(at - milliseconds{500} + any(milliseconds{4'000}), Op::ShareComes, below(kShareSlots), below(8));
      }
    }
  }

  /// Pods come and go while nodes' agents are hindered.
  void agents() {
    for (int scenes = 2 + below(3); scenes > 0; --scenes) {
      const milliseconds at = any(kPlayTime);
      const int node = below(kNodes);
      pods(at - milliseconds{3'000}, milliseconds{8'000}, 5);
      if (rng_.chance(70)) { add(at, Op::AgentFaults, 0, 3 + below(12), 100 + below(600)); }
      if (rng_.chance(40)) { add(at, Op::AgentSlow, 0, 3 + below(12), 500 + below(8'000)); }
      for (int i = below(3); i > 0; --i) { add(at + any(milliseconds{6'000}), Op::AgentDies, below(kNodes)); }
      if (rng_.chance(40)) { add(at + any(milliseconds{4'000}), Op::Plug, node, below(5)); }
      if (rng_.chance(40)) { add(at + any(milliseconds{4'000}), Op::DriverFails, node, 2 + below(20)); }
      if (rng_.chance(40)) { add(at + any(milliseconds{4'000}), Op::RuntimeSilent, node, 2 + below(20)); }
      for (int i = 1 + below(4); i > 0; --i) {
        constexpr Op kEnds[] = {Op::EndPod, Op::DeletePod, Op::KillPod, Op::KillPod};
        add(at + any(milliseconds{8'000}), kEnds[below(4)], below(kSlots));
      }
      pods(at + milliseconds{2'000}, milliseconds{12'000}, 4);
    }
  }

  /// Pods come after a GPU was lost, and after another agent began. Some GPUs are well again at the end.
  void lost() {
    for (int scenes = 2 + below(2); scenes > 0; --scenes) {
      const milliseconds at = any(kPlayTime);
      const int node = below(kNodes);
      const int gpu = below(4);
      pods(at - milliseconds{6'000}, milliseconds{5'000}, 3);
      add(at, Op::Lose, node, gpu, below(5));
      if (rng_.chance(40)) { add(at + any(milliseconds{20'000}), Op::Lose, node, gpu, below(5)); }
      for (int i = below(3); i > 0; --i) { add(at + any(milliseconds{20'000}), Op::AgentDies, node); }
      for (int i = below(4); i > 0; --i) { add(at + any(milliseconds{30'000}), Op::EndPod, below(kSlots)); }
      pods(at + milliseconds{500}, milliseconds{75'000}, 10);
      if (rng_.chance(60)) {
        add(at + milliseconds{30'000} + any(milliseconds{20'000}), Op::Lose, node, gpu, 5);
      }
    }
  }

  /// More pods that ask by number than the rest has.
  void unenforced() {
    for (int i = 4 + below(8); i > 0; --i) { add(any(kPlayTime), Op::AddPod, below(kSlots), 7 + below(2)); }
  }

  /// Pods of its (KubeSide::takes) come in bursts; a replica or itself goes at a bad moment.
  void kubeScheduler() {
    for (int scenes = 3 + below(4); scenes > 0; --scenes) {
      const milliseconds at = any(kPlayTime);
      for (int i = 2 + below(5); i > 0; --i) {
        constexpr int kFlavours[] = {0, 0, 2, 4, 7, 8, 0, 5, 10};
        add(at + any(milliseconds{400}), Op::AddPod, 2 + 4 * below(4) + below(2), kFlavours[below(9)]);
      }
      if (rng_.chance(40)) { add(at + any(milliseconds{700}), Op::KubeRestart); }
      if (rng_.chance(40)) {
        const int replica = below(kReplicas);
        add(at + any(milliseconds{700}), Op::LastWord, replica, below(10), below(8));
        add(at + milliseconds{3'000} + any(milliseconds{4'000}), Op::Start, replica);
      }
      for (int i = below(3); i > 0; --i) { add(at + any(milliseconds{6'000}), Op::EndPod, below(kSlots)); }
    }
    if (rng_.chance(40)) { kubeHangs(); }
  }

  /// Volumes of namespace b are never bound, or writes fail, for so long that everybody else is to be placed.
  void kubeHangs() {
    const milliseconds at = milliseconds{2'000} + any(milliseconds{12'000});
    const int lasts = 110 + below(30);
    add(at, Op::KubeCalms);
    if (plan_.has(Feature::Stuck)) {
      sticksLonger(milliseconds{80'000});
    } else if (rng_.chance(40) && !plan_.has(Feature::Forbidden)) {
      add(at, Op::Stick, 4, lasts, below(2));
      add(at + milliseconds{1'000} * lasts, Op::Stick, 4);
    } else {
      add(at, Op::KubeHangs, 1, lasts);
      add(at + milliseconds{1'000} * lasts, Op::KubeHangs, 1);
    }
    for (int slot = 2; slot < kSlots; slot += 4) {  // those that it takes
      add(at + any(milliseconds{3'000}), Op::AddPod, slot + 1, rng_.chance(60) ? 2 : 0);
      const milliseconds comes = milliseconds{45'000} + any(milliseconds{15'000});
      if (rng_.chance(50)) { add(comes - milliseconds{1'000}, Op::KillPod, slot); }
      add(comes, Op::AddPod, slot, rng_.chance(70) ? 0 : 2);
    }
    for (int i = 0; i < 6; ++i) {
      const int slot = 4 * below(kSlots / 4);
      const milliseconds comes = milliseconds{45'000} + any(milliseconds{40'000});
      add(comes - milliseconds{3'000}, Op::KillPod, slot);
      add(comes, Op::AddPod, slot, rng_.chance(70) ? 0 : 2);
    }
  }

  /// Pods with maps among others that want the same GPUs, while nodes take names from each other, and GPUs
  /// go.
  void maps() {
    for (int scenes = 3 + below(4); scenes > 0; --scenes) {
      const milliseconds at = any(kPlayTime);
      if (rng_.chance(70)) { add(at - any(milliseconds{3'000}), Op::NameNode, below(kNodes), below(6)); }
      if (rng_.chance(40)) { pods(at - milliseconds{2'000}, milliseconds{3'000}, 1 + below(4)); }
      for (int i = 2 + below(6); i > 0; --i) {
        const milliseconds comes = at + any(milliseconds{2'500});
        const int slot = kFirstMapped + below(kMappedSlots);
        if (rng_.chance(30)) { add(comes - milliseconds{50}, Op::KillPod, slot); }
        const int which = rng_.chance(85) ? below(7) : 7 + below(11);
        add(comes, Op::MapPod, slot, rng_.chance(75) ? below(3) : 3 + below(4), which);
        if (rng_.chance(40)) {
          constexpr Op kEnds[] = {Op::EndPod, Op::EndPod, Op::DeletePod, Op::KillPod};
          add(comes + milliseconds{200} + any(milliseconds{12'000}), kEnds[below(4)], slot);
        }
      }
      mapTrouble(at);
    }
  }

 private:
  void sticksLonger(milliseconds by) {
    for (Step& s : plan_.steps) {
      if (s.op != Op::Stick || s.x > 4) { continue; }
      if (s.y > 0) { s.y += static_cast<int>(by / milliseconds{1'000}); }
      if (s.y == 0) { s.at += by; }
    }
  }
  void mapTrouble(milliseconds at) {
    if (rng_.chance(50)) { add(at + any(milliseconds{6'000}), Op::NameNode, below(kNodes), below(6)); }
    if (rng_.chance(30)) { add(at + any(milliseconds{5'000}), Op::Resize, below(kNodes), 1 + below(4)); }
    if (rng_.chance(30)) {
      add(at + any(milliseconds{5'000}), Op::GpuHealth, below(kNodes), below(4), below(3));
    }
    if (rng_.chance(20)) { add(at + milliseconds{800} + any(milliseconds{4'000}), Op::DropLease, below(10)); }
    if (rng_.chance(40)) {
      const int replica = below(kReplicas);
      add(at + any(milliseconds{2'000}), Op::LastWord, replica, below(10), below(8));
      add(at + milliseconds{4'000} + any(milliseconds{4'000}), Op::Start, replica);
    }
    if (rng_.chance(30)) { pods(at + milliseconds{1'000}, milliseconds{4'000}, 3); }
  }
  int below(int n) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(n))); }
  milliseconds any(milliseconds limit) { return milliseconds{below(static_cast<int>(limit.count()))}; }
  void add(milliseconds at, Op op, int x = 0, int y = 0, int z = 0) {
    plan_.steps.push_back({std::max(at, milliseconds{0}), op, x, y, z});
  }
  /// Pods of other schedulers that ask for shares, whom so many extenders answer, and what happens to them.
  void shares(int extenders) {
    std::vector<milliseconds> hot(static_cast<std::size_t>(below(4)));
    for (auto& moment : hot) { moment = any(milliseconds{37'000}); }
    addShareSteps(plan_, rng_, hot, extenders);
  }
  void removeShares(milliseconds at) {
    for (int slot = 0; slot < kShareSlots; ++slot) { add(at, Op::ShareGoes, slot, 1); }
    for (int gang = 0; gang < kGangs; ++gang) { add(at, Op::GangGoes, gang, 1); }
  }
  void interruptExtender(milliseconds at) {
    const int replica = plan_.extenders > 0 ? kReplicas + below(plan_.extenders) : below(kReplicas);
    constexpr Op kHow[] = {Op::Crash, Op::Stop, Op::Freeze, Op::LastWord};
    const Op how = kHow[below(4)];
    add(at, how, replica, how == Op::LastWord ? 4 : 1 + below(9), below(12));
    add(at + milliseconds{1'000} + any(milliseconds{5'000}), Op::Start, replica);
  }
  /// So many pods come within that time, in slots from `first` on.
  void pods(milliseconds from, milliseconds within, int count, int first = 0, int slots = kSlots) {
    constexpr int kFlavours[] = {0, 0, 2, 4, 7, 8, 0, 5};
    for (int i = 0; i < count; ++i) {
      add(from + any(within), Op::AddPod, (first + below(slots)) % kSlots, kFlavours[below(8)]);
    }
  }

  Plan& plan_;
  Rng rng_;
};

void addScenes(Scenes& scenes, Feature feature) {
  switch (feature) {
    case Feature::Renumber: return scenes.renumber();
    case Feature::Foreign: return scenes.unnamed(), scenes.foreign();
    case Feature::Sidecars: return scenes.sidecars();
    case Feature::Stuck: return scenes.stuck();
    case Feature::Forbidden: return scenes.forbidden();
    case Feature::LeaseEdits: return scenes.leaseEdits();
    case Feature::PodEdits: return scenes.podEdits();
    case Feature::Forged: return scenes.forged();
    case Feature::Unmanaged: return scenes.unmanaged();
    case Feature::Another: return scenes.another();
    case Feature::Agents: return scenes.agents();
    case Feature::Restore: return scenes.restore();
    case Feature::Resources: return scenes.resources();
    case Feature::Enforcer: return scenes.enforcer();
    case Feature::Clock: return scenes.clock();
    case Feature::LatePatches: return scenes.latePatches();
    case Feature::Large: return scenes.large();
    case Feature::Combined: return scenes.combined();
    case Feature::Unstarted: return scenes.unstarted();
    case Feature::Quotas: return scenes.quotas();
    case Feature::Unenforced: return scenes.unenforced();
    case Feature::KubeScheduler: return scenes.kubeScheduler();
    case Feature::Gangs: return scenes.gangs();
    case Feature::Maps: return scenes.maps();
    case Feature::Caches: return scenes.caches();
    case Feature::OddShares: return scenes.oddShares();
    case Feature::Lost: return scenes.lost();
    case Feature::OddCaches: return scenes.oddCaches();
    case Feature::Rates:
    case Feature::Standby:
    case Feature::Unknown:
    case Feature::LateStatuses:
    case Feature::Ends:
    case Feature::Webhook:
    case Feature::Uuids: return;
  }
}

}  // namespace

void addFeatures(Plan& plan, const Features& allowed, const Features& forced) {
  for (const Feature feature : allFeatures()) {
    Scenes scenes{plan, feature};
    const bool is_large = feature == Feature::Large && plan.seed % kLargeEvery == 0;
    const bool drawn = scenes.isDrawn(percentOf(feature)) || is_large;
    // Nodes of gpu-manager have no model: no share would be placed.
    const bool possible =
        (feature != Feature::LatePatches || plan.extenders > 0) &&
        (feature != Feature::Quotas || !plan.has(Feature::Combined)) &&
        (feature != Feature::KubeScheduler || plan.extenders == 0) &&
        // Of a cache that the server has forgotten nobody can say whether pods have it mounted.
        (feature != Feature::Caches || (!plan.has(Feature::Restore) && !plan.has(Feature::Large))) &&
        (feature != Feature::LateStatuses || plan.has(Feature::Agents)) &&
        (feature != Feature::OddCaches || plan.has(Feature::Caches)) &&
        ((feature != Feature::Gangs && feature != Feature::OddShares) || plan.hasShares() ||
         !plan.has(Feature::KubeScheduler));
    if (!possible || !(forced.contains(feature) || (allowed.contains(feature) && drawn))) { continue; }
    plan.features.insert(feature);
    addScenes(scenes, feature);
  }
  if (plan.has(Feature::Stuck) && plan.hasShares()) { Scenes{plan, Feature::Stuck}.sharesWhileStuck(); }
}

}  // namespace gs::sim
