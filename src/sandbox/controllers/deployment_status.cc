#include "sandbox/controllers/deployment_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/time.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/rollout_math.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kProgressing = "Progressing";
constexpr const char* kArrived = "NewReplicaSetAvailable";
constexpr const char* kTooLate = "ProgressDeadlineExceeded";

std::int64_t count(const Value& status, const char* field) { return status[field].intOr(0); }

/// The counts of `deployment`'s status, and Available.
Value countedStatus(const Value& deployment, const DeploymentSets& sets, Now now) {
  const auto all = sets.all();
  Value status = deployment["status"];
  status.set("observedGeneration", deployment["metadata"]["generation"]);
  for (const char* field : {"replicas", "readyReplicas", "availableReplicas"}) {
    status.set(field, totalOf(all, field));
  }
  status.set("updatedReplicas", sets.newest() ? count((*sets.newest())["status"], "replicas") : 0);
  const std::int64_t available = count(status, "availableReplicas");
  status.set("unavailableReplicas", std::max<std::int64_t>(0, totalWanted(all) - available));
  if (available >= wantedReplicas(deployment) - maxUnavailable(deployment)) {
    setDeploymentCondition(status, "Available", "True", "MinimumReplicasAvailable",
                           "Deployment has minimum availability.", now);
  } else {
    setDeploymentCondition(status, "Available", "False", "MinimumReplicasUnavailable",
                           "Deployment does not have minimum availability.", now);
  }
  return status;
}

bool moved(const Value& before, const Value& status) {
  const auto old_pods = [](const Value& s) { return count(s, "replicas") - count(s, "updatedReplicas"); };
  return count(status, "updatedReplicas") > count(before, "updatedReplicas") ||
         old_pods(status) < old_pods(before) ||
         count(status, "readyReplicas") > count(before, "readyReplicas") ||
         count(status, "availableReplicas") > count(before, "availableReplicas");
}

/// How long until the deadline of a rollout that does not move; nothing left: it is over.
std::optional<Duration> timeLeft(const Value& deployment, Now now) {
  const Value& condition = conditionOf(deployment["status"], kProgressing);
  if (condition.isNull() || condition["reason"].str() == kArrived) { return std::nullopt; }
  if (condition["reason"].str() == kTooLate) { return Duration{}; }
  return std::chrono::seconds{deployment["spec"]["progressDeadlineSeconds"].intOr(0)} -
         since(condition["lastUpdateTime"].str(), now);
}

/// A set, or the Deployment where there is none yet.
std::string subjectOf(const Value& deployment, const DeploymentSets& sets) {
  return sets.newest() ? fmt::format("ReplicaSet \"{}\"", nameOf(*sets.newest()))
                       : fmt::format("Deployment \"{}\"", nameOf(deployment));
}

void setProgress(const Value& deployment, const DeploymentSets& sets, Value& status, Again& again, Now now) {
  const Value& before = deployment["status"];
  const std::string subject = subjectOf(deployment, sets);
  if (isComplete(deployment, status)) {
    setDeploymentCondition(status, kProgressing, "True", kArrived, subject + " has successfully progressed.",
                           now);
  } else if (moved(before, status)) {
    // written even if it was there: the deadline counts from now on
    const Value had = conditionOf(before, kProgressing);
    dropCondition(status, kProgressing);
    setDeploymentCondition(status, kProgressing, "True", "ReplicaSetUpdated", subject + " is progressing.",
                           now);
    if (had["status"].str() == "True") {
      status.child("conditions").array().back().set("lastTransitionTime", had["lastTransitionTime"]);
    }
  } else if (const auto left = timeLeft(deployment, now)) {
    if (*left <= Duration{}) {
      setDeploymentCondition(status, kProgressing, "False", kTooLate, subject + " has timed out progressing.",
                             now);
    } else {
      again.lookAfter(*left);
    }
  }
}

void setFailure(const DeploymentSets& sets, Value& status, Now now) {
  for (const Value& set : sets.all()) {
    const Value& failure = conditionOf(set["status"], "ReplicaFailure");
    if (failure.isNull()) { continue; }
    setDeploymentCondition(status, "ReplicaFailure", "True", std::string{failure["reason"].str()}.c_str(),
                           std::string{failure["message"].str()}, now);
    return;
  }
  dropCondition(status, "ReplicaFailure");
}

Again write(Client& client, const Value& deployment, Value status, Again again) {
  Value next = deployment;
  next.set("status", std::move(status));
  if (!succeeded(client.replaceStatus(next))) { again.failed = true; }
  return again;
}

}  // namespace

bool isComplete(const json::Value& deployment, const json::Value& status) {
  const std::int64_t wanted = wantedReplicas(deployment);
  return count(status, "updatedReplicas") == wanted && count(status, "replicas") == wanted &&
         count(status, "availableReplicas") == wanted &&
         count(status, "observedGeneration") >= deployment["metadata"]["generation"].intOr(0);
}

void setDeploymentCondition(json::Value& status, const char* type, const char* is, const char* reason,
                            const std::string& message, Now now) {
  const Value had = conditionOf(status, type);
  if (had["status"].str() == is && had["reason"].str() == reason) { return; }
  const std::string time = kapi::timeText(now.wall);
  const Value since_when = had["status"].str() == is ? had["lastTransitionTime"] : Value{time};
  dropCondition(status, type);
  status.child("conditions")
      .array()
      .push_back(json::Object{{"type", type},
                              {"status", is},
                              {"lastUpdateTime", time},
                              {"lastTransitionTime", since_when},
                              {"reason", reason},
                              {"message", message}});
}

Again writeDeploymentStatus(Client& client, const json::Value& deployment, const DeploymentSets& sets) {
  return write(client, deployment, countedStatus(deployment, sets, client.now()), sets.again());
}

Again writeRolloutStatus(Client& client, const json::Value& deployment, const DeploymentSets& sets) {
  Again again = sets.again();
  Value status = countedStatus(deployment, sets, client.now());
  const bool reckons = !deployment["spec"]["progressDeadlineSeconds"].isNull();
  if (!reckons) { dropCondition(status, kProgressing); }
  // one that came to its end is not looked at again until its template changes
  const bool arrived = count(status, "replicas") == count(status, "updatedReplicas") &&
                       conditionOf(deployment["status"], kProgressing)["reason"].str() == kArrived;
  if (reckons && !arrived) { setProgress(deployment, sets, status, again, client.now()); }
  setFailure(sets, status, client.now());
  return write(client, deployment, std::move(status), again);
}

}  // namespace gs::sandbox::controllers
