#include "scheduler/reporter.h"

#include <algorithm>

#include "kapi/write.h"

namespace gs::scheduler {
namespace {

constexpr Duration kAfterConflict = std::chrono::milliseconds{200};  // the watch brings the newer version
constexpr Duration kAfterFailure = std::chrono::seconds{5};
constexpr int kCallsPerWrite = 2;  // the condition and its event

}  // namespace

void Reporter::waiting(const model::Uid& uid, const std::string& kind,
                       std::shared_ptr<const std::string> text) {
  Report& r = reports_[uid];
  r.kind = kind;
  r.text = std::move(text);
  r.wished = true;
  wished_.insert(uid);
}

void Reporter::silent(const model::Uid& uid, bool gone) {
  const auto it = reports_.find(uid);
  if (it == reports_.end()) { return; }
  it->second.wished = false;
  wished_.erase(uid);
  if (gone && it->second.in_flight == 0) { reports_.erase(it); }
}

bool Reporter::writing(const model::Uid& uid) const {
  const auto it = reports_.find(uid);
  return it != reports_.end() && it->second.in_flight != 0;
}

std::optional<Mono> Reporter::writableAt(const Report& r, const model::Pod& pod) {
  const bool says_it = pod.scheduled.status == "False" && pod.scheduled.reason == "Unschedulable" &&
                       pod.scheduled.message == *r.text;
  if (says_it) { return std::nullopt; }
  return r.written_kind == r.kind ? std::max(r.not_before, r.written_at + kSameKindGap) : r.not_before;
}

void Reporter::write(const model::Pod& pod, Report& r, Now now, kapi::Effects& out) {
  kapi::Call call = kapi::setUnschedulable(pod, "Unschedulable", *r.text, now.wall);
  call.token = kapi::makeToken(kOwner, next_++);
  call.lane = "pod/" + pod.uid.text;
  call.guarded = true;
  r.in_flight = call.token;
  r.written_kind = r.kind;
  r.written_text = r.text;
  r.written_at = now.mono;
  calls_[call.token] = pod.uid;
  ++in_flight_;
  out.emplace_back(std::move(call));
  kapi::EventNote note{model::Kind::Pod,   pod.key,      pod.uid, pod.revision, true,
                       "FailedScheduling", "Scheduling", *r.text};
  if (auto event = events_.record(note, now)) {
    event->token = kapi::makeToken(kOwner, next_++);
    calls_[event->token] = {};
    if (event->verb == kapi::Verb::MergePatch) { series_[event->token] = event->key; }
    ++in_flight_;
    out.emplace_back(*std::move(event));
  }
}

void Reporter::lookAgain(const model::Uid& uid, Report& r, Mono at) {
  if (!r.later) { later_.emplace(at, uid); }
  r.later = true;
}

void Reporter::pump(Mono mono, Now now, const std::function<bool(const model::Uid&)>& open,
                    kapi::Effects& out) {
  while (!later_.empty() && later_.begin()->first <= mono) {
    const model::Uid uid = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    if (const auto report = reports_.find(uid); report != reports_.end()) {
      report->second.later = false;
      wished_.insert(uid);
    }
  }
  for (auto it = wished_.begin(); it != wished_.end() && in_flight_ + kCallsPerWrite <= max_in_flight_;) {
    const auto found = reports_.find(*it);
    const model::Pod* pod = cache_.pod(*it);
    if (found == reports_.end() || !found->second.wished || pod == nullptr || pod->bound() || pod->deleting) {
      it = wished_.erase(it);
      continue;
    }
    Report& r = found->second;
    if (r.in_flight != 0 || open(*it)) {
      ++it;
      continue;
    }
    const auto at = writableAt(r, *pod);
    const bool as_written = r.written_kind == r.kind && *r.written_text == *r.text;
    if (at && *at <= mono) {
      write(*pod, r, now, out);
    } else if (at && !as_written) {
      lookAgain(*it, r, *at);
    }
    it = wished_.erase(it);
  }
}

std::optional<model::Uid> Reporter::handle(const kapi::Outcome& outcome, Now now) {
  const auto it = calls_.find(outcome.token);
  if (it == calls_.end()) { return std::nullopt; }
  const model::Uid uid = it->second;
  calls_.erase(it);
  --in_flight_;
  if (const auto series = series_.extract(outcome.token); series && outcome.notFound()) {
    events_.lost(series.mapped());
  }
  const auto found = reports_.find(uid);
  if (found == reports_.end()) { return uid; }
  Report& r = found->second;
  r.in_flight = 0;
  if (outcome.fate != kapi::Fate::Applied && outcome.http != 404 && outcome.http != 422) {
    const Duration wait = outcome.http == 409 ? kAfterConflict : kAfterFailure;
    r.not_before = now.mono + std::max(wait, outcome.retry_after);
    r.later = false;  // sooner than what was planned
    lookAgain(uid, r, r.not_before);
    r.written_kind.clear();
  }
  if (cache_.pod(uid) == nullptr) { reports_.erase(found); }
  return uid;
}

std::optional<Mono> Reporter::nextDue() const {
  return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
}

void Reporter::reset() {
  reports_.clear();
  wished_.clear();
  later_.clear();
  calls_.clear();
  series_.clear();
  in_flight_ = 0;
}

}  // namespace gs::scheduler
