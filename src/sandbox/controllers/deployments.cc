#include "sandbox/controllers/deployments.h"

#include <algorithm>

#include "sandbox/controllers/deployment_sets.h"
#include "sandbox/controllers/deployment_status.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"
#include "sandbox/controllers/rollout_math.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

bool isPaused(const Value& deployment) { return deployment["spec"]["paused"].boolOr(false); }

/// Progressing says that it is paused, or goes on.
void notePause(Client& client, Value& deployment) {
  if (deployment["spec"]["progressDeadlineSeconds"].isNull()) { return; }
  const auto reason = std::string{conditionOf(deployment["status"], "Progressing")["reason"].str()};
  if (reason == "ProgressDeadlineExceeded" || isPaused(deployment) == (reason == "DeploymentPaused")) {
    return;
  }
  Value next = deployment;
  setDeploymentCondition(next.child("status"), "Progressing", "Unknown",
                         isPaused(deployment) ? "DeploymentPaused" : "DeploymentResumed",
                         isPaused(deployment) ? "Deployment is paused" : "Deployment is resumed",
                         client.now());
  auto response = client.replaceStatus(next);
  if (succeeded(response)) { deployment = std::move(response.body); }
}

/// Its size was changed since its sets were scaled last.
bool wasScaled(const Value& deployment, const DeploymentSets& sets) {
  const auto all = sets.all();
  const std::string wanted = std::to_string(wantedReplicas(deployment));
  return std::any_of(all.begin(), all.end(), [&](const Value& set) {
    const auto desired = annotation(set, kDesired);
    return wantedReplicas(set) > 0 && !desired.empty() && desired != wanted;
  });
}

/// The newest has all pods that are asked for, and they are available.
bool isSaturated(const Value& deployment, const DeploymentSets& sets) {
  if (!sets.newest()) { return false; }
  const std::int64_t wanted = wantedReplicas(deployment);
  return annotation(*sets.newest(), kDesired) == std::to_string(wanted) &&
         wantedReplicas(*sets.newest()) == wanted &&
         (*sets.newest())["status"]["availableReplicas"].intOr(0) == wanted;
}

/// In the middle of a rollout: every set keeps its part. The newest is served first when pods are added, and
/// the oldest when they are taken away; larger ones before smaller ones.
void scaleInProportion(const Value& deployment, DeploymentSets& sets) {
  struct Turn {
    std::optional<std::size_t> old;  // nullopt: the newest
    Value set;
  };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < sets.old().size(); ++i) {
    if (wantedReplicas(sets.old()[i]) > 0) { turns.push_back({i, sets.old()[i]}); }
  }
  if (sets.newest() && wantedReplicas(*sets.newest()) > 0) {
    turns.push_back({std::nullopt, *sets.newest()});
  }
  const std::int64_t allowed =
      wantedReplicas(deployment) == 0 ? 0 : wantedReplicas(deployment) + maxSurge(deployment);
  if (allowed > totalWanted(sets.all())) { std::reverse(turns.begin(), turns.end()); }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return wantedReplicas(a.set) > wantedReplicas(b.set);
  });
  std::vector<Value> order;
  order.reserve(turns.size());
  for (const Turn& turn : turns) { order.push_back(turn.set); }
  const auto sizes = inProportion(deployment, order);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    (void)(turns[i].old ? sets.scaleOld(*turns[i].old, sizes[i]) : sets.scaleNewest(sizes[i]));
  }
}

/// The Deployment's size went up or down, its template did not change.
void scaleSets(const Value& deployment, DeploymentSets& sets) {
  const std::int64_t wanted = wantedReplicas(deployment);
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < sets.old().size(); ++i) {
    if (wantedReplicas(sets.old()[i]) > 0) { active.push_back(i); }
  }
  const bool newest_active = sets.newest() && wantedReplicas(*sets.newest()) > 0;
  if (active.empty() && sets.newest()) {
    (void)sets.scaleNewest(wanted);
  } else if (active.size() == 1 && !newest_active) {
    (void)sets.scaleOld(active.front(), wanted);
  } else if (active.empty() && !sets.old().empty()) {
    (void)sets.scaleOld(sets.old().size() - 1, wanted);
  } else if (isSaturated(deployment, sets)) {
    for (const std::size_t i : active) { (void)sets.scaleOld(i, 0); }
  } else if (isRolling(deployment)) {
    scaleInProportion(deployment, sets);
  }
}

// ---- Recreate

/// Pods of old templates that still have containers.
bool oldPodsRun(Client& client, const DeploymentSets& sets, const Value& deployment) {
  for (const auto& pod : client.all(kPods, std::string{deployment["metadata"]["namespace"].str()})) {
    if (hasEnded(*pod)) { continue; }
    const bool old = std::any_of(sets.old().begin(), sets.old().end(),
                                 [&](const Value& set) { return isControlledBy(*pod, set); });
    if (old) { return true; }
  }
  return false;
}

Again recreate(Client& client, Value& deployment) {
  DeploymentSets sets{client, deployment, Newest::Find};
  bool scaled = false;
  for (std::size_t i = 0; i < sets.old().size(); ++i) {
    if (wantedReplicas(sets.old()[i]) > 0) { scaled = sets.scaleOld(i, 0) || scaled; }
  }
  if (scaled || oldPodsRun(client, sets, deployment)) { return writeRolloutStatus(client, deployment, sets); }
  DeploymentSets made{client, deployment, Newest::FindOrMake};
  (void)made.scaleNewest(wantedReplicas(deployment));
  if (isComplete(deployment, deployment["status"])) { made.cleanUp(); }
  return writeRolloutStatus(client, deployment, made);
}

// ---- RollingUpdate

bool growNewest(const Value& deployment, DeploymentSets& sets) {
  if (!sets.newest()) { return false; }
  const std::int64_t has = wantedReplicas(*sets.newest());
  const std::int64_t wanted = wantedReplicas(deployment);
  if (has == wanted) { return false; }
  return sets.scaleNewest(has > wanted ? wanted : newestMayHave(deployment, sets.all(), has));
}

/// Pods that are not available go first: they are missed by nobody.
std::int64_t dropUnavailable(DeploymentSets& sets, std::int64_t most) {
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < sets.old().size() && dropped < most; ++i) {
    const std::int64_t has = wantedReplicas(sets.old()[i]);
    const std::int64_t available = sets.old()[i]["status"]["availableReplicas"].intOr(0);
    if (has == 0 || has <= available) { continue; }
    const std::int64_t part = std::min(most - dropped, has - available);
    if (sets.scaleOld(i, has - part)) { dropped += part; }
  }
  return dropped;
}

std::int64_t dropAvailable(const Value& deployment, DeploymentSets& sets) {
  const std::int64_t spare =
      totalOf(sets.all(), "availableReplicas") - (wantedReplicas(deployment) - maxUnavailable(deployment));
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < sets.old().size() && dropped < spare; ++i) {
    const std::int64_t has = wantedReplicas(sets.old()[i]);
    if (has == 0) { continue; }
    const std::int64_t part = std::min(has, spare - dropped);
    if (sets.scaleOld(i, has - part)) { dropped += part; }
  }
  return dropped;
}

bool shrinkOld(const Value& deployment, DeploymentSets& sets) {
  if (totalWanted(sets.old()) == 0 || !sets.newest()) { return false; }
  const Value& newest = *sets.newest();
  const std::int64_t coming = wantedReplicas(newest) - newest["status"]["availableReplicas"].intOr(0);
  const std::int64_t needed = wantedReplicas(deployment) - maxUnavailable(deployment);
  const std::int64_t most = totalWanted(sets.all()) - needed - coming;
  if (most <= 0) { return false; }
  const std::int64_t dropped = dropUnavailable(sets, most);
  return dropAvailable(deployment, sets) + dropped > 0;
}

Again roll(Client& client, Value& deployment) {
  DeploymentSets sets{client, deployment, Newest::FindOrMake};
  if (!growNewest(deployment, sets) && !shrinkOld(deployment, sets) &&
      isComplete(deployment, deployment["status"])) {
    sets.cleanUp();
  }
  return writeRolloutStatus(client, deployment, sets);
}

}  // namespace

Again syncDeployment(Client& client, const json::Value& stored) {
  Value deployment = stored;
  if (isDeleting(deployment)) {
    const DeploymentSets sets{client, deployment, Newest::Find};
    return writeDeploymentStatus(client, deployment, sets);
  }
  notePause(client, deployment);
  if (!isPaused(deployment)) {
    Value looked_at = deployment;
    const DeploymentSets seen{client, looked_at, Newest::Find};
    deployment = std::move(looked_at);
    if (!wasScaled(deployment, seen)) {
      return isRolling(deployment) ? roll(client, deployment) : recreate(client, deployment);
    }
  }
  DeploymentSets sets{client, deployment, Newest::Find};
  scaleSets(deployment, sets);
  if (isPaused(deployment)) { sets.cleanUp(); }
  return writeDeploymentStatus(client, deployment, sets);
}

}  // namespace gs::sandbox::controllers
