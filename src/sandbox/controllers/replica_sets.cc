#include "sandbox/controllers/replica_sets.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/time.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr std::int64_t kMostAtOnce = 500;

/// What a turn did, for the condition ReplicaFailure.
struct Changed {
  std::string reason;  // "" : nothing was refused
  std::string message;
  bool retry = false;
};

Changed createPods(Client& client, const Value& set, std::int64_t missing) {
  Value pod = podOf(set);
  pod.child("metadata").set("generateName", nameOf(set) + "-");
  std::int64_t left = std::min(missing, kMostAtOnce);
  for (std::int64_t batch = 1; left > 0; batch = std::min(2 * batch, left)) {
    Changed changed;
    for (std::int64_t i = 0; i < batch; ++i, --left) {
      const auto made = client.createPod(set, pod);
      if (made == Client::Made::Refused) { changed = {"FailedCreate", client.refusal(), true}; }
      if (made == Client::Made::Never || made == Client::Made::Enough) { return {}; }
    }
    if (changed.retry) { return changed; }
  }
  return {"", "", missing > kMostAtOnce};
}

/// Active pods of all ReplicaSets of the same Deployment, on each node.
std::map<std::string, int> crowdOf(Client& client, const Value& set) {
  std::map<std::string, int> crowd;
  const std::string ns{set["metadata"]["namespace"].str()};
  const Value& deployment = controllerOf(set);
  for (const ObjectPtr& other : client.all(kReplicaSets, ns)) {
    const bool related =
        deployment.isNull() ? uidOf(*other) == uidOf(set) : controllerOf(*other)["uid"] == deployment["uid"];
    if (!related) { continue; }
    for (const ObjectPtr& pod : client.all(kPods, ns)) {
      if (isControlledBy(*pod, *other) && isActive(*pod)) {
        ++crowd[std::string{(*pod)["spec"]["nodeName"].str()}];
      }
    }
  }
  return crowd;
}

Changed deletePods(Client& client, const Value& set, std::vector<ObjectPtr> pods, std::size_t surplus) {
  sortForRemoval(pods, crowdOf(client, set), client.now());
  pods.resize(std::min(surplus, pods.size()));
  Changed changed;
  for (const ObjectPtr& pod : pods) {
    const auto response = client.remove(*pod);
    if (succeeded(response)) {
      client.tell(set, "Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", nameOf(*pod)));
    } else if (response.code != 404) {
      changed = {"FailedDelete", reasonOf(response), true};
      client.tell(set, "Warning", "FailedDelete", "Error deleting: " + changed.message);
    }
  }
  return changed;
}

void setFailure(Value& status, const Changed& changed, Now now) {
  const Value& had = conditionOf(status, "ReplicaFailure");
  if (changed.reason.empty()) {
    dropCondition(status, "ReplicaFailure");
  } else if (had.isNull()) {
    status.child("conditions")
        .array()
        .push_back(json::Object{{"type", "ReplicaFailure"},
                                {"status", "True"},
                                {"lastTransitionTime", kapi::timeText(now.wall)},
                                {"reason", changed.reason},
                                {"message", changed.message}});
  }
}

/// The new status; and when a pod that is Ready will be available.
Again writeStatus(Client& client, const Value& set, const std::vector<ObjectPtr>& pods,
                  const Changed& changed) {
  Again again{changed.retry};
  const Value& labels = set["spec"]["template"]["metadata"]["labels"];
  const auto min_ready = set["spec"]["minReadySeconds"].intOr(0);
  std::int64_t labelled = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  for (const ObjectPtr& pod : pods) {
    const auto& wanted = labels.members();
    labelled += std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
      return (*pod)["metadata"]["labels"][label.first] == label.second;
    });
    if (!isReady(*pod)) { continue; }
    ++ready;
    if (isAvailable(*pod, min_ready, client.now())) {
      ++available;
    } else {
      again.lookAfter(untilAvailable(*pod, min_ready, client.now()));
    }
  }
  Value next = set;
  Value& status = next.child("status");
  status.set("replicas", static_cast<std::int64_t>(pods.size()));
  status.set("fullyLabeledReplicas", labelled);
  status.set("readyReplicas", ready);
  status.set("availableReplicas", available);
  status.set("observedGeneration", set["metadata"]["generation"]);
  setFailure(status, changed, client.now());
  if (!succeeded(client.replaceStatus(next))) { again.failed = true; }
  return again;
}

}  // namespace

Again syncReplicaSet(Client& client, const json::Value& set) {
  auto pods = claim(client, set, kPods, isActive);
  const auto forget_inactive = [](std::vector<ObjectPtr>& list) {
    std::erase_if(list, [](const ObjectPtr& pod) { return !isActive(*pod); });
  };
  forget_inactive(pods);
  const std::int64_t wanted = wantedReplicas(set);
  const auto there = static_cast<std::int64_t>(pods.size());
  Changed changed;
  if (!isDeleting(set) && there != wanted) {
    changed = there < wanted ? createPods(client, set, wanted - there)
                             : deletePods(client, set, pods, static_cast<std::size_t>(there - wanted));
    pods = claim(client, set, kPods, isActive);
    forget_inactive(pods);
  }
  return writeStatus(client, set, pods, changed);
}

}  // namespace gs::sandbox::controllers
