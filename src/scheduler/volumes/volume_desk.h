// What the volumes of pods need before their Bindings may be sent, as kube-scheduler's VolumeBinding does it
// before it binds (docs/inside/decisions/0013-volumes.md). A pure machine, as AllocationDesk is for
// ResourceClaims.
//
// choose() is part of the decision: which volume each claim of the pod gets on the node, or that it is made
// there. From then on until forget() nobody else is given these (sched::Volumes::assume). bind() has that
// written, one object after the other, and then waits for those who bind and make volumes
// (kube-controller-manager, and the provisioner of the class). volume_step.h says what is done next. It tells
//   Waits    everything is written, and somebody else is waited for
//   Bound    every claim of the pod is bound to a volume that its node reaches
//   Refused  the API server does not take a write; the text names the right that is missing
//   Lost     it comes to nothing: a volume went to somebody else, cannot be reached, or could not be made,
//            or it takes too long (kWriteAtMost for a write, kWaitAtMost from the last one on)
// and after the last three nothing more is done for the pod until bind() is called again. What was written
// stays, as with kube-scheduler: a claim that was told a node has its volume made there, and its pod is kept
// to that node. Each write names the version that it changes, so that one which lands late changes nothing
// that others changed; what failed waits longer each time (R59), and never is one repeated at once. One
// thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "engine/engine.h"
#include "kapi/call.h"
#include "scheduler/volumes/volume_step.h"

namespace gs::scheduler {

struct VolumeNotice {
  enum class What : std::uint8_t { Waits, Bound, Refused, Lost };
  What what{};
  model::Uid uid;
  Duration took{};         // Bound: since bind()
  std::string why{};       // Refused, Lost
  bool elsewhere = false;  // Lost: another node may do
};

class VolumeDesk : public controller::Part {
 public:
  static constexpr Duration kWriteAtMost = std::chrono::seconds{10};
  static constexpr Duration kWaitAtMost = std::chrono::seconds{600};

  VolumeDesk(engine::Engine& engine, controller::Parts& parts) : engine_{engine}, calls_{parts.add(*this)} {}

  /// False: that node does not take it any more.
  [[nodiscard]] bool choose(const model::Pod& pod, const model::NodeName& node);
  /// As they are known now. So it is for pods without any, and where nothing was chosen.
  [[nodiscard]] bool areBound(const model::Uid& uid) const;
  /// What was chosen for it is written and waited for. Again: no effect.
  void bind(const model::Uid& uid, Mono now);
  /// Everything is written, and others are waited for.
  [[nodiscard]] bool isWaiting(const model::Uid& uid) const;
  /// It is bound, or will not come: others may have what was chosen for it.
  void forget(const model::Uid& uid);

  /// Does what can be done now for pods that something happened to.
  void pump(Mono now, kapi::Effects& out);
  /// Something happened to the pod, or to its claims.
  void touched(const model::Uid& uid) {
    if (wishes_.contains(uid)) { active_.insert(uid); }
  }
  void podEnded(const model::Uid& uid) override;
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::vector<VolumeNotice> takeNotices() { return std::exchange(notices_, {}); }
  [[nodiscard]] std::size_t callsUnderWay() const { return calls_.underWay(); }
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;
  [[nodiscard]] std::size_t size() const override { return wishes_.size() + calls_.size() + due_.size(); }

 private:
  enum class Phase : std::uint8_t { Chosen, Writing, Waiting };
  struct Wish {
    model::NodeName node;
    ChosenVolumes claims;
    Phase phase = Phase::Chosen;
    Mono since{};           // of bind()
    Mono until{};           // then it took too long
    std::string trouble{};  // what became of the last write that was not taken
  };
  /// A write that is on its way.
  struct Sent {
    model::ObjectKey claim;
    model::Revision version = 0;  // of the object, which it names
  };

  [[nodiscard]] VolumeStep nextStep(const Wish& wish) const;
  void step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out);
  void write(const model::Uid& uid, const Wish& wish, const ChosenVolume& chosen, kapi::Effects& out);
  void waits(const model::Uid& uid, Wish& wish, Mono now);
  void wakeAt(const model::Uid& uid, Wish& wish, Mono until);
  void settle(const model::Uid& uid, Wish& wish, VolumeNotice notice);
  void answered(const model::Uid& uid, Wish& wish, const Sent& sent, const kapi::Outcome& outcome, Mono now);
  void refused(const model::Uid& uid, Wish& wish, const ChosenVolume& chosen, const kapi::Outcome& outcome,
               Mono now);

  engine::Engine& engine_;
  controller::KeyedCalls<model::Uid, Sent> calls_;
  std::map<model::Uid, Wish> wishes_;
  std::set<model::Uid> active_;                // to be looked at by pump()
  std::set<std::pair<Mono, model::Uid>> due_;  // when those that write or wait took too long
  std::vector<VolumeNotice> notices_;
};

}  // namespace gs::scheduler
