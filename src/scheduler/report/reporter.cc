#include "scheduler/report/reporter.h"

#include <algorithm>
#include <vector>

#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::scheduler {
namespace {

constexpr Duration kAfterFailure =
    std::chrono::seconds{5};       // at least; after a conflict the watch brings the newer version
constexpr int kCallsPerWrite = 2;  // the condition and its event

}  // namespace

void Reporter::waiting(const model::Uid& uid, const std::string& kind, sched::PodReason reason,
                       std::shared_ptr<const std::string> text) {
  Report& r = reports_[uid];
  if (const model::Pod* pod = cache_.pod(uid)) { r.ns = pod->key.ns; }
  r.kind = kind;
  r.reason = reason;
  r.text = std::move(text);
  r.wished = true;
  wish(uid, r.ns);
}

void Reporter::wish(const model::Uid& uid, const std::string& ns) { wished_[ns].insert(uid); }

void Reporter::unwish(const model::Uid& uid, const std::string& ns) {
  const auto it = wished_.find(ns);
  if (it == wished_.end()) { return; }
  it->second.erase(uid);
  if (it->second.empty()) { wished_.erase(it); }
}

void Reporter::silent(const model::Uid& uid, bool gone) {
  const auto it = reports_.find(uid);
  if (it == reports_.end()) { return; }
  it->second.wished = false;
  unwish(uid, it->second.ns);
  if (!gone) { return; }
  calls_.worked(uid);
  if (!calls_.open(uid)) { reports_.erase(it); }
}

bool Reporter::writing(const model::Uid& uid) const { return calls_.open(uid); }

std::optional<Mono> Reporter::writableAt(const Report& r, const model::Pod& pod) const {
  const bool says_it = pod.scheduled->status == "False" && pod.scheduled->reason == sched::nameOf(r.reason) &&
                       pod.scheduled->message == *r.text;
  if (says_it) { return std::nullopt; }
  const Mono not_before = calls_.notBefore(pod.uid);  // however often it is wished meanwhile
  return r.isOfWrittenKind() ? std::max(not_before, r.written_at + kSameKindGap) : not_before;
}

void Reporter::write(const model::Pod& pod, Report& r, Now now, kapi::Effects& out) {
  kapi::Call call = kapi::setUnschedulable(pod, sched::nameOf(r.reason), *r.text, now.wall);
  call.token = calls_.begin(pod.uid, {r.ns});
  call.ordering_key = "pod/" + pod.uid.text;
  call.leader_only = true;
  r.written_kind = r.kind;
  r.written_reason = r.reason;
  r.written_text = r.text;
  r.written_at = now.mono;
  in_flight_.take(r.ns);
  out.emplace_back(std::move(call));
  controller::EventNote note{kapi::kPod,         pod.key,      pod.uid, pod.revision, true,
                             "FailedScheduling", "Scheduling", *r.text};
  if (auto event = events_.record(note, now)) {
    Sent sent{r.ns};
    if (event->verb == kapi::Verb::MergePatch) { sent.series = event->key; }
    event->token = calls_.begin({}, std::move(sent));
    in_flight_.take(r.ns);
    out.emplace_back(*std::move(event));
  }
}

void Reporter::lookAgain(const model::Uid& uid, Report& r, Mono at) {
  if (!r.later) { later_.emplace(at, uid); }
  r.later = true;
}

/// What waits and may be written now, of one namespace.
void Reporter::pumpNamespace(const std::string& ns, Now now,
                             const std::function<bool(const model::Uid&)>& open, kapi::Effects& out) {
  auto& wished = wished_.at(ns);
  const auto room = [&] { return in_flight_.any(kCallsPerWrite) && in_flight_.free(ns) >= kCallsPerWrite; };
  for (auto it = wished.begin(); it != wished.end() && room();) {
    const auto found = reports_.find(*it);
    const model::Pod* pod = cache_.pod(*it);
    if (found == reports_.end() || !found->second.wished || pod == nullptr || pod->bound() || pod->deleting) {
      it = wished.erase(it);
      continue;
    }
    Report& r = found->second;
    if (calls_.open(*it) || open(*it)) {
      ++it;
      continue;
    }
    const auto at = writableAt(r, *pod);
    const bool as_written = r.isOfWrittenKind() && *r.written_text == *r.text;
    if (at && *at <= now.mono) {
      write(*pod, r, now, out);
      last_ = ns;
    } else if (at && !as_written) {
      lookAgain(*it, r, *at);
    }
    it = wished.erase(it);
  }
  if (wished.empty()) { wished_.erase(ns); }
}

void Reporter::pump(Mono mono, Now now, const std::function<bool(const model::Uid&)>& open,
                    kapi::Effects& out) {
  while (!later_.empty() && later_.begin()->first <= mono) {
    const model::Uid uid = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    if (const auto report = reports_.find(uid); report != reports_.end()) {
      report->second.later = false;
      wish(uid, report->second.ns);
    }
  }
  (void)calls_.takeDue(mono);
  if (wished_.empty() || !in_flight_.any(kCallsPerWrite)) { return; }
  std::vector<std::string> turn;  // those after the last one that was written to, then the others
  for (auto it = wished_.upper_bound(last_); it != wished_.end(); ++it) { turn.push_back(it->first); }
  for (auto it = wished_.begin(); it != wished_.upper_bound(last_); ++it) { turn.push_back(it->first); }
  for (const auto& ns : turn) {
    if (!in_flight_.any(kCallsPerWrite)) { return; }
    pumpNamespace(ns, now, open, out);
  }
}

void Reporter::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  const model::Uid& uid = call->key;
  in_flight_.giveBack(call->what.ns);
  if (call->what.series && outcome.notFound()) { events_.lost(*call->what.series); }
  if (uid.empty()) { return; }
  written_.emplace_back(uid, outcome.object);
  const auto found = reports_.find(uid);
  if (found == reports_.end()) { return; }
  Report& r = found->second;
  if (outcome.result != kapi::CallResult::Applied && outcome.http != 404 && outcome.http != 422) {
    const Duration at_least = outcome.http == 409 ? Duration{} : kAfterFailure;
    r.later = false;  // sooner than what was planned
    lookAgain(uid, r, calls_.failed(uid, now.mono, std::max(at_least, outcome.retry_after)));
    r.written_kind.clear();
  } else {
    calls_.worked(uid);
  }
  if (cache_.pod(uid) == nullptr) {
    calls_.worked(uid);
    reports_.erase(found);
  }
}

std::optional<Mono> Reporter::nextDue() const {
  return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
}

void Reporter::reset() {
  reports_.clear();
  wished_.clear();
  later_.clear();
  calls_.reset();
  in_flight_.reset();
  last_.clear();
  written_.clear();
}

}  // namespace gs::scheduler
