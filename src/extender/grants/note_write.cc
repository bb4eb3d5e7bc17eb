#include "extender/grants/note_write.h"

#include <algorithm>
#include <utility>

#include "kapi/retry_wait.h"

namespace gs::extender {
namespace {

constexpr Duration kLongestOfRemoval = std::chrono::minutes{1};
constexpr Duration kLongestOfOrphan = std::chrono::minutes{5};  // nothing depends on it
constexpr Duration kLongestFight = std::chrono::minutes{1};

/// Twice as long after each of `times`.
Duration doubled(int times, Duration longest) {
  Duration wait = kapi::retryWait(1, {});
  for (int i = 1; i < times && wait < longest; ++i) { wait *= 2; }
  return std::min(wait, longest);
}

}  // namespace

void NoteWrite::decided(int rejections) {
  if (orphan_ && failures_ == 0) { not_before_ = {}; }
  orphan_ = idle_ = has_failed_ = read_failed_ = false;
  failures_ = std::max(failures_, rejections);
}

void NoteWrite::begin() {
  stage_ = Stage::Writing;
  idle_ = false;
}

void NoteWrite::beginIdly() {
  stage_ = Stage::Writing;
  idle_ = true;
}

void NoteWrite::remove() { stage_ = Stage::Removing; }

void NoteWrite::removeIdly() {
  remove();
  idle_ = true;
}

void NoteWrite::removeOrphan(Mono not_before, int rejections) {
  removeIdly();
  orphan_ = true;
  not_before_ = not_before;
  failures_ = rejections;
}

void NoteWrite::letGo() {
  removeIdly();
  orphan_ = unsettled_ = true;
}

int NoteWrite::changedByOthers(Mono now) {
  stage_ = Stage::Writing;
  const int times = ++changed_by_others_;
  if (times == 1) { return times; }
  idle_ = true;
  not_before_ = std::max(not_before_, now + doubled(times - 1, kLongestFight));
  return times;
}

void NoteWrite::nobodyWaits() { failures_ = std::max(failures_, 1); }

void NoteWrite::written() {
  stage_ = Stage::Written;
  failures_ = 0;
  idle_ = false;
}

bool NoteWrite::answered(kapi::Token call) {
  if (call_ != call) { return false; }
  call_ = 0;
  return true;
}

void NoteWrite::applied() {
  unsettled_ = false;
  failures_ = 0;
}

void NoteWrite::failed(Mono now, int rejections, Duration at_least) {
  has_failed_ = true;
  failures_ = std::max(failures_ + 1, rejections);
  const Duration longest = orphan_ && !unsettled_ ? kLongestOfOrphan
                           : isRemoving()         ? kLongestOfRemoval
                                                  : kapi::RetryTerms{}.longest;
  not_before_ = now + std::max(doubled(failures_, longest), at_least);
  // What came of a write is soon read; a read that failed rests as a write does.
  read_not_before_ = read_failed_ ? not_before_ : now + std::max(kapi::retryWait(1, {}), at_least);
  rests_until_ = std::min(not_before_, now + std::max(kapi::RetryTerms{}.longest, at_least));
}

}  // namespace gs::extender
