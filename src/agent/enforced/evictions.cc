#include "agent/enforced/evictions.h"

#include <utility>

#include "kapi/write_eviction.h"

namespace gs::agent {
namespace {

constexpr std::size_t kMostDone = 4096;

/// Told, or there is no such pod any more. (A conflict is not: a pod of that name with another uid is soon
/// wanted no more.)
bool isOver(const kapi::Outcome& outcome) {
  return outcome.result == kapi::CallResult::Applied || outcome.notFound();
}

}  // namespace

void Evictions::want(std::map<model::Uid, model::ObjectKey> pods) {
  for (const auto& [uid, pod] : wanted_) {
    if (!pods.contains(uid)) { calls_.forget(uid); }
  }
  wanted_ = std::move(pods);
}

void Evictions::gone(const model::Uid& uid) {
  wanted_.erase(uid);
  done_.erase(uid);
  calls_.forget(uid);
}

void Evictions::tick(Now now, kapi::Effects& out) {
  (void)calls_.takeDue(now.mono);
  for (const auto& [uid, pod] : wanted_) {
    if (calls_.underWay() >= kUnderWay) { break; }
    if (done_.contains(uid) || !calls_.due(uid, now.mono)) { continue; }
    kapi::Call call = kapi::evictPod(pod, uid);
    call.token = calls_.begin(uid);
    out.emplace_back(kapi::Log{kapi::Level::Warn,
                               "a pod is evicted: it has a GPU that a lease of another pod holds",
                               {{"pod", pod.text()}, {"uid", uid.text}}});
    out.emplace_back(std::move(call));
  }
}

void Evictions::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = calls_.answered(outcome.token);
  if (!answer || answer->stale) { return; }
  if (isOver(outcome)) {
    calls_.worked(answer->key);
    if (done_.size() >= kMostDone) { done_.clear(); }
    done_.insert(answer->key);
    return;
  }
  (void)calls_.failed(answer->key, now.mono, outcome.retry_after);
  if (calls_.failures(answer->key) == 1) {
    out.emplace_back(kapi::Log{kapi::Level::Warn,
                               "a pod cannot be evicted yet",
                               {{"uid", answer->key.text}, {"why", outcome.message}}});
  }
}

}  // namespace gs::agent
