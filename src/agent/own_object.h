// OwnObject: this node's GpuNodeStatus in the API, as this agent knows it, and the calls that make it what it
// is to be. It is in one phase at a time, each of which wants one call:
//
//   phase    what is known of it                    its call
//   Unread   nothing                                get
//   Read     what stood there at the start,         apply the object itself, owned by the Node,
//            or that it is gone                     once the Node's uid is known
//   Applied  it is there, and as it was last told   apply its status, when that changed or is due
//   Writing  a status is on its way                 none
//   Behind   it was written since: by another one,  get
//            or by a status that landed late
//
//   from     what is answered                       to
//   Unread   it is there, or not found              Read
//   Read     applied                                Applied
//            anything else                          Read, and the Node is to be read again
//   Applied  (a status leaves)                      Writing
//   Writing  applied                                Applied
//            409                                    Behind
//            not found                              Read, and the Node is to be read again
//            anything else                          Applied
//   Behind   it is there                            Applied, or Read where the scheduler keeps it
//            not found                              Read, and the Node is to be read again
//   All other answers leave it in its phase. What failed is tried again after a wait (calls.h).
//
// A status carries the resourceVersion of the object that it was decided on, so one that lands after another
// is refused (409). Nothing is written before it is known what stood there.
// Beside that: where the answer to a status shows GPUs that were not in it, others wrote them. One patch
// takes them out, in whichever phase, and no status leaves before its answer.
//
// Where no agent was, the scheduler keeps the object of a node whose GPUs a DRA driver publishes. The apply
// makes it ours, by its label. Then the same patch takes those GPUs out, so that nothing of them is left in
// the first status; where it is not applied that leads to Behind. `enforcement: dra` is the scheduler's word:
// where the last answer showed it, it is left as it is.
//
// observedTime is that of the last look at the containers that counts. Of two that come to stand there the
// later look was made when the earlier one stood there already: so none counts that comes while a status is
// under way, or before it is known what stands there (Unread, Behind). The first that counts after that is
// written at once. Without any it stays as it was, or is the time of the first write.
//
// All calls go out through `calls`, which must live as long. One thread; time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/calls.h"
#include "agent/kinds.h"
#include "agent/pace.h"
#include "agent/status.h"
#include "model/object.h"

namespace gs::agent {

class OwnObject {
 public:
  enum class Phase : std::uint8_t { Unread, Read, Applied, Writing, Behind };
  /// Which boot of the machine the object spoke of that stood there at the start.
  enum class Boot : std::uint8_t { Unknown, This, Other };
  struct Written {
    NodeView view;
    std::string observed_time;
    Mono at{};  // when that was answered
  };
  /// What an answer says that others than this object go by.
  struct News {
    /// What stands there, until this process has written a status: GPUs, users and conditions go on from it.
    model::Ptr<OwnStatus> stands{};
    /// A status was written: the ids of the GPUs in the list that were not in it.
    std::optional<std::vector<int>> of_others{};
  };

  OwnObject(model::NodeName node, std::string boot_id, Pace pace, Calls& calls);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] Boot boot() const;
  /// The scheduler wrote there that a DRA driver prepares the node's GPUs, as far as that was read.
  [[nodiscard]] bool saysDra() const { return says_dra_; }
  /// The last status that was written; nullptr: none by this process.
  [[nodiscard]] const Written* written() const { return written_ ? &*written_ : nullptr; }
  [[nodiscard]] Duration calm() const { return pace_.calm(); }

  /// Each sends its call, if it is time for it.
  void read(Now now, kapi::Effects& out);
  void apply(Now now, kapi::Effects& out);
  void takeOutOthers(Now now, kapi::Effects& out);
  /// Of a status: only if mayWrite(). What stands there already is written when it is due.
  void write(NodeView view, Now now, kapi::Effects& out);
  [[nodiscard]] bool mayWrite(Mono now) const;
  /// When a status is due next; nullopt: that is not up to time.
  [[nodiscard]] std::optional<Mono> nextWrite() const;

  /// It cannot be applied before ownedBy().
  [[nodiscard]] bool needsOwner() const;
  /// The uid of the Node, as it was read last.
  void ownedBy(const model::Uid& node) { owner_ = node; }
  /// The container runtime answered.
  void containersSeen(Now now);
  /// One of its calls was; not Node.
  [[nodiscard]] News answered(Calls::What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);

 private:
  [[nodiscard]] News readAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  [[nodiscard]] News applyAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  [[nodiscard]] News writeAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void writeFailed(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void takeOutAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  /// In whichever answer it came.
  void isNow(const OwnStatus& own);
  /// What stands in the API, as an answer shows it that is not the one to our last write.
  [[nodiscard]] News learn(const model::Ptr<OwnStatus>& own);
  /// What the answer to our last write shows.
  [[nodiscard]] News compare(const kapi::Outcome& outcome);
  /// Somebody deleted it, or its Node went and took it along.
  void isGone();
  [[nodiscard]] model::ObjectKey key() const { return {"", node_.text}; }

  const model::NodeName node_;
  const std::string boot_id_;
  Calls& calls_;
  Pace pace_;
  Phase phase_ = Phase::Unread;
  model::Uid owner_;                // of the Node; "" it is to be read
  std::string boot_before_;         // of what stood there: once the object is applied it names this boot
  model::Revision revision_ = 0;    // as it was told last; 0: not told
  bool says_dra_ = false;           // likewise: its status.enforcement is the scheduler's
  bool is_by_hand_ = false;         // what stands there counts, though nobody looked: it gets no label
  std::string observed_;            // the last look at containers that counts
  bool owes_look_ = false;          // that is of before what was learned last
  Written sending_;                 // of the write under way
  std::optional<Written> written_;  // the last one
  int conflicts_ = 0;               // of writes of the status, in a row
  model::Revision others_at_ = 0;   // of the status that shows GPUs of others, or a driver's; 0: none does
};

}  // namespace gs::agent
