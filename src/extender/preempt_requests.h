// PreemptRequests: nodes with room for a pod of shares once others have left, and who has to leave. Answered
// in the order in which they come, in turns (engine/preemption.h). Nothing is reserved, nothing is written.
// What it refers to must outlive it. One thread.
#pragma once

#include <map>

#include "engine/preemption.h"
#include "extender/grants/context.h"
#include "extender/grants/grants.h"
#include "extender/share_chooser.h"

namespace gs::extender {

class PreemptRequests {
 public:
  PreemptRequests(Context& context, Grants& grants, ShareChooser& chooser);

  void ask(Caller w);
  /// One turn.
  void work();
  /// Something is left to do at once.
  [[nodiscard]] bool hasWork() const { return preemption_.next() != nullptr; }
  /// This process decides no more.
  void refuseAll(const std::string& why);

 private:
  Context& c_;
  Grants& grants_;
  ShareChooser& chooser_;
  engine::Preemption preemption_;
  std::map<RequestId, Caller> callers_;
};

}  // namespace gs::extender
