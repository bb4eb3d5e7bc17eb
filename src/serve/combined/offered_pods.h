// OfferedPods: the scheduler as an Answerer: pods that a kube-scheduler places and for which the scheduler
// finds the GPUs (scheduler/extender_pods.h). Translates requests into its words, and its answers back.
// The scheduler and the extender must outlive it. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "extender/protocol/front_desk.h"
#include "scheduler/scheduler.h"

namespace gs::serve {

/// kube-scheduler places it, and the scheduler finds its GPUs.
[[nodiscard]] bool isOffered(const scheduler::Scheduler& scheduler, const model::Pod& pod);

class OfferedPods : public extender::Answerer {
 public:
  /// `extender`: whose table of nodes it is.
  OfferedPods(scheduler::Scheduler& scheduler, extender::Answerer& extender)
      : scheduler_{scheduler}, extender_{extender} {}

  /// Of one to be bound that is not known here there is only the name: the extender reads it, and hands it
  /// back where it is not its own.
  [[nodiscard]] bool isTheirs(const extender::Request& request) const;

  [[nodiscard]] std::string refusesBecause() const override;
  /// A Binding says its node by name.
  [[nodiscard]] bool readsNodes(extender::Verb verb) const override { return verb != extender::Verb::Bind; }
  [[nodiscard]] const extender::NodeTablePtr& table() override { return extender_.table(); }
  void serve(extender::Caller caller, Now now) override;
  void refuse(const extender::Caller& caller, extender::Answer answer) override;
  void stopTaking() { taking_ = false; }

  /// The scheduler was asked something since: it is to decide.
  [[nodiscard]] bool takeAsked() { return std::exchange(asked_, false); }
  /// All that are ready, after those that are in `out`: what was known at once, then by what was asked.
  void takeAnswers(std::vector<std::pair<extender::RequestId, extender::Answer>>& out);

 private:
  void takePreemptions(std::vector<std::pair<extender::RequestId, extender::Answer>>& out);

  scheduler::Scheduler& scheduler_;
  extender::Answerer& extender_;
  std::vector<std::pair<extender::RequestId, extender::Answer>> answers_;  // known at once
  bool taking_ = true;
  bool asked_ = false;
};

}  // namespace gs::serve
