// Bindings: of pods that other schedulers place, where they ask the extender for them. A pod that asks for
// shares has its annotations of that node first: where it has none the Coordinator gets them, and bind()
// comes again. A pod that is not known here is read first.
//
// One Binding of a pod is under way at a time (BindingCallers). One that meets a conflict is tried again
// while its caller waits: what the pod is by then decides. What it refers to must outlive it. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "extender/grants/binding_callers.h"
#include "extender/grants/context.h"
#include "extender/grants/coordinator.h"
#include "extender/grants/grants.h"
#include "extender/grants/pod_calls.h"
#include "extender/share_chooser.h"

namespace gs::extender {

class Bindings {
 public:
  Bindings(Context& context, Grants& grants, PodCalls& calls, ShareChooser& chooser, Coordinator& coordinator)
      : c_{context}, grants_{grants}, calls_{calls}, chooser_{chooser}, coordinator_{coordinator} {}

  void bind(Caller w);
  void answered(const PodCalls::Answered& call, const kapi::Outcome& outcome);
  /// Those that met a conflict, and whose wait is over.
  void tick();
  [[nodiscard]] Mono nextDue() const { return callers_.nextDue(); }
  /// Of pods that turned out to be another's (Config::is_bound_by_others).
  [[nodiscard]] std::vector<Caller> takeHandedBack() { return std::exchange(handed_back_, {}); }
  /// Whoever waits.
  [[nodiscard]] std::vector<Caller> takeAll() { return callers_.takeAll(); }

 private:
  void readFirst(Caller w);
  void send(Caller w, const model::Pod& pod);
  [[nodiscard]] static std::string whyNotBound(const PodCalls::Answered& call, const kapi::Outcome& outcome);

  Context& c_;
  Grants& grants_;
  PodCalls& calls_;
  ShareChooser& chooser_;
  Coordinator& coordinator_;
  BindingCallers callers_;
  std::vector<Caller> handed_back_;
};

}  // namespace gs::extender
