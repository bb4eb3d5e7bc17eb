#include "sandbox/controllers/jobs.h"

#include <algorithm>

#include "sandbox/controllers/job_turn.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

/// When it came to its end; "" : it goes on.
std::string_view endOfJob(const Value& job) {
  for (const char* type : {"Complete", "Failed"}) {
    if (hasCondition(job["status"], type)) {
      return conditionOf(job["status"], type)["lastTransitionTime"].str();
    }
  }
  return {};
}

/// A job that is over is kept for spec.ttlSecondsAfterFinished.
Again expire(Client& client, const Value& job, std::string_view end) {
  const Value& seconds = job["spec"]["ttlSecondsAfterFinished"];
  if (seconds.isNull() || isDeleting(job)) { return {}; }
  Again again;
  const Duration left = std::chrono::seconds{seconds.intOr(0)} - since(end, client.now());
  if (left > Duration{}) {
    again.lookAfter(left);
  } else {
    const auto response = client.remove(job, json::Object{{"propagationPolicy", "Foreground"}});
    again.failed = !succeeded(response) && response.code != 404;
  }
  return again;
}

bool isMine(const Value& job) {
  const auto by = job["spec"]["managedBy"].str();
  return by.empty() || by == "kubernetes.io/job-controller";
}

}  // namespace

Again Jobs::sync(Client& client, const json::Value& job) {
  if (const auto end = endOfJob(job); !end.empty()) { return expire(client, job, end); }
  if (!isMine(job)) { return {}; }
  return JobTurn{client, job, records_[uidOf(job)]}.run();
}

void Jobs::podGone(const std::string& job_uid, const json::Value& pod) {
  const auto record = records_.find(job_uid);
  if (record == records_.end()) { return; }
  const auto there = record->second.alive.find(uidOf(pod));
  if (there != record->second.alive.end()) { there->second = pod; }
}

}  // namespace gs::sandbox::controllers
