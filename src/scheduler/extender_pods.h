// Pods that kube-scheduler places, and for which it asks us as an extender: which nodes have their GPUs,
// which is best, and to bind them. A part of the scheduler's; one thread.
//
// filter() and prioritize() write nothing; they may come any number of times. What kube-scheduler asks about
// preemption is in extender_preemption.h. What is held for the
// pod (nominator.h) is free for it while it is asked about. bind() chooses the GPUs anew on the node that was
// chosen, and grants them to the pod: from then on it goes the way of every grant (binder.h), with leases,
// Binding and fence. Its caller is told when the pod is bound, when everything was given back, or at the
// latest when it gives up waiting (`until`). The Binding may be on its way then: kube-scheduler asks again,
// and joins what is under way. A namespace has no more of them under way than it has slots. Others of it
// wait for one, and their GPUs are held meanwhile, unless pods of it cannot be written (slots.h): then they
// are told to ask again. Who waits does so with one of the workers that serve everybody, so at most
// Config::max_waiting_binds do, and of one namespace half of those: who comes on top is told at once to ask
// again. kube-scheduler filters one pod after the other and binds them side by side: so that not too many
// come, filter() waits for a moment while many are being bound. Leases of such a pod without a grant are an
// earlier leader's. They stand until kube-scheduler had the time to ask again: where it asks for the same
// node they are taken over, since it alone knows whether the rest of the pod still fits there. Then they are
// fenced and deleted (leftovers.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/parts.h"
#include "sched/placement/offers.h"
#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/placing/binder.h"
#include "scheduler/placing/leftovers.h"
#include "scheduler/placing/nominator.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

/// What kube-scheduler asks to be done.
struct BindRequest {
  std::uint64_t id = 0;  // its caller's
  model::ObjectKey pod;
  model::Uid uid;
  model::NodeName node;
  Mono until{};  // nobody waits for the answer any more
  Mono since{};  // its writes began
};

/// On which of these nodes would it fit?
struct FilterRequest {
  std::uint64_t id = 0;  // its caller's
  model::PodPtr pod;
  std::vector<model::NodeName> nodes;
};

struct FilterAnswer {
  std::uint64_t id = 0;
  bool decided = false;  // else we do not decide now
  sched::Offers offers{};
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

class ExtenderPods : public controller::Part {
 public:
  struct Beside {
    const LeaseRecord& record;
    Slots& slots;
    PendingPods& pending;
    Binder& binder;
    Leftovers& leftovers;
    Nominator& nominator;
    const NodeCaches& node_caches;
  };
  ExtenderPods(Context& context, Beside beside) : c_{context}, b_{beside} { c_.parts.add(*this); }

  /// As its object is known here, else as the caller has it. Of who fits nowhere it is remembered that it
  /// waits.
  void filter(FilterRequest request);
  /// Of the best nodes one has a better score than all others: there GPUs are held until bind() comes, since
  /// many pods are filtered meanwhile.
  [[nodiscard]] std::vector<int> prioritize(const model::Pod& pod, const std::vector<model::NodeName>& nodes);
  void bind(BindRequest request);
  [[nodiscard]] std::vector<FilterAnswer> takeFilterAnswers() { return std::exchange(filter_answers_, {}); }
  [[nodiscard]] std::vector<BindAnswer> takeAnswers() { return std::exchange(answers_, {}); }

  /// After every event: who waits is told what came of its pod.
  void settle();
  /// Leases of this unbound pod are left alone: there is time for kube-scheduler to ask again.
  [[nodiscard]] bool mayBeAskedAgain(const model::Uid& uid);
  void forget(const model::Uid& uid) { left_.erase(uid); }

  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;
  [[nodiscard]] std::size_t size() const { return waiting_.size() + queued_in_all_ + left_.size(); }

 private:
  /// It waits 10 s at most between two tries (its podMaxBackoffSeconds).
  static constexpr Duration kAskedAgainWithin = std::chrono::seconds{12};
  /// From `priorities` to `bind` it takes some milliseconds, unless it binds volumes in between.
  static constexpr Duration kHeldForBind = std::chrono::seconds{3};
  /// Longer than the writes of a bind take where all is well. One namespace where they take longer is not
  /// waited for: its pods would keep everybody's kube-scheduler waiting.
  static constexpr Duration kPaced = std::chrono::milliseconds{250};
  static constexpr std::size_t kQueued = 2;
  [[nodiscard]] const model::Pod& newest(const model::Pod& pod) const;
  [[nodiscard]] sched::OfferedNodes statesOf(const std::vector<model::NodeName>& nodes) const;
  [[nodiscard]] bool isCrowded(const std::string& ns) const;
  [[nodiscard]] std::set<std::string> slowNamespaces() const;
  void answerFilter(const FilterRequest& request);
  [[nodiscard]] sched::Offers offersFor(const model::Pod& pod, const std::vector<model::NodeName>& nodes);
  void noteOffers(const model::Pod& pod, const sched::Offers& offers);
  [[nodiscard]] std::string whyNot(const model::Pod& pod, const BindRequest& request) const;
  /// Its GPUs are held until it has a slot; or it is answered.
  void enqueue(const model::Pod& pod, BindRequest request);
  /// It has a grant from now on; or it is answered.
  void grant(BindRequest request);
  void grantQueued();
  [[nodiscard]] std::size_t waitingOf(const std::string& ns) const;
  [[nodiscard]] std::string holdUntilItsTurn(const model::Pod& pod, const BindRequest& request);
  [[nodiscard]] std::string begin(const model::Pod& pod, const model::NodeName& node);
  void answer(std::uint64_t id, BindAnswer::Kind kind, std::string text = {});

  Context& c_;
  Beside b_;
  std::multimap<model::Uid, BindRequest> waiting_;         // for what comes of a grant
  std::map<std::string, std::deque<BindRequest>> queued_;  // for a slot, by namespace; none is empty
  std::size_t queued_in_all_ = 0;
  std::map<model::Uid, Mono> left_;                   // unbound pods with leases and no grant, since when
  std::deque<std::pair<Mono, FilterRequest>> paced_;  // until when they wait at most
  std::vector<FilterAnswer> filter_answers_;
  std::vector<BindAnswer> answers_;
};

}  // namespace gs::scheduler
