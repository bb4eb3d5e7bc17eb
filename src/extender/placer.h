// Placer: requests that a pod be given a node (Filter, Predicate, Allocate), or be told where it would fit.
//
// A pod that was given a node keeps it for as long as the node is among the candidates and what it was given
// is still there. A caller is answered once its pod's annotations are known to be written; one whose pod has
// a write of another decision under way waits for that first. Where no write goes through, nobody is kept
// waiting. Its state is that of the grants. What it refers to must outlive it. One thread.
#pragma once

#include "extender/bindings.h"
#include "extender/found_notes.h"
#include "extender/grants/context.h"
#include "extender/grants/coordinator.h"
#include "extender/grants/grants.h"
#include "extender/note_writer.h"
#include "extender/reviews.h"
#include "extender/share_chooser.h"
#include "extender/wakes.h"

namespace gs::extender {

class Placer {
 public:
  struct Beside {
    ShareChooser& chooser;
    NoteWriter& writer;
    FoundNotes& found;
    Wakes& wakes;
    Reviews& reviews;
    Bindings& bindings;
    Coordinator& coordinator;
  };
  Placer(Context& context, Grants& grants, Beside beside) : c_{context}, grants_{grants}, b_{beside} {}

  /// Its candidates are of the present table of nodes.
  void place(Caller w);
  void look(const Caller& w);
  /// Its annotations are on the pod: who waits for that is answered.
  void written(Grant& grant, const model::Pod& pod);

 private:
  /// Answers for a pod that cannot or need not be given anything; false: it can.
  bool isAnswered(const Caller& w, const model::Pod& pod);
  bool isTold(Grant& grant, const Caller& w, bool its_node);
  [[nodiscard]] bool isTriedElsewhere(Grant& grant, const Caller& w, const model::Pod& pod);
  void choose(Caller w, const model::Pod& pod);
  void refuse(const Caller& w, const model::Pod& pod, ShareChooser::Choice choice);
  void showFirst(const Caller& w, const model::Pod& pod);
  void grant(Caller w, const model::Pod& pod, const sched::PodRequest& request, const Answer& chosen);
  void countIfUncertain(const sched::NodeState& node, sched::PodRequest request);
  void join(Grant& grant, Caller w, std::size_t position);
  void await(Grant& grant, Caller w);
  void tell(Grant& grant, Caller w);

  Context& c_;
  Grants& grants_;
  Beside b_;
};

}  // namespace gs::extender
