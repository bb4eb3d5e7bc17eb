#include "sandbox/node/pod_lifecycle.h"

#include <algorithm>

namespace gs::sandbox {
namespace {

constexpr int kStoppedBySignal = 143;  // SIGTERM

/// One transition: the events, over the state that becomes the next one.
class Lifecycle {
 public:
  Lifecycle(const PodState& state, const Surroundings& around) : around_{around} { out.state = state; }

  PodTransition out;

  void operator()(const pod_event::Bound& e) {
    s_.phase = e.pod.finished ? PodPhase::Over : PodPhase::Waiting;
    if (!e.pod.finished) {
      s_.to_take = e.taken_after.has_value();
      dueIn(around_.node_exists ? e.taken_after.value_or(times_.start_after) : times_.orphan_after);
    }
    (*this)(pod_event::Changed{e.pod});
  }

  void operator()(const pod_event::Adopted& e) {
    s_.phase = PodPhase::Runs;
    s_.due = e.end;
    (*this)(pod_event::Changed{e.pod});
    out.changed = true;
  }

  void operator()(const pod_event::Changed& e) {
    out.changed = s_.pod.finished != e.pod.finished;
    s_.pod = e.pod;
    const bool lingers = times_.linger > Duration{};
    if (lingers && s_.phase == PodPhase::Waiting && e.pod.finished && e.pod.said_to_wait) {
      s_.phase = PodPhase::Unseen;
      dueIn(times_.linger);
      out.step = PodStep::RunUnseen;
      out.changed = true;
    }
    if (s_.phase == PodPhase::Unseen) { return; }
    if (e.pod.deleting && s_.phase != PodPhase::Stopping) {
      deleted();
    } else if (e.pod.finished && s_.phase == PodPhase::Runs && !s_.exit_code) {
      s_.exit_code = kStoppedBySignal;  // somebody else ended the pod (eviction): its containers are stopped
      dueIn(times_.stop_takes);
    }
  }

  void operator()(const pod_event::Gone&) {
    if (s_.phase == PodPhase::Unseen) {
      s_.phase = PodPhase::Lingering;
      return;
    }
    const bool containers = s_.phase == PodPhase::Runs || s_.phase == PodPhase::Stopping;
    out.changed = containers;
    if (!containers || (times_.linger == Duration{} && !around_.node_down)) {
      forget();
      return;
    }
    s_.phase = PodPhase::Lingering;
    dueIn(times_.linger);
  }

  void operator()(const pod_event::NodeCame&) {
    const Mono start = around_.now + times_.start_after;
    if (s_.phase == PodPhase::Waiting && s_.due && *s_.due > start) { s_.due = start; }
  }

  /// Its containers go with it.
  void operator()(const pod_event::NodeWent&) {
    switch (s_.phase) {
      case PodPhase::Lingering: forget(); break;
      case PodPhase::Unseen:
        s_.phase = PodPhase::Over;
        s_.due.reset();
        break;
      case PodPhase::Over: break;
      case PodPhase::Waiting:
      case PodPhase::Runs:
      case PodPhase::Stopping:
        s_.phase = PodPhase::Waiting;
        dueIn(times_.orphan_after);
        break;
    }
  }

  void operator()(const pod_event::Due&) {
    s_.due.reset();
    if (s_.phase == PodPhase::Lingering) {
      forget();
      out.changed = true;
    } else if (!around_.node_exists) {
      out.step = PodStep::Orphan;
    } else {
      dueOnItsNode();
    }
  }

  void operator()(const pod_event::Taken&) { dueIn(times_.start_after); }
  void operator()(const pod_event::Refused&) { s_.phase = PodPhase::Over; }
  void operator()(const pod_event::NotMounted&) { dueIn(times_.start_after); }
  void operator()(const pod_event::NotPrepared&) { dueIn(times_.prepare_again); }

  void operator()(const pod_event::Started&) {
    s_.phase = PodPhase::Runs;
    out.changed = true;
  }

  void operator()(const pod_event::Reported& e) {
    if (e.exit_code) {
      s_.exit_code = e.exit_code;
      dueIn({});
    } else if (e.run_for) {
      dueIn(*e.run_for);
    }
  }

  void operator()(const pod_event::Told& e) {
    if (s_.phase != PodPhase::Runs) { return; }
    s_.exit_code = e.exit_code;
    s_.due = Mono::min();
  }

 private:
  void dueIn(Duration by) { s_.due = around_.now + by; }

  void forget() {
    s_.due.reset();
    out.step = PodStep::Forget;
  }

  void deleted() {
    if (s_.phase == PodPhase::Runs) {
      s_.phase = PodPhase::Stopping;
      dueIn(std::min(times_.stop_takes, s_.pod.grace));
    } else if (around_.node_exists || !s_.due) {  // else nobody is there to see it
      dueIn({});
    }
  }

  void dueOnItsNode() {
    switch (s_.phase) {
      case PodPhase::Stopping: over(PodStep::Stop); break;
      case PodPhase::Unseen: over(s_.pod.deleting ? PodStep::Remove : PodStep::Nothing); break;
      case PodPhase::Over:
        if (s_.pod.deleting) { out.step = PodStep::Remove; }
        break;
      case PodPhase::Waiting:
        out.step = s_.pod.deleting ? PodStep::Remove : s_.to_take ? PodStep::Take : PodStep::Start;
        if (out.step == PodStep::Take) { s_.to_take = false; }
        break;
      case PodPhase::Runs:
        if (sidecarsRunOn()) {
          s_.main_ended = true;
          dueIn(times_.sidecar_takes);
          out.step = PodStep::EndMain;
        } else {
          over(PodStep::End);
        }
        break;
      case PodPhase::Lingering: break;
    }
  }

  void over(PodStep step) {
    s_.phase = PodPhase::Over;
    out.step = step;
    out.changed = true;
  }

  [[nodiscard]] bool sidecarsRunOn() const {
    return s_.pod.has_sidecars && times_.sidecar_takes > Duration{} && !s_.main_ended && !s_.pod.finished;
  }

  PodState& s_ = out.state;
  const Surroundings& around_;
  const PodTimes& times_ = around_.times;
};

}  // namespace

PodTransition next(const PodState& state, const PodEvent& event, const Surroundings& around) {
  Lifecycle lifecycle{state, around};
  std::visit(lifecycle, event);
  return lifecycle.out;
}

PodReport reportOf(PodStep step, const PodState& state, int by_itself) {
  if (step == PodStep::Start) { return {"Running", true}; }
  const int code = state.exit_code.value_or(step == PodStep::Stop ? kStoppedBySignal : by_itself);
  if (step == PodStep::EndMain) { return {nullptr, false, "PodCompleted", code}; }
  const char* phase = code == 0 ? "Succeeded" : "Failed";
  return {state.pod.finished ? nullptr : phase, false, code == 0 ? "PodCompleted" : "PodFailed", code, code};
}

}  // namespace gs::sandbox
