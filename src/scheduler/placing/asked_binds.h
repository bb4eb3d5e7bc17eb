// AskedBinds: binds pods when their kube-scheduler asks us to (extender_pods.h). A part of the scheduler's;
// one thread.
//
// The way of a request: GPUs are chosen anew, on the node that kube-scheduler chose, and a binding cycle
// begins as for every pod (binder.h): leases, Binding, and a fence if need be. The caller is answered when
// the pod is bound, when everything was given back, or at the latest at `until`, when it stops waiting. The
// Binding may still be on its way then: kube-scheduler asks again, and joins what is under way.
//
// Who has to wait:
//   - A namespace has no more binding cycles under way than it has slots (scheduler/core/slots.h). Its other
//     requests wait for a slot, and their GPUs are held for a moment (holds.h). Where pods of the namespace
//     are stuck, the next one shows first that it can be written (scheduler/pending/probes.h), as pods of
//     our own do.
//   - A request that waits keeps one worker of the HTTP server. So at most Config::max_waiting_binds wait,
//     and no namespace takes more of these places than it leaves free (controller/fair_share.h). A request
//     without a place is answered at once, that it should be made again.
//   - A namespace is "slow" while one of its requests has waited for kPaced, or one of its binding cycles is
//     stuck. Requests of slow namespaces that have waited for kHanging give up their places to others that
//     need one. So however many namespaces hang, others find as many places as if those were not there.
//
// Leases of such a pod, without a binding cycle, are an earlier leader's. They stand until kube-scheduler had
// the time to ask again (kAskedAgainWithin). If it asks for the same node, they are taken over: it alone
// knows whether the rest of the pod still fits there. After that time they are fenced and deleted
// (leftovers.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/pending/probes.h"
#include "scheduler/placing/binder.h"
#include "scheduler/placing/holds.h"
#include "scheduler/placing/leftovers.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

/// What kube-scheduler asks to be done.
struct BindRequest {
  std::uint64_t id = 0;  // its caller's
  model::ObjectKey pod;
  model::Uid uid;
  model::NodeName node;
  Mono until{};  // nobody waits for the answer any more
  Mono since{};  // it came; then, its writes began
};

struct BindAnswer {
  enum class Kind : std::uint8_t {
    Bound,
    Failed,       // `text`; kube-scheduler tries the pod again
    Unavailable,  // we do not decide now
  };
  std::uint64_t id = 0;
  Kind kind{};
  std::string text;
};

class AskedBinds {
 public:
  struct Beside {
    const LeaseRecord& record;
    Slots& slots;
    PendingPods& pending;
    Probes& probes;
    Binder& binder;
    Leftovers& leftovers;
    Holds& holds;
  };
  AskedBinds(Context& context, Beside beside) : c_{context}, b_{beside} {}

  /// Longer than the writes of a bind take where all is well. One namespace where they take longer is not
  /// waited for: its pods would keep everybody's kube-scheduler waiting.
  static constexpr Duration kPaced = std::chrono::milliseconds{250};
  /// From then on a request of a slow namespace may have to make room: two writes that come to their end do
  /// not take so long.
  static constexpr Duration kHanging = std::chrono::seconds{1};

  void bind(BindRequest request);
  [[nodiscard]] std::vector<BindAnswer> takeAnswers() { return std::exchange(answers_, {}); }
  /// So many of it are being bound, or of all, that the next would have to be told to ask again; or some wait
  /// for a slot: more of them would only wait for longer. Nobody waits for those of whom the writes take
  /// long.
  [[nodiscard]] bool isCrowded(const std::string& ns) const;

  /// After every event: who waits is told what came of its pod.
  void settle();
  /// Leases of this unbound pod are left alone: there is time for kube-scheduler to ask again.
  [[nodiscard]] bool mayBeAskedAgain(const model::Uid& uid);
  void forget(const model::Uid& uid) { left_.erase(uid); }

  // ExtenderPods calls these as its own.
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const;
  void reset();
  [[nodiscard]] std::size_t size() const { return waiting() + left_.size(); }

 private:
  /// It waits 10 s at most between two tries (its podMaxBackoffSeconds).
  static constexpr Duration kAskedAgainWithin = std::chrono::seconds{12};
  static constexpr std::size_t kQueued = 2;
  /// What it asks for, and the GPUs that it gets; or why it gets none.
  struct Room {
    sched::PodRequest request;
    sched::Placement placement;
    std::string why;     // "": it fits
    bool raced = false;  // others have what it was filtered for
  };
  using Namespaces = std::set<std::string>;
  template <class See>
  void eachWaiting(const See& see) const;
  [[nodiscard]] std::size_t waiting() const { return waiting_.size() + probed_.size() + queued_in_all_; }
  [[nodiscard]] Namespaces slowNamespaces() const;
  [[nodiscard]] bool isSlow(const std::string& ns) const;
  /// So many more of it may wait, if the slow ones leave their places to those that are not slow.
  [[nodiscard]] int placesFor(const std::string& ns, const Namespaces& slow) const;
  /// There is a place for one of it, which a slow one may have had.
  bool findPlace(const std::string& ns);
  [[nodiscard]] std::string whyNot(const model::Pod& pod, const BindRequest& request) const;
  [[nodiscard]] Room lookAt(const model::Pod& pod, const model::NodeName& node) const;
  [[nodiscard]] Room roomFor(const model::Pod& pod, const model::NodeName& node);
  [[nodiscard]] bool mustShow(const model::Pod& pod) const;
  /// It is answered once it is known whether it can be written.
  void probe(const model::Pod& pod, BindRequest request);
  void goOn(const model::Pod& pod, BindRequest request);
  /// Its GPUs are held until it has a slot; or it is answered.
  void enqueue(const model::Pod& pod, BindRequest request);
  /// It has a binding cycle from now on; or it is answered.
  void beginOrAnswer(BindRequest request);
  /// These callers wait no longer: what of theirs was not sent yet is not sent any more.
  void turnAway(const std::function<bool(const BindRequest&)>& which);
  void goOnWithProbed();
  void beginQueued();
  [[nodiscard]] std::string whyNotInLine(const model::Pod& pod, const model::NodeName& node);
  [[nodiscard]] std::string begin(const model::Pod& pod, const model::NodeName& node);
  void answer(std::uint64_t id, BindAnswer::Kind kind, std::string text = {});
  void busy(const BindRequest& request, std::string text);

  Context& c_;
  Beside b_;
  std::multimap<model::Uid, BindRequest> waiting_;         // for what comes of a binding cycle
  std::multimap<model::Uid, BindRequest> probed_;          // for what comes of a probe
  std::map<std::string, std::deque<BindRequest>> queued_;  // for a slot, by namespace; none is empty
  std::size_t queued_in_all_ = 0;
  std::map<model::Uid, Mono> left_;  // unbound pods with leases and no binding cycle, since when
  std::vector<BindAnswer> answers_;
};

}  // namespace gs::scheduler
