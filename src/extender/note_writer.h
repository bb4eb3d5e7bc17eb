// NoteWriter: brings what a pod was given onto the pod, as annotations, and takes it off again. From a grant
// that was decided to the end of that grant.
//
//   - Every PATCH carries the uid and the resourceVersion of a version of the pod that was unbound. So of
//     several only one can take effect, and none after a Binding. Where the outcome of one is unknown,
//     another one that changes the pod settles it.
//   - One call of a grant is under way at a time. None is tried again at once: the more failed in a row, the
//     later (NoteWrite). Calls that nobody waits for share a few slots, by namespace (WriteSlots).
//   - If nobody waits any more for annotations that could not be written, nobody was told of them: their
//     devices are free for others, and if the write lands after all, it is taken off again. Until a write of
//     such a pod goes through, the pod is given nothing (mustShow()).
//
// It owns what is known of writes that fail (WriteTroubles), and the times that are written. What its calls
// make possible it hands on to the Coordinator, which with `context`, `grants` and `calls` must outlive it. A
// grant that is handed in may have ended when a function returns. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "extender/grants/context.h"
#include "extender/grants/coordinator.h"
#include "extender/grants/grants.h"
#include "extender/grants/pod_calls.h"
#include "extender/grants/write_slots.h"
#include "extender/grants/write_troubles.h"

namespace gs::extender {

class NoteWriter {
 public:
  NoteWriter(Context& context, Grants& grants, PodCalls& calls, Coordinator& coordinator)
      : c_{context}, grants_{grants}, calls_{calls}, coordinator_{coordinator} {}

  /// Its annotations are to be on the pod. Those of an earlier process are written again, so that a PATCH of
  /// it that is still under way cannot take effect after somebody was answered.
  void write(Grant& grant);
  /// Its annotations are to go; the devices are free once they have. `idly`: nobody waits for that.
  void remove(Grant& grant, bool idly = false);
  /// What the pod says of itself is nobody's promise, and goes in a while. Nothing is reserved for it.
  void removeFound(const model::Pod& pod);
  /// Its next call, unless one is under way or it is too early.
  void advance(Grant& grant);
  /// What is to be done next for a grant, if there is one: what came to nothing is given up.
  void goOn(const model::Uid& uid);
  /// Nobody is to be told of it: others may have what it held. What may still land is taken off.
  void letGo(Grant& grant);
  void end(const model::Uid& uid);

  /// One of its calls.
  void answered(const PodCalls::Answered& call, const kapi::Outcome& outcome);
  /// Who waited for a slot goes on.
  void useFreeSlots();

  /// For a note. Kubelets serve pods in this order, so no two are equal.
  [[nodiscard]] std::uint64_t nextTime();
  /// A time that an earlier process wrote.
  void sawTime(std::uint64_t time);

  [[nodiscard]] WriteTroubles& troubles() { return troubles_; }
  [[nodiscard]] const WriteTroubles& troubles() const { return troubles_; }
  [[nodiscard]] std::string notWrittenText(const model::ObjectKey& pod) const;
  /// An orphan that shows whether its pod can be written: who asks about that is not kept waiting.
  [[nodiscard]] bool isShowing(const Grant& grant) const;
  /// Whether a write of the pod is to go through before it is given anything.
  [[nodiscard]] bool mustShow(const Grant* before, const model::Pod& pod) const;

  /// Its annotations were taken off since it was unbound last: a Binding of it comes late.
  [[nodiscard]] bool hasTakenBack(const model::Uid& uid) const { return taken_back_.contains(uid); }
  /// The pod is bound or gone.
  void forget(const model::Uid& uid);
  void reset();

 private:
  [[nodiscard]] const model::Pod* versionOf(const Grant& grant) const;
  [[nodiscard]] kapi::Call nextCall(Grant& grant, const model::Pod* pod, PodCalls::Purpose& purpose);
  void writeAnswered(Grant& grant, const kapi::Outcome& outcome);
  void removeAnswered(Grant& grant, const kapi::Outcome& outcome);
  void readAnswered(Grant& grant, const kapi::Outcome& outcome);
  void isOfAnother(Grant& grant);
  void nameIsGone(Grant& grant);
  [[nodiscard]] bool isForgotten(const Grant& grant, const kapi::Outcome& outcome) const;
  bool failed(Grant& grant, const kapi::Outcome& outcome);
  void refused(Grant& grant, std::string why);
  void restore(Grant& grant);
  void tryLater(Grant& grant, Duration at_least);
  void noteWorked(const Grant& grant);
  [[nodiscard]] static bool isInVain(const Grant& grant);
  void moveBack(Grant& grant, const model::Pod& pod);

  Context& c_;
  Grants& grants_;
  PodCalls& calls_;
  Coordinator& coordinator_;
  WriteTroubles troubles_;
  WriteSlots slots_{kIdleCalls, kIdleCallsOfNamespace};
  std::set<model::Uid> taken_back_;  // unbound pods
  std::uint64_t last_time_ = 0;      // of a note, nanoseconds
};

}  // namespace gs::extender
