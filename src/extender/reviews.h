// Reviews: what becomes of grants as their pods change, and as time passes. A grant ends when its pod is
// bound, gone, or has ended; when its scheduler gave it up or forgot it; or when the pod is another one than
// was asked for. Annotations that somebody else changed are mended. It owns the events that users are to be
// told of. What it refers to must outlive it. One thread.
#pragma once

#include <utility>
#include <vector>

#include "controller/event.h"
#include "extender/found_notes.h"
#include "extender/grants/context.h"
#include "extender/grants/coordinator.h"
#include "extender/grants/grants.h"
#include "extender/note_writer.h"
#include "extender/share_chooser.h"
#include "extender/wakes.h"

namespace gs::extender {

class Reviews {
 public:
  struct Beside {
    ShareChooser& chooser;
    NoteWriter& writer;
    FoundNotes& found;
    Wakes& wakes;
    Coordinator& coordinator;
  };
  Reviews(Context& context, Grants& grants, Beside beside) : c_{context}, grants_{grants}, b_{beside} {}

  /// The pod changed.
  void review(const model::Uid& uid);
  /// Something of the grant is due.
  void tick(Grant& grant);

  /// Its scheduler said since its annotations were written that it is not scheduled.
  void lookWhetherGivenUp(Grant& grant, const model::Pod& pod) const;
  /// The request was about another pod than this one is.
  void drop(Grant& grant, const model::Pod& pod);
  /// Its scheduler was told the node that it has, and says that the pod is not scheduled, or asks again and
  /// again. Not of a gang: there the others may be what is waited for.
  void noteIfInVain(Grant& grant, const model::Pod& pod);

  /// Events for users, to be sent.
  [[nodiscard]] std::vector<controller::EventNote> takeNotes() { return std::exchange(notes_, {}); }

 private:
  void bound(const Grant* grant, const model::Pod& pod);
  void reviewUnbound(Grant& grant, const model::Pod& pod);
  void changedByOthers(Grant& grant);

  Context& c_;
  Grants& grants_;
  Beside b_;
  std::vector<controller::EventNote> notes_;
};

}  // namespace gs::extender
