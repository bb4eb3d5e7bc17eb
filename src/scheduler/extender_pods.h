// Pods that kube-scheduler places, and for which it asks us as an extender: which nodes have their GPUs,
// which is best, and to bind them. A part of the scheduler's; one thread.
//
// filter() and prioritize() write nothing; they may come any number of times. What kube-scheduler asks about
// preemption is in extender_preemption.h. What is held for the pod (placing/holds.h) is free for it while it
// is asked about. A node that refused the pod is not offered while another may do
// (controller/nodes_in_vain.h). bind() chooses its GPUs on the node that was chosen, and binds
// it (placing/asked_binds.h). kube-scheduler filters one pod after the other and binds them side by side: so
// that not too many come, filter() waits for a moment while many are being bound.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "controller/parts.h"
#include "sched/placement/offers.h"
#include "scheduler/caches/node_caches.h"
#include "scheduler/core/context.h"
#include "scheduler/pending/pending_pods.h"
#include "scheduler/placing/asked_binds.h"
#include "scheduler/placing/binder.h"
#include "scheduler/placing/holds.h"
#include "scheduler/placing/nominator.h"

namespace gs::scheduler {

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

class ExtenderPods : public controller::Part {
 public:
  struct Beside {
    PendingPods& pending;
    Binder& binder;
    Nominator& nominator;
    Holds& holds;
    AskedBinds& binds;
    const NodeCaches& node_caches;
  };
  ExtenderPods(Context& context, Beside beside) : c_{context}, b_{beside} { c_.parts.add(*this); }

  /// As its object is known here, else as the caller has it. Of who fits nowhere it is remembered that it
  /// waits.
  void filter(FilterRequest request);
  /// Of the best nodes one has a better score than all others: there GPUs are held until bind() comes, since
  /// many pods are filtered meanwhile.
  [[nodiscard]] std::vector<int> prioritize(const model::Pod& pod, const std::vector<model::NodeName>& nodes);
  void bind(BindRequest request) { b_.binds.bind(std::move(request)); }
  [[nodiscard]] std::vector<FilterAnswer> takeFilterAnswers() { return std::exchange(filter_answers_, {}); }

  /// After every event, and AskedBinds::settle(): whose filter waited long enough is answered.
  void settle();

  void tick(Now now, kapi::Effects& out) override;
  void podEnded(const model::Uid& uid) override { b_.binds.forget(uid); }
  [[nodiscard]] std::size_t size() const override { return b_.binds.size(); }
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

 private:
  [[nodiscard]] const model::Pod& newest(const model::Pod& pod) const;
  [[nodiscard]] sched::OfferedNodes statesOf(const std::vector<model::NodeName>& nodes) const;
  void answerFilter(const FilterRequest& request);
  [[nodiscard]] sched::Offers offersFor(const model::Pod& pod, const std::vector<model::NodeName>& nodes);
  [[nodiscard]] sched::Offers lookAt(const model::Pod& pod, const std::vector<model::NodeName>& nodes,
                                     const std::optional<Holds::Suspended>& held);
  void noteOffers(const model::Pod& pod, const sched::Offers& offers);

  Context& c_;
  Beside b_;
  std::deque<std::pair<Mono, FilterRequest>> paced_;  // until when they wait at most
  std::vector<FilterAnswer> filter_answers_;
};

}  // namespace gs::scheduler
