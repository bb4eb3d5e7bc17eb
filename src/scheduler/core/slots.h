// Slots: who may have how many placements under way at once (R60).
//
// A placement is open from its decision until its pod is bound or everything was given back. It uses a slot
// while its next step is under way; one that waits (for a backoff to be over) uses none. Rules:
//   - in all, at most `most` slots are used, and a namespace uses no more than it leaves
//     (controller/fair_share.h);
//   - a namespace has at most as many placements open as its window: kFirst at first, one more for each
//     Binding that went through, up to kMost; kFirst again when one did not. So a namespace whose pods cannot
//     be written holds the GPUs of a few pods, and not those of all that wait;
//   - one that is parked waits for others, for as long as they want, and is none of its namespace's until it
//     goes on: volumes may take minutes to be made;
//   - one that is stuck (nothing can be written about its pod, so it cannot be taken back) leaves the window
//     to others of its namespace. These show first that they can be written (probes.h), so that few get
//     stuck; at most kMost are open.
// Every change of a placement may be told twice: no effect. One thread.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "controller/fair_share.h"
#include "model/ids.h"

namespace gs::scheduler {

class Slots {
 public:
  static constexpr int kFirst = 4;
  static constexpr int kMost = 24;  // fewer than the connections of the program (k8s/call_pool.h)

  explicit Slots(int most) : used_{most} {}

  /// Some namespace may begin one.
  [[nodiscard]] bool any() const { return used_.any(); }
  /// So many more may this namespace begin.
  [[nodiscard]] int free(const std::string& ns) const;

  void open(const model::Uid& pod, const std::string& ns);
  /// It waits; goOn() and open() end that.
  void wait(const model::Uid& pod);
  /// It waits for others; wait() ends that too.
  void park(const model::Uid& pod);
  void goOn(const model::Uid& pod);
  void close(const model::Uid& pod);
  void stuck(const model::Uid& pod);
  [[nodiscard]] bool anyStuck(const std::string& ns) const;
  /// A Binding of that namespace went through.
  void worked(const std::string& ns);
  void failed(const std::string& ns);
  [[nodiscard]] int used() const { return used_.used(); }
  /// Somebody may begin more than when this was last taken.
  [[nodiscard]] bool freed() const { return freed_; }
  [[nodiscard]] bool takeFreed() { return std::exchange(freed_, false); }
  void reset();

 private:
  struct Namespace {
    int open = 0;
    int stuck = 0;  // of these
    int parked = 0;
    int window = kFirst;
  };
  struct Placement {
    std::string ns;
    bool waits = false;
    bool stuck = false;
    bool parked = false;
  };
  void unpark(Placement& placement);

  controller::FairShare used_;
  bool freed_ = false;
  std::unordered_map<model::Uid, Placement> placements_;
  std::unordered_map<std::string, Namespace> namespaces_;  // those with a placement; the others begin anew
};

}  // namespace gs::scheduler
