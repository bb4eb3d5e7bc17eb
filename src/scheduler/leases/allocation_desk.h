// Writes of the ResourceClaims by which DRA drivers give pods what we decided: a claim of its own for each
// pod, made once, that is allocated devices and emptied again (docs/inside/decisions/0011-gpus-by-dra.md). A
// pure machine, as LeaseDesk is for leases.
//
// The binder says what it wants of a pod's claim; the desk gets there by POST, PUT of the status and reads,
// at most one call for each claim at a time, and tells the outcome once:
//   Allocated  the claim names exactly these devices, and is reserved for the pod; `revision`: since then
//   Refused    it cannot be had: somebody else's object has its name, or the API refuses the write for good
//              (a quota of devices, missing rights); the text says why
//   Empty      it is allocated nothing, and no write of ours that would do so is on its way
// An allocation cannot be changed, so a claim that has another one is emptied first: its pod is unbound,
// nothing runs with it. One that is reserved for other pods is never emptied: it is not what it says it is,
// and they may run. Before Empty is said the claim is fenced (fenceClaim) where a PUT had an unknown
// outcome, or another leader may have sent one: its resourceVersion is another then, and that PUT is refused.
// A wish replaces the one before it. What failed waits longer each time (R59). One thread.
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
#include "model/dra.h"
#include "scheduler/core/allocation.h"

namespace gs::scheduler {

struct AllocationNotice {
  enum class What : std::uint8_t { Allocated, Refused, Empty };
  What what{};
  model::Uid uid;
  model::Revision revision = 0;  // Allocated
  std::string why{};             // Refused
};

class AllocationDesk : public controller::Part {
 public:
  static constexpr int kAtOnce = 4;  // a POST, a read, and two PUTs

  AllocationDesk(engine::Engine& engine, Rng& rng, controller::Parts& parts)
      : engine_{engine}, rng_{rng}, calls_{parts.add(*this)} {}

  /// `others`: another leader may have sent a PUT.
  void allocate(const model::Pod& pod, Allocation wanted, bool others);
  /// `others`: another leader may have sent a PUT.
  void empty(const model::Uid& uid, const model::ObjectKey& pod, bool others);
  /// Nothing more is wished of it; what is there stays.
  void forget(const model::Uid& uid) { wishes_.erase(uid); }
  /// As the claim is known now.
  [[nodiscard]] bool isAllocated(const model::Pod& pod, const Allocation& wanted) const;
  /// The last calls about it came to nothing.
  [[nodiscard]] bool failing(const model::Uid& uid) const { return calls_.failures(uid) > 0; }
  /// It is allocated something, which is not that.
  [[nodiscard]] bool isAllocatedOtherwise(const model::Pod& pod, const Allocation& than) const;
  /// It has a claim of its own, by what that says of itself.
  [[nodiscard]] bool hasClaim(const model::Pod& pod) const;
  /// And one that is allocated something for it alone.
  [[nodiscard]] bool hasDevices(const model::Pod& pod) const;

  /// Issues what can be issued now for claims that something happened to.
  void pump(Mono now, kapi::Effects& out);
  /// Something happened to the pod, or to its claim.
  void touched(const model::Uid& uid) {
    if (wishes_.contains(uid)) { active_.insert(uid); }
  }
  void podEnded(const model::Uid& uid) override;
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::vector<AllocationNotice> takeNotices() { return std::exchange(notices_, {}); }
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  void reset() override;
  [[nodiscard]] std::size_t size() const override { return wishes_.size() + calls_.size(); }

 private:
  struct Wish {
    model::Pod pod;                    // its key and uid
    std::optional<Allocation> wanted;  // nullopt: empty
    bool must_read = false;
    bool must_fence = false;  // a PUT may be on its way whose outcome nobody knows
    int calls = 0;
  };
  enum class Sent : std::uint8_t { Read, Make, Allocate, Clear, Fence };
  struct OnItsWay {
    Sent sent{};
    model::Uid claim;  // the one that was known when it left
  };

  void step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out);
  [[nodiscard]] static std::optional<AllocationNotice> settled(const Wish& wish,
                                                               const model::ResourceClaim* claim);
  [[nodiscard]] std::pair<Sent, kapi::Call> plan(Wish& wish, const model::ResourceClaim* claim);
  void answered(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now);
  void refused(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now);

  engine::Engine& engine_;
  Rng& rng_;
  controller::KeyedCalls<model::Uid, OnItsWay> calls_;
  std::map<model::Uid, Wish> wishes_;
  std::set<model::Uid> active_;  // to be looked at by pump()
  std::vector<AllocationNotice> notices_;
};

}  // namespace gs::scheduler
