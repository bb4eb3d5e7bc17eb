// What became of a job's pods.
#include <algorithm>
#include <charconv>

#include "sandbox/controllers/job_turn.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kIndex = "batch.kubernetes.io/job-completion-index";

bool hasSucceeded(const Value& pod) { return pod["status"]["phase"].str() == "Succeeded"; }

}  // namespace

void JobTurn::look() { pods_ = claim(client_, job_, kPods, isActive); }

std::optional<std::int64_t> JobTurn::indexOf(const json::Value& pod) const {
  const auto text = annotation(pod, kIndex);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && out >= 0 && out < spec_["completions"].intOr(0) ? std::optional{out} : std::nullopt;
}

std::int64_t JobTurn::succeededSoFar() const { return status_["succeeded"].intOr(0); }

/// The first look at a job: what ended before is in its status.
/// More of it than status says was not written any more.
void JobTurn::begin() {
  if (std::exchange(record_.begun, true)) { return; }
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  for (const auto& pod : pods_) {
    if (!hasEnded(*pod)) { continue; }
    record_.counted.insert(uidOf(*pod));
    ++(hasSucceeded(*pod) ? succeeded : failed);
    if (indexed_ && hasSucceeded(*pod)) {
      if (const auto index = indexOf(*pod)) { completed_.insert(*index); }
    }
  }
  status_.set("succeeded", std::max(succeeded, succeededSoFar()));
  status_.set("failed", std::max(failed, status_["failed"].intOr(0)));
}

void JobTurn::countOne(const json::Value& pod, bool success) {
  record_.counted.insert(uidOf(pod));
  record_.alive.erase(uidOf(pod));
  if (success && indexed_) {
    if (const auto index = indexOf(pod)) { completed_.insert(*index); }
  } else if (success) {
    status_.set("succeeded", succeededSoFar() + 1);
  } else {
    status_.set("failed", status_["failed"].intOr(0) + 1);
  }
}

/// Each pod once: when it ended, was deleted, or is gone.
void JobTurn::count() {
  const bool waits_for_failure = spec_["podReplacementPolicy"].str() == "Failed";
  std::set<std::string> there;
  for (const auto& pod : pods_) {
    const std::string uid = uidOf(*pod);
    there.insert(uid);
    if (record_.counted.contains(uid)) { continue; }
    record_.alive[uid] = *pod;
    if (hasEnded(*pod) || (isDeleting(*pod) && !waits_for_failure)) { countOne(*pod, hasSucceeded(*pod)); }
  }
  const auto alive = record_.alive;
  for (const auto& [uid, last] : alive) {
    if (!there.contains(uid)) { countOne(last, hasSucceeded(last)); }
  }
  std::erase_if(record_.counted, [&](const std::string& uid) { return !there.contains(uid); });
  if (indexed_) { status_.set("succeeded", static_cast<std::int64_t>(completed_.size())); }
}

}  // namespace gs::sandbox::controllers
