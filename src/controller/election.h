// Leader election on a coordination.k8s.io/v1 Lease as a pure machine; record and timing rules are
// client-go's (tools/leaderelection): holderIdentity, leaseDurationSeconds, acquireTime,
// renewTime (micro time), leaseTransitions.
//
// Facts: another holder's lease counts as alive until `lease_duration` after the moment at which WE last saw
// the record change (no comparison of clocks of two machines). A standby reads again at the very end of that
// time, and says `soon` kForewarning before it, when the holder missed three retry periods at least. Every
// write is an Update with the resourceVersion read, so two cannot both win. We lead from the answer to our
// write on; `until` = the moment we SENT the last renewal that was applied + renew_deadline, by our monotonic
// clock; a renewal of unknown outcome does not move it.
// The machine asks the owner thread for a sign of life (Output::ping) each retry period while leading;
// without pong() for renew_deadline it stops renewing and says lost, and does not try again before a pong().
// stop() releases the lease (holderIdentity "", duration 1) so the next one may begin at once.
// A holder that says in which container it runs, and did not renew for a retry period, is asked after: a
// standby reads its pod, twice per retry period, and takes the lease over at once when the holder has ended
// (holder_pod.h). When it missed two, `soon` is said, at most once per lease duration.
// A lease that is deleted by hand under a leader is written anew by it at once; a standby that knew of the
// lease waits a lease duration first (one that starts just then cannot know).
// standalone_when_forbidden: reading or writing the lease was answered 403 for a lease duration, and nothing
// ever went through: we lead, and each further 403 renews that. (An API server that has just started answers
// 403 for a moment; who has read the lease once never leads so.)
// A lease that is older than it was seen before says that the server's history went back (etcd was restored
// from a backup): this process knows things that are not so, gives up, and never tries again.
// One thread: its own. Tokens carry `owner` in the high byte.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "controller/holder_pod.h"
#include "controller/parts.h"
#include "kapi/call.h"
#include "model/lease.h"

namespace gs::controller {

class Election {
 public:
  static constexpr Duration kForewarning =
      std::chrono::milliseconds{600};  // less when renewals are that rare

  struct Config {
    model::ObjectKey lease;
    std::string identity;
    Duration lease_duration = std::chrono::seconds{5};
    Duration renew_deadline = std::chrono::seconds{3};
    Duration retry_period = std::chrono::milliseconds{500};
    std::uint8_t owner = kElectionOwner;
    std::string address;  // written on the lease: where others reach the leader, "" nothing
    /// Written on the lease: whose it is. One of another name is never taken, however long it was not
    /// renewed. "": anybody's.
    std::string scheduler{};
    /// For who may run as one replica without a right to the lease: see above.
    bool standalone_when_forbidden = false;
    /// Written on the lease: the container that this process runs in (printHolderContainer); "" not known.
    std::string container{};
  };
  struct Output {
    kapi::Effects effects;
    bool ping = false;                           // ask the owner thread; its answer comes as pong()
    std::optional<kapi::Leadership> leadership;  // changed or renewed
    bool released = false;                       // after stop(): the lease was given back, or could not be
  };

  Election(Config config, Rng rng);
  [[nodiscard]] Output start(Now now);
  [[nodiscard]] Output handle(const kapi::Outcome& outcome, Now now);
  [[nodiscard]] Output tick(Now now);
  void pong(Now now);
  [[nodiscard]] Output stop(Now now);
  [[nodiscard]] bool leading() const { return leadership_.leading; }
  /// Who holds the lease as last read, "" when nobody.
  [[nodiscard]] const std::string& holder() const { return holder_; }
  /// What the lease says of where its holder listens, "" when it does not or nobody holds it.
  [[nodiscard]] std::string address() const {
    return known_ && !holder_.empty() ? known_->record.address : std::string{};
  }
  /// Leads without the lease, which it may not have.
  [[nodiscard]] bool alone() const { return leadership_.leading && forbidden_since_.has_value(); }
  /// Why the lease cannot be read or written, "" when it can; logged when it changes.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Config config_;
  Rng rng_;
  kapi::Leadership leadership_;
  std::string holder_;
  std::string trouble_;

  enum class State : std::uint8_t { Idle, Reading, Asking, Writing, Waiting, Stopped };
  void read(Output& out);
  void readAnswered(const kapi::Outcome& outcome, Now now, Output& out);
  void writeAnswered(const kapi::Outcome& outcome, Now now, Output& out);
  void consider(const model::Lease* lease, Now now, Output& out);
  [[nodiscard]] std::optional<HolderContainer> suspect(const model::Lease& lease, Now now) const;
  void askAfter(const HolderContainer& container, Now now, Output& out);
  void askAnswered(const kapi::Outcome& outcome, Now now, Output& out);
  void write(const model::Lease* lease, bool release, Now now, Output& out);
  void waitRetry(Duration at_least, Now now, Output& out) { wait(config_.retry_period, at_least, now, out); }
  void wait(Duration period, Duration at_least, Now now, Output& out);
  void seen(const model::Lease& lease, Now now);
  [[nodiscard]] bool wentBack(const model::Lease& lease, Output& out);
  bool isAnothers(const model::Lease& lease, Now now, Output& out);
  void vanished(Now now, Output& out);
  void finish(Output& out);
  void say(const char* verb, const kapi::Outcome& outcome, Output& out);
  void unreadable(const char* verb, const kapi::Outcome& outcome, Now now, Output& out);
  [[nodiscard]] Duration lifeOf(const model::Lease& lease) const;
  void lead(Now now, Output& out);
  void lose(Output& out);
  void checkLife(Now now, Output& out);
  void forewarn(Now now, Output& out);
  void saySoon(Now now, Output& out);
  [[nodiscard]] std::optional<Mono> holderSilentAt() const;
  [[nodiscard]] Mono forewarnAt(Mono silent_at) const;
  [[nodiscard]] bool expired(Now now) const { return leadership_.leading && now.mono >= leadership_.until; }
  [[nodiscard]] bool ownerHangs(Now now) const {
    return leadership_.leading && now.mono - last_pong_ >= config_.renew_deadline;
  }

  State state_ = State::Idle;
  bool stopping_ = false;
  bool writing_release_ = false;
  bool create_ = false;
  kapi::Token call_ = 0;
  Mono sent_{};                        // when the write in flight was sent
  std::optional<model::Lease> known_;  // as last read or written
  model::Revision newest_ = 0;         // of all that was read or written
  Mono changed_{};                     // when we last saw the record change
  Mono last_pong_{};
  bool forewarned_ = false;              // `soon` was said since then
  std::optional<Mono> said_soon_;        // when it was last said
  bool may_ask_ = true;                  // our role lets us read the holder's pod
  bool silent_ = false;                  // the owner hung, and has given no sign of life since
  std::optional<Mono> forbidden_since_;  // the first 403; nothing went through since
  bool allowed_ = false;                 // something went through, once
  bool conflicted_ = false;              // the last write was answered 409
  bool reread_ = false;                  // a write of unknown outcome: read before the next one
  std::optional<Mono> due_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::controller
