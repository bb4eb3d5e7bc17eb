// Says why pods wait: the PodScheduled condition and the FailedScheduling event (R34). A pure machine.
//
// A report is a wish; it is written when no other write to that pod is open, when its kind or its reason
// differs from the last one written, or (both the same, other text) a minute after it. Nothing is written
// when the pod's condition says it already. A write that failed is made again after a while, longer each
// time. At most Config::max_pending_writes are in flight, so a wave of rejections never stands before
// Bindings; namespaces share them fairly and take turns. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "controller/event.h"
#include "controller/fair_share.h"
#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "engine/cache.h"
#include "kapi/call.h"
#include "sched/request/pod_reason.h"

namespace gs::scheduler {

class Reporter : public controller::Part {
 public:
  static constexpr Duration kSameKindGap = std::chrono::minutes{1};

  /// `max_in_flight`: at least 2, a condition and its event.
  Reporter(const engine::Cache& cache, controller::EventRecorder& events, int max_in_flight,
           controller::Parts& parts)
      : cache_{cache},
        events_{events},
        in_flight_{max_in_flight},
        calls_{parts.add(*this), {std::chrono::milliseconds{200}, std::chrono::minutes{1}}} {}

  /// The pod waits; `kind` is stable over numbers, `reason` the condition's. Replaces an earlier wish.
  void waiting(const model::Uid& uid, const std::string& kind, sched::PodReason reason,
               std::shared_ptr<const std::string> text);
  /// Nothing to say any more (it is being placed, or gone). Forgets it when `gone`.
  void silent(const model::Uid& uid, bool gone);
  /// A condition write to this pod is in flight.
  [[nodiscard]] bool writing(const model::Uid& uid) const;
  /// Issues what may be written now. `open(uid)`: a Binding or fence of the pod is open.
  void pump(Mono mono, Now now, const std::function<bool(const model::Uid&)>& open, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  /// Pods that were written to since this was last asked, and what the answers said.
  [[nodiscard]] std::vector<std::pair<model::Uid, model::Object>> takeWritten() {
    return std::exchange(written_, {});
  }
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

 private:
  struct Report {
    std::string ns;
    std::string kind;
    sched::PodReason reason{};
    std::shared_ptr<const std::string> text;
    std::string written_kind;
    sched::PodReason written_reason{};
    std::shared_ptr<const std::string> written_text;
    Mono written_at{};
    bool wished = false;
    bool later = false;  // stands in later_
    [[nodiscard]] bool isOfWrittenKind() const { return written_kind == kind && written_reason == reason; }
  };
  /// From when on what is wished may be written; nullopt: there is nothing to write.
  [[nodiscard]] std::optional<Mono> writableAt(const Report& r, const model::Pod& pod) const;
  void wish(const model::Uid& uid, const std::string& ns);
  void unwish(const model::Uid& uid, const std::string& ns);
  void pumpNamespace(const std::string& ns, Now now, const std::function<bool(const model::Uid&)>& open,
                     kapi::Effects& out);
  void lookAgain(const model::Uid& uid, Report& r, Mono at);
  void write(const model::Pod& pod, Report& r, Now now, kapi::Effects& out);

  const engine::Cache& cache_;
  controller::EventRecorder& events_;
  controller::FairShare in_flight_;
  std::unordered_map<model::Uid, Report> reports_;
  std::map<std::string, std::set<model::Uid>> wished_;  // by namespace, none empty
  std::string last_;                                    // the namespace that was last written to
  std::multimap<Mono, model::Uid> later_;
  struct Sent {
    std::string ns;
    std::optional<model::ObjectKey> series{};  // a PATCH of this event
  };
  controller::KeyedCalls<model::Uid, Sent> calls_;  // "": events
  std::vector<std::pair<model::Uid, model::Object>> written_;
};

}  // namespace gs::scheduler
