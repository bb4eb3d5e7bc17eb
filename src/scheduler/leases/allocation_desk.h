// Writes of the ResourceClaims by which DRA drivers give pods what we decided: a claim of its own for each
// pod with limits, made once, or those that it names, which are allocated devices and emptied again
// (docs/inside/decisions/0011-gpus-by-dra.md). A pure machine, as LeaseDesk is for leases.
//
// The binder says what it wants of a pod's claims; the desk gets there by POST, PATCH, PUT of the status and
// reads, at most one call for each pod and for each claim at a time, and tells the outcome once:
//   Allocated  the claims name exactly these devices, and are reserved for the pod; `revision`: since then
//   Refused    that cannot be had: somebody else's object has the name, or a claim is gone or used by others,
//              or the API refuses a write for good (a quota of devices, missing rights); the text says why
//   Empty      nothing of them is allocated for the pod, and no write of ours that would do so is on its way
// An allocation cannot be changed, so a claim that has another one is emptied first: its pod is unbound,
// nothing runs with it. One that is reserved for other pods too is never emptied, for they may run: a pod
// joins them where it is allocated what the pod wants, and leaves them. Before Empty is said a claim is
// fenced (fenceClaim) where a write had an unknown outcome, or another leader may have sent one: its
// resourceVersion is another then, and that write is refused.
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
  static constexpr int kAtOnce = 4;  // of a claim: a POST, a read, and two PUTs

  AllocationDesk(engine::Engine& engine, Rng& rng, controller::Parts& parts)
      : engine_{engine}, rng_{rng}, calls_{parts.add(*this)} {}

  /// `others`: another leader may have sent a PUT.
  void allocate(const model::Pod& pod, const Allocations& wanted, bool others);
  /// These claims of the pod. `others`: another leader may have sent a PUT.
  void empty(const model::Uid& uid, const model::ObjectKey& pod, const std::vector<model::ObjectKey>& claims,
             bool others);
  /// Nothing more is wished of it; what is there stays.
  void forget(const model::Uid& uid) { wishes_.erase(uid); }
  /// As the claims are known now.
  [[nodiscard]] bool isAllocated(const model::Pod& pod, const Allocations& wanted) const;
  /// The last calls about it came to nothing.
  [[nodiscard]] bool failing(const model::Uid& uid) const { return calls_.failures(uid) > 0; }
  /// It is allocated something, which is not that.
  [[nodiscard]] bool isAllocatedOtherwise(const model::Pod& pod, const Allocation& than) const;
  /// It has a claim that was made for its limits, by what that says of itself.
  [[nodiscard]] bool hasClaim(const model::Pod& pod) const;
  /// Those of its claims that are allocated something for it, alone or with others. (Of a bound pod: the one
  /// for its limits.) `named`: also of those that it names, which are ours to allocate where we find its
  /// node, and nobody else's.
  [[nodiscard]] std::vector<model::ObjectKey> withDevices(const model::Pod& pod, bool named = true) const;

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
  /// What is wished of one claim.
  struct OfClaim {
    model::ObjectKey key;
    std::optional<Allocation> wanted;  // nullopt: empty
    bool for_limits = false;           // the pod's own, which was made for them
    bool must_read = false;
    bool must_fence = false;  // a PUT may be on its way whose outcome nobody knows
  };
  struct Wish {
    model::Pod pod;  // its key and uid
    std::vector<OfClaim> claims;
    int calls = 0;
    [[nodiscard]] OfClaim* of(const model::ObjectKey& key);
    /// So many calls that the next one waits.
    [[nodiscard]] bool hadMany() const;
  };
  enum class Sent : std::uint8_t { Read, Make, Protect, Allocate, Join, Leave, Clear, Fence };
  struct OnItsWay {
    Sent sent{};
    model::ObjectKey key;
    model::Uid claim;  // the one that was known when it left
  };

  void wish(const model::Uid& uid, const model::ObjectKey& pod, std::vector<OfClaim> claims, bool others);
  void step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out);
  [[nodiscard]] static std::optional<AllocationNotice> settled(const model::Uid& pod, const OfClaim& one,
                                                               const model::ResourceClaim* claim);
  [[nodiscard]] std::pair<Sent, kapi::Call> plan(const model::Pod& pod, OfClaim& one,
                                                 const model::ResourceClaim* claim);
  void answered(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now);
  void refused(Wish& wish, OfClaim& one, const OnItsWay& call, const kapi::Outcome& outcome, Mono now);

  engine::Engine& engine_;
  Rng& rng_;
  controller::KeyedCalls<model::Uid, OnItsWay> calls_;
  std::map<model::Uid, Wish> wishes_;
  std::set<model::Uid> active_;  // to be looked at by pump()
  /// By claim about which a call is under way: pods that share it, whose calls would be refused beside it.
  std::map<model::ObjectKey, std::set<model::Uid>> turns_;
  std::vector<AllocationNotice> notices_;
};

}  // namespace gs::scheduler
