// gpu-admission's machine: an extender with an engine of its own, fed by watches of pods and nodes.
//
// A standby applies all events and answers nothing. A new leader decides once both kinds have caught up with
// what the API server had when it began to lead (engine/cache_sync.h): what an earlier leader wrote is then
// known. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/readiness.h"
#include "controller/event_sender.h"
#include "engine/cache_sync.h"
#include "engine/informers.h"
#include "extender/extender.h"
#include "kapi/call.h"

namespace gs::extender {

class Standalone {
 public:
  Standalone(Config config, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  [[nodiscard]] kapi::Effects ask(RequestId request_id, Request request, Now now);
  [[nodiscard]] NodeTablePtr table() { return extender_.table(); }
  /// After each of the above.
  [[nodiscard]] std::vector<std::pair<RequestId, Answer>> takeAnswers() { return extender_.takeAnswers(); }
  /// SIGTERM: requests are refused from now on; those that were asked before are answered once their writes
  /// are.
  void stopTaking();
  [[nodiscard]] bool underWay() const { return extender_.underWay(); }
  /// After stopTaking(): whoever still waits is refused. Then takeAnswers().
  void giveUp() { extender_.giveUp(); }

  /// But for whether requests are answered, which who sends them on knows (status_page.h).
  [[nodiscard]] Readiness readiness() const;
  [[nodiscard]] const std::string& failure() const { return informers_.failure(); }
  [[nodiscard]] const Extender& extender() const { return extender_; }
  [[nodiscard]] const engine::Engine& engine() const { return engine_; }

 private:
  [[nodiscard]] kapi::Effects takeEffects();
  void led(const kapi::Leadership& leadership);
  void settle();
  void log(kapi::Level level, std::string message);
  void report();

  controller::Owners owners_;
  engine::Engine engine_;
  Rng rng_;
  engine::Informers informers_;
  controller::EventRecorder recorder_;
  controller::Parts parts_{owners_};
  controller::EventSender events_;
  engine::CacheSync cache_sync_;
  Extender extender_;
  FrontDesk desk_;
  bool leads_ = false;  // we hold the leader lease
  bool taking_ = true;
  std::uint64_t term_ = 0;
  Now now_{};
  kapi::Effects out_;
};

}  // namespace gs::extender
