// How far a grant's annotations are written: what the API server is known to have of them, which call is
// under way, and from when on the next may leave.
//
//   Writing  --written()-->  Written  --begin()-->  Writing      another decision, or somebody changed them
//   Writing, Written  --remove()-->  Removing                    they are to go; then the grant ends
//   Removing  --begin()-->  Writing                              the pod was given a node again
//
// One call is under way at a time. After one that failed the next waits, the longer the more failed in a row;
// the read that tells what came of a write waits for a moment only.
// A PATCH whose outcome is unknown may still land: until that is settled the pod is read first, and what is
// written next changes it in any case. No clock is read. One thread.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "kapi/call.h"

namespace gs::extender {

class NoteWrite {
 public:
  // Where it stands.
  [[nodiscard]] bool isWriting() const { return stage_ == Stage::Writing; }
  [[nodiscard]] bool isWritten() const { return stage_ == Stage::Written; }
  [[nodiscard]] bool isRemoving() const { return stage_ == Stage::Removing; }
  [[nodiscard]] bool isUnderWay() const { return call_ != 0; }
  /// Some PATCH may still land.
  [[nodiscard]] bool isUnsettled() const { return unsettled_; }
  [[nodiscard]] bool mustRead() const { return read_first_; }
  /// Some call came to nothing since it was decided.
  [[nodiscard]] bool hasFailed() const { return has_failed_; }
  /// In a row, with those of earlier decisions.
  [[nodiscard]] int failures() const { return failures_; }
  /// They are nobody's promise: no reservation stands behind them.
  [[nodiscard]] bool isOrphan() const { return orphan_; }
  [[nodiscard]] bool mayLeave(Mono now) const { return !isUnderWay() && !isWritten() && next() <= now; }
  /// The next call needs one of the slots for calls that nobody waits for.
  [[nodiscard]] bool needsSlot(bool is_waited_for) const {
    return !is_waited_for && (idle_ || failures_ > 0);
  }
  /// When it may do something by itself. Mono::max(): not before something happens.
  [[nodiscard]] Mono due() const { return isUnderWay() || isWritten() || queued_ ? Mono::max() : next(); }

  // What is to be done.
  /// `rejections` in a row so far of this pod's writes. An orphan's pause is over: somebody waits now.
  void decided(int rejections);
  void begin();
  /// As begin(), though nobody waits for it.
  void beginIdly();
  void remove();
  void removeIdly();
  /// What the pod says is to go after a pause, without a hurry.
  void removeOrphan(Mono not_before, int rejections);
  /// Nobody was told of it, and nobody waits for it any more: what may be there is to go. An orphan, and in
  /// any case the pod is to change, which shows that it can be written again.
  void letGo();
  /// An orphan for whose pod somebody asks: it rests no longer than what somebody waits for.
  void hurry() {
    not_before_ = std::min(not_before_, rests_until_);
    read_not_before_ = std::min(read_not_before_, rests_until_);
  }
  /// Somebody else changed them: the first time they are mended at once, then ever more slowly. How often.
  int changedByOthers(Mono now);
  /// As after one failure: who asked was answered without waiting.
  void nobodyWaits();

  // What became of it.
  /// They are as they should be: what was found, kept, or is there again.
  void stands() { stage_ = Stage::Written; }
  void written();
  void queued(bool waits_for_slot) { queued_ = waits_for_slot; }
  void sent(kapi::Token call) { call_ = call; }
  /// False: it is another call.
  bool answered(kapi::Token call);
  /// A write took effect: whatever was sent before carries a resourceVersion of the past.
  void applied();
  /// What the API server has is another version than was thought.
  void readFirst() { read_first_ = true; }
  void mayLand() { unsettled_ = read_first_ = true; }
  void wasRead() { read_first_ = read_failed_ = false; }
  void readFailed() { read_failed_ = true; }
  /// It is to be read first, and could not be.
  [[nodiscard]] bool hasReadFailed() const { return read_failed_; }
  /// What was read shows that it took effect.
  void settled() { unsettled_ = false; }
  void failed(Mono now, int rejections, Duration at_least);
  void waitUntil(Mono not_before) { not_before_ = not_before; }

 private:
  [[nodiscard]] Mono next() const { return read_first_ ? read_not_before_ : not_before_; }
  enum class Stage : std::uint8_t { Writing, Written, Removing };
  Stage stage_ = Stage::Writing;
  kapi::Token call_ = 0;  // 0: nothing is under way
  bool read_first_ = false;
  bool read_failed_ = false;
  bool unsettled_ = false;
  bool orphan_ = false;
  bool idle_ = false;    // what is to be written next nobody waits for
  bool queued_ = false;  // it waits for a slot
  bool has_failed_ = false;
  int failures_ = 0;
  int changed_by_others_ = 0;
  Mono not_before_{};
  Mono read_not_before_{};
  Mono rests_until_{};  // for what somebody waits for; what nobody does may rest for longer
};

}  // namespace gs::extender
