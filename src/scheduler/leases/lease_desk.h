// Every write to GPU leases goes through this desk: at most one call per lease is in flight, bodies are made
// from the newest known state when they are sent, and what is not known is read before it is acted on (R19,
// R23). A pure machine.
//
// The scheduler says what it wants of a lease (take: this pod holds it; give: this pod holds it no more); the
// desk gets there by Create, Update and Delete with uid and resourceVersion,
// and tells the outcome once per wish:
//   Held     the lease names the pod and the reservation (read back from the API, when `confirm` or when a
//            write was unknown)
//   Lost     another holder has it, or the same pod by another decision (read live, not from the cache); or
//            the shared lease that it was to join is gone, and with it what was known of the sharers
//   Refused  the API refuses the write for good (403, 422, namespace missing); the text says why
//   Gone     the pod's part of it is gone
// No lease is called about at once for ever: the first kAtOnce calls of a wish go out as fast as they are
// answered (a Create, a read, an Update), later ones wait, whatever the answers were,
// until some wish is fulfilled (R59).
// What the API refused to several pods in a row is remembered: until its wait is over others are told the
// same without a call.
// A lease of ours that only lost its label (a live read says it: the pod's, under the reservation that it is
// wished for) is taken back by an Update that says everything again.
// Any other object of that name blocks the device.
// A take replaces the pod's earlier wish for that lease and the other way round. Unknown outcomes are read; a
// write is never simply repeated.
// One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "engine/engine.h"
#include "kapi/call.h"

namespace gs::scheduler {

/// One pod's part of one device's lease.
struct Claimant {
  model::Uid uid;
  model::ObjectKey pod;
  model::ReservationId reservation;
  model::NodeName node;
  int gpu = 0;
  std::string gpu_uuid;
  std::string devices;  // the whole reservation, "<node>:<ids>"
  bool shared = false;
  /// Its other holders, if it is Shared, may only be pods that have it by this ResourceClaim; {}: nobody;
  /// nullopt: whoever shares it.
  std::optional<model::ObjectKey> only_by{};
  /// Writes over the pod's own part under another reservation (an earlier leader's, an ancestor's). Otherwise
  /// that is another leader's decision for the same pod, and Lost.
  bool over_own = false;
};

struct LeaseNotice {
  enum class What : std::uint8_t { Held, Lost, Refused, Gone };
  What what{};
  model::ObjectKey lease;
  model::Uid uid;
  bool was_unknown = false;  // Held: some write of it had an unknown outcome
  std::string why;
  bool own_pod = false;  // Lost: to another decision for the same pod, of whoever else decides
};

class LeaseDesk : public controller::Part {
 public:
  static constexpr int kAtOnce = 3;

  LeaseDesk(engine::Engine& engine, std::size_t max_sharers, controller::Parts& parts)
      : engine_{engine}, max_sharers_{max_sharers}, calls_{parts.add(*this)} {}

  void take(const model::ObjectKey& lease, Claimant claimant, bool confirm);
  /// `only`: the entry of that reservation; under another one it is somebody else's by now, and stays.
  void give(const model::ObjectKey& lease, const model::Uid& uid,
            const std::optional<model::ReservationId>& only = {});
  /// Nothing more is wished of that pod's part; what is there stays.
  void forget(const model::ObjectKey& lease, const model::Uid& uid);
  /// No wish of that pod for that lease is open.
  [[nodiscard]] bool idle(const model::ObjectKey& lease, const model::Uid& uid) const;
  /// That pod's part is to go, and may be there yet.
  [[nodiscard]] bool isGiving(const model::ObjectKey& lease, const model::Uid& uid) const;
  /// The last calls about it came to nothing.
  [[nodiscard]] bool failing(const model::ObjectKey& lease) const;

  /// Issues what can be issued now for leases that something happened to.
  void pump(Mono now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::vector<LeaseNotice> takeNotices() { return std::exchange(notices_, {}); }
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  /// Leadership is lost: every wish is dropped; outcomes of calls in flight are ignored.
  void reset() override;

 private:
  struct Wish {
    std::optional<Claimant> take;              // nullopt: give
    std::optional<model::ReservationId> only;  // give: of this reservation
    bool confirm = false;                      // a live read must come before Held
    bool confirmed = false;                    // the newest read came after the wish
    bool was_unknown = false;
    bool joins = false;  // decided on a shared lease that was there: without it, it has to be decided anew
  };
  struct Desk {
    std::map<model::Uid, Wish> wishes;
    bool must_read = false;
    /// What a live read found under that name without our label;
    /// its uid and revision are those of the next Update.
    model::Ptr<model::Lease> unlabelled;
    int calls = 0;        // since a wish was fulfilled
    int conflicts = 0;    // in a row
    std::string refused;  // why, when the last call was; "": it was not
    Mono kept_until{};    // so that the next pod's wish knows of the failures
  };

  struct Sent {
    kapi::Verb verb{};
    model::Uid target;  // uid of the lease that was known when it left
  };

  void step(const model::ObjectKey& key, Desk& desk, Mono now, kapi::Effects& out);
  /// Settles the wishes that the known lease already answers; true when nothing is left.
  void settle(const model::ObjectKey& key, Desk& desk, const model::Lease* lease, Mono now);
  [[nodiscard]] bool mayBeWith(const Claimant& claimant, const model::Lease& lease) const;
  [[nodiscard]] bool settleOne(const model::ObjectKey& key, Desk& desk, const model::Uid& uid, Wish& wish,
                               const model::Lease* lease);
  [[nodiscard]] std::optional<kapi::Call> plan(const model::ObjectKey& key, const Desk& desk,
                                               const model::Lease* lease) const;
  [[nodiscard]] static std::optional<kapi::Call> takeBack(const model::ObjectKey& key, const Desk& desk);
  [[nodiscard]] static std::optional<kapi::Call> leave(const Desk& desk, const model::Lease& lease);
  void send(const model::ObjectKey& key, Desk& desk, kapi::Call call, kapi::Effects& out);
  void answered(const model::ObjectKey& key, Desk& desk, const Sent& sent, const kapi::Outcome& outcome,
                Mono now);
  void readAnswered(const model::ObjectKey& key, Desk& desk, const Sent& sent, const kapi::Outcome& outcome,
                    Mono now);
  void refuse(const model::ObjectKey& key, Desk& desk, const kapi::Outcome& outcome, Mono now);
  void refuseTakes(const model::ObjectKey& key, Desk& desk);
  void backOff(const model::ObjectKey& key, const kapi::Outcome& outcome, Mono now);
  void notify(LeaseNotice::What what, const model::ObjectKey& key, const model::Uid& uid, bool was_unknown,
              std::string why);

  engine::Engine& engine_;
  std::size_t max_sharers_;
  controller::KeyedCalls<model::ObjectKey, Sent> calls_;  // what is known there of a key goes with its desk
  std::map<model::ObjectKey, Desk> desks_;
  std::set<model::ObjectKey> active_;  // to be looked at by pump()
  /// Desks that are looked at again though no call of theirs waits; an entry may be older than its desk.
  std::set<std::pair<Mono, model::ObjectKey>> later_;
  std::vector<LeaseNotice> notices_;
};

}  // namespace gs::scheduler
