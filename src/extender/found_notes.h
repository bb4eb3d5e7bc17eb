// FoundNotes: annotations on unbound pods that this process did not write. Whoever makes pods may write such.
//
// A promise of an earlier leader was on its pod before that one answered, so before this one led: what turns
// up later is nobody's promise and reserves nothing. What is found at that time is believed where it could be
// decided now: bound pods count first, then what is found, by the time that it names. (Of whole GPUs
// gpu-manager may have given the named ones to others: as many untouched ones will do.) Two that cannot both
// be true show that one is forged, not which: both count for a moment, in which the Binding that the promised
// one waits for comes; neither is told that it has it. What is not believed is taken off the pod after a
// while, without a hurry.
//
// What is believed becomes a grant that is `adopted`, until this process writes it anew. The grants, the
// chooser and the writer must outlive it. One thread.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "extender/grants/context.h"
#include "extender/grants/grants.h"
#include "extender/note_writer.h"
#include "extender/share_chooser.h"

namespace gs::extender {

class FoundNotes {
 public:
  FoundNotes(Context& context, Grants& grants, ShareChooser& chooser, NoteWriter& writer)
      : c_{context}, grants_{grants}, chooser_{chooser}, writer_{writer} {}

  /// This process begins to lead.
  void adoptAll();
  /// A pod without a grant: what it says of itself is nobody's promise, and goes in a while.
  void takeOff(const model::Pod& pod);
  /// It says that it was given a node.
  [[nodiscard]] bool isNoted(const model::Pod& pod) const;
  /// What was adopted before the quotas had been read.
  void recheckQuotas();
  /// The devices of a grant are there and have room for it beside all others. What we did not decide
  /// ourselves anybody may have written who makes pods: it must be what could be decided now.
  [[nodiscard]] bool holdsUp(const Grant& grant, const model::Pod& pod);

 private:
  [[nodiscard]] bool mayBeTrue(const model::Pod& pod) const;
  void adoptInOrder(const std::vector<const model::Pod*>& pods);
  bool adopt(const model::Pod& pod, bool is_overtaken);
  [[nodiscard]] sched::SharePicks ontoNoted(const sched::NodeState& node, sched::SharePicks picks) const;
  void contest(const std::set<std::pair<model::NodeName, int>>& devices);
  [[nodiscard]] bool isAllowed(const Grant& grant, const model::Pod& pod) const;
  [[nodiscard]] bool isPickedOtherwise(const Grant& grant, const model::Pod& pod) const;

  Context& c_;
  Grants& grants_;
  ShareChooser& chooser_;
  NoteWriter& writer_;
  bool quotas_unread_ = false;  // when this one began to lead
};

}  // namespace gs::extender
