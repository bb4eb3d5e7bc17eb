// Wakes: pods that a kube-scheduler was told no node takes are changed when one may take them now, so that it
// tries them again. Whom and when Refusals says; here it is written. Only while requests are taken, and no
// pod with a grant: its scheduler has its answer, and a write of it may be under way. What it refers to must
// outlive it. One thread.
#pragma once

#include <optional>

#include "extender/grants/context.h"
#include "extender/grants/grants.h"
#include "extender/grants/pod_calls.h"
#include "extender/grants/refusals.h"
#include "extender/grants/write_troubles.h"

namespace gs::extender {

class Wakes {
 public:
  Wakes(Context& context, Grants& grants, PodCalls& calls, WriteTroubles& troubles)
      : c_{context}, grants_{grants}, calls_{calls}, troubles_{troubles}, refusals_{context.engine} {}

  [[nodiscard]] Refusals& refusals() { return refusals_; }
  /// One at most.
  void wakeSomebody();
  void answered(const model::Uid& uid, const kapi::Outcome& outcome);
  [[nodiscard]] std::optional<Mono> nextDue() const { return refusals_.nextDue(); }

 private:
  Context& c_;
  Grants& grants_;
  PodCalls& calls_;
  WriteTroubles& troubles_;
  Refusals refusals_;
};

}  // namespace gs::extender
