#include "scheduler/report/claim_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.h"
#include "sched/doors/exact.h"

namespace gs::scheduler {

namespace {

constexpr const char* kUnused = "no pod that waits or runs names this claim";

using Running = const engine::Cache::ClaimPod*;

/// Those that come first, of any number.
std::vector<kapi::ClaimAllocation> firstOf(std::vector<Running> running) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(running.size(), kapi::kMaxAllocations));
  const auto listed = running.begin() + count;
  std::partial_sort(running.begin(), listed, running.end(), [](Running a, Running b) {
    if (a->bound_at != b->bound_at) { return a->bound_at < b->bound_at; }
    return a->pod->uid < b->pod->uid;
  });
  std::vector<kapi::ClaimAllocation> out;
  for (auto it = running.begin(); it != listed; ++it) {
    const model::Pod& pod = *(*it)->pod;
    out.push_back({pod.key.name, pod.uid, pod.node, *sched::allocatedIds(pod), pod.bound_at});
  }
  return out;
}

/// Of a claim that has pods with GPUs.
std::string othersWait(std::size_t count, const std::string& why) {
  if (count == 0) { return {}; }
  return fmt::format("{} more pod{}{}{}", count, count == 1 ? " waits" : "s wait", why.empty() ? "" : ": ",
                     why);
}

}  // namespace

kapi::ClaimStatus ClaimStatusWriter::compute(const model::GpuClaim& claim) const {
  kapi::ClaimStatus s;
  std::vector<Running> running;
  std::string waiting;
  std::size_t waiting_pods = 0;
  bool used = false;
  bool reserved = false;
  for (const auto& [uid, known] : cache_.podsOfClaim(claim.key)) {
    if (known.over) { continue; }
    used = true;
    if (!known.bound) {
      ++waiting_pods;
      if (waiting.empty()) { waiting = view_.why_waiting(uid); }
      if (!reserved) { reserved = view_.reserved(uid); }
    } else if (known.gpus) {
      running.push_back(&known);
    }
  }
  s.total = running.size();
  s.allocations = firstOf(std::move(running));
  if (!claim.invalid.empty()) {
    s.phase = "Failed";
    s.message = claim.invalid;
  } else if (s.total > 0) {
    s.phase = "Bound";
    s.message = othersWait(waiting_pods, waiting);
  } else {
    s.phase = reserved ? "Reserved" : "Pending";
    s.message = used ? waiting : kUnused;
  }
  return s;
}

/// Writes that claim's status if it has changed and may be written now; true:
/// nothing is left to do for it now.
bool ClaimStatusWriter::pumpOne(const model::ObjectKey& key, Mono now, kapi::Effects& out) {
  const model::GpuClaim* claim = cache_.claim(key);
  if (claim == nullptr) {
    written_.erase(key);
    calls_.forget(key);
    return true;
  }
  Written& w = written_[key];
  if (calls_.open(key)) { return false; }
  if (now < w.not_before) {
    lookAgain(key, w, w.not_before);
    return true;
  }
  pods_ += cache_.podsOfClaim(key).size();
  last_ = key;
  kapi::ClaimStatus status = compute(*claim);
  const bool overwritten = claim->revision > w.revision;  // by somebody, and status is never read
  if (w.known && status == w.status && w.claim == claim->uid && !overwritten) {
    w.not_before = now + kGap;  // finding that out costs a look at all its pods, too
    return true;
  }
  kapi::Call call = kapi::applyClaimStatus(key, claim->uid, std::max(claim->revision, w.revision), status);
  call.token = calls_.begin(key);
  call.leader_only = true;
  w = {claim->uid, w.revision, std::move(status), now + kGap, false, w.later};
  in_flight_.take(key.ns);
  out.emplace_back(std::move(call));
  return true;
}

/// Up to `end`; a namespace that has no more room is passed over as a whole.
void ClaimStatusWriter::pumpFrom(Claims::iterator it, Claims::iterator end, Mono now, kapi::Effects& out) {
  while (it != end && in_flight_.any() && pods_ < kPodsPerTurn) {
    if (in_flight_.free(it->ns) > 0) {
      it = pumpOne(*it, now, out) ? dirty_.erase(it) : std::next(it);
      continue;
    }
    const auto next = dirty_.lower_bound({it->ns + '\0', ""});
    const bool within = next != dirty_.end() && (end == dirty_.end() || *next < *end);
    it = within ? next : end;
  }
}

void ClaimStatusWriter::pump(Mono now, kapi::Effects& out) {
  (void)calls_.takeDue(now);
  while (!later_.empty() && later_.begin()->first <= now) {
    if (const auto w = written_.find(later_.begin()->second); w != written_.end()) {
      w->second.later = false;
    }
    dirty_.insert(later_.begin()->second);
    later_.erase(later_.begin());
  }
  const model::ObjectKey first = last_;
  pods_ = 0;
  pumpFrom(dirty_.upper_bound(first), dirty_.end(), now, out);
  pumpFrom(dirty_.begin(), dirty_.upper_bound(first), now, out);
}

void ClaimStatusWriter::lookAgain(const model::ObjectKey& claim, Written& w, Mono at) {
  if (!w.later) { later_.emplace(at, claim); }
  w.later = true;
}

void ClaimStatusWriter::handle(const kapi::Outcome& outcome, Now at, kapi::Effects& /*out*/) {
  const Mono now = at.mono;
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  const model::ObjectKey& key = call->key;
  in_flight_.giveBack(key.ns);
  if (call->stale) { return; }  // its claim went
  Written& w = written_.at(key);
  w.known = outcome.result == kapi::CallResult::Applied;
  if (const auto claim = outcome.object.as<model::GpuClaim>()) {
    w.revision = std::max(w.revision, claim->revision);
  }
  if (!w.known && outcome.http != 404) {
    // After a conflict the watch brings the newer claim.
    const Duration at_least = outcome.http == 409 ? kGap : Duration{std::chrono::seconds{5}};
    w.not_before = calls_.failed(key, now, std::max(at_least, outcome.retry_after));
    lookAgain(key, w, w.not_before);
  } else {
    calls_.worked(key);
  }
}

std::optional<Mono> ClaimStatusWriter::nextDue() const {
  if (pods_ >= kPodsPerTurn && !dirty_.empty()) { return Mono::min(); }
  return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
}

void ClaimStatusWriter::reset() {
  pods_ = 0;
  dirty_.clear();
  later_.clear();
  written_.clear();
  in_flight_.reset();
  calls_.reset();
}

}  // namespace gs::scheduler
