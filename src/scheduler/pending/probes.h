// Whether anything can be written about a pod: a fence, before it is given anything, where others of its
// namespace are stuck (slots.h). A pod that is probed has a slot meanwhile, and no GPU. A part of the
// scheduler's; one thread.
#pragma once

#include <map>

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"
#include "scheduler/core/slots.h"
#include "scheduler/pending/pending_pods.h"

namespace gs::scheduler {

class Probes : public controller::Part {
 public:
  Probes(Context& context, Slots& slots, PendingPods& pending)
      : c_{context}, slots_{slots}, pending_{pending}, calls_{c_.parts.add(*this)} {}

  void probe(const model::Pod& pod);
  [[nodiscard]] bool underWay(const model::Uid& uid) const { return is(uid, State::UnderWay); }
  [[nodiscard]] bool wentThrough(const model::Uid& uid) const { return is(uid, State::WentThrough); }
  [[nodiscard]] bool failed(const model::Uid& uid) const { return is(uid, State::Failed); }
  /// Nobody needs to know any more.
  void end(const model::Uid& uid);
  void podEnded(const model::Uid& uid) override { end(uid); }
  void podBound(const model::Pod& pod) override { end(pod.uid); }

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void reset() override;
  [[nodiscard]] std::size_t callsUnderWay() const { return calls_.underWay(); }
  [[nodiscard]] std::size_t size() const override { return states_.size(); }

 private:
  enum class State : std::uint8_t { UnderWay, WentThrough, Failed };
  [[nodiscard]] bool is(const model::Uid& uid, State state) const {
    const auto it = states_.find(uid);
    return it != states_.end() && it->second == state;
  }

  Context& c_;
  Slots& slots_;
  PendingPods& pending_;
  controller::KeyedCalls<model::Uid> calls_;
  std::map<model::Uid, State> states_;
};

}  // namespace gs::scheduler
