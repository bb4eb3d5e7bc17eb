// The scheduler and the extender as one machine: one engine, one ledger, one leadership. What either decides
// the other counts at once. Composed in the open, of what both show: the scheduler takes an event in, the
// extender follows it into the lead or out of it, the scheduler decides, the extender settles; and where that
// changed the ledger, the scheduler decides again. Requests about pods that a kube-scheduler places and that
// ask for GPUs at a door of ours are the scheduler's (offered_pods.h), all others the extender's.
// One thread; the scheduler must outlive it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/event_sender.h"
#include "extender/extender.h"
#include "extender/protocol/front_desk.h"
#include "kapi/call.h"
#include "scheduler/scheduler.h"
#include "serve/combined/offered_pods.h"

namespace gs::serve {

class Combined {
 public:
  Combined(scheduler::Scheduler& scheduler, const extender::Config& config, Rng rng);
  Combined(const Combined&) = delete;
  Combined& operator=(const Combined&) = delete;

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  [[nodiscard]] kapi::Effects ask(extender::RequestId request_id, extender::Request request, Now now);
  [[nodiscard]] extender::NodeTablePtr table() { return extender_.table(); }
  /// After each of the above.
  [[nodiscard]] std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers();
  /// SIGTERM: nothing new is decided; requests that were asked before are answered once their writes are.
  void stopTaking();
  [[nodiscard]] bool underWay() const;
  /// After stopTaking(): whoever still waits is refused. Then takeAnswers().
  void giveUp() { extender_.giveUp(); }
  [[nodiscard]] const std::string& failure() const { return scheduler_.failure(); }
  /// But for whether requests are answered, which who sends them on knows (extender/status_page.h).
  [[nodiscard]] Readiness readiness() const { return scheduler_.readiness(); }
  [[nodiscard]] const extender::Extender& extender() const { return extender_; }
  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return scheduler_; }

 private:
  void ask(extender::Answerer& answerer, extender::RequestId request_id, extender::Request request, Now now,
           kapi::Effects& out);
  void follow(Now now);
  void decide(Now now, kapi::Effects& out);
  void settle(Now now, kapi::Effects& out);

  scheduler::Scheduler& scheduler_;
  bool taking_ = true;
  std::uint64_t seen_ = 0;  // change of the ledger up to which the scheduler has looked
  extender::Extender extender_;
  OfferedPods offered_{scheduler_, extender_};
  const extender::FrontDesk desk_;
  controller::EventRecorder recorder_;
  controller::Parts parts_;
  controller::EventSender events_;
};

/// As those of the scheduler and of the extender.
[[nodiscard]] std::string stateMetrics(const Combined& both);

}  // namespace gs::serve
