#include "sandbox/controllers/controllers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "apiserver/handlers/api.h"
#include "apiserver/meta/label_selector.h"
#include "sandbox/controllers/budgets.h"
#include "sandbox/controllers/client.h"
#include "sandbox/controllers/daemon_sets.h"
#include "sandbox/controllers/deployments.h"
#include "sandbox/controllers/device_claims.h"
#include "sandbox/controllers/ephemeral.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/replica_sets.h"
#include "sandbox/controllers/stateful_sets.h"
#include "sandbox/controllers/volume_match.h"
#include "sandbox/controllers/volumes.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr std::array<const char*, 9> kControlled{kDeployments, kReplicaSets, kStatefulSets,
                                                 kDaemonSets,  kJobs,        kVolumes,
                                                 kClaims,      kBudgets,     kDeviceClaims};
constexpr int kMostDoublings = 16;

bool isControlled(std::string_view resource) {
  return std::find(kControlled.begin(), kControlled.end(), resource) != kControlled.end();
}

/// Who may own this kind of object.
std::vector<const char*> ownersOf(std::string_view resource) {
  if (resource == kPods) { return {kReplicaSets, kStatefulSets, kDaemonSets, kJobs}; }
  if (resource == kReplicaSets) { return {kDeployments}; }
  return {};
}

/// The controllers of pods look at it, beside those that own it.
bool hasClaimsToMake(const Value& pod) { return hasDeviceClaims(pod) || hasEphemeral(pod); }

std::string_view kindOf(std::string_view resource) {
  if (resource == kDeployments) { return "Deployment"; }
  if (resource == kReplicaSets) { return "ReplicaSet"; }
  if (resource == kDaemonSets) { return "DaemonSet"; }
  return resource == kStatefulSets ? "StatefulSet" : "Job";
}

}  // namespace

Controllers::Controllers(apiserver::Api& api, Config config)
    : api_{api}, config_{config}, position_{api.store().historyEnd()} {}

// ---- seeing what changed

std::optional<Mono> Controllers::nextDue(Now now) {
  observe(now);
  if (due_.empty()) { return std::nullopt; }
  return due_.begin()->first;
}

void Controllers::observe(Now now) {
  const apiserver::Store& store = api_.store();
  if (std::exchange(begins_, false)) { lookAtAll(now); }
  for (; position_ < store.historyEnd(); ++position_) {
    const apiserver::HistoryEntry* entry = store.entry(position_);
    if (entry == nullptr) {  // forgotten before it was read
      position_ = store.historyEnd();
      lookAtAll(now);
      return;
    }
    changed(*entry, now);
  }
}

void Controllers::lookAtAll(Now now) {
  for (const char* resource : kControlled) {
    const auto [first, last] = api_.store().range(resource);
    for (auto it = first; it != last; ++it) { plan(it->first, now.mono + config_.react_after); }
  }
  const auto [first, last] = api_.store().range(kPods);
  for (auto it = first; it != last; ++it) {
    if (hasClaimsToMake(*it->second.object)) { plan(it->first, now.mono + config_.react_after); }
  }
}

void Controllers::changed(const apiserver::HistoryEntry& entry, Now now) {
  const Key& key = entry.key;
  const bool gone = entry.after == nullptr;
  if (isControlled(key.resource)) {
    if (gone) {
      forget(key, *entry.before);
    } else {
      plan(key, now.mono + config_.react_after);
    }
  }
  if (key.resource == kNodes) { planDaemons(entry, now); }
  if (key.resource == kVolumes || key.resource == kClaims || key.resource == kPods) {
    planVolumes(entry, now);
  }
  if (key.resource == kStorageClasses) { planUnboundClaims(now); }
  if (key.resource == kPods) { planPod(entry, now); }
  planBudgets(entry, now);
  if (ownersOf(key.resource).empty()) { return; }
  for (const auto& object : {entry.before, entry.after}) {
    if (object) { planOwners(key, *object, now); }
  }
  if (gone && key.resource == kPods) { planGrandparent(key, *entry.before, now); }
}

void Controllers::planOwners(const Key& key, const json::Value& object, Now now) {
  const Mono soon = now.mono + config_.react_after;
  const Value& controller = controllerOf(object);
  for (const char* resource : ownersOf(key.resource)) {
    if (controller["kind"].str() == kindOf(resource)) {
      plan({resource, key.ns, std::string{controller["name"].str()}}, soon);
    }
    if (!controller.isNull()) { continue; }
    const auto& objects = api_.store().objects();
    for (auto it = objects.lower_bound({resource, key.ns, ""}); it != objects.end(); ++it) {
      if (it->first.resource != resource || it->first.ns != key.ns) { break; }
      if (apiserver::selects((*it->second.object)["spec"]["selector"], object["metadata"]["labels"])) {
        plan(it->first, soon);
      }
    }
  }
}

void Controllers::planVolumes(const apiserver::HistoryEntry& entry, Now now) {
  const Mono soon = now.mono + config_.react_after;
  const Value& object = entry.after ? *entry.after : *entry.before;
  if (entry.key.resource == kPods) {
    for (const auto& claim : claimsOf(object)) { plan({kClaims, entry.key.ns, claim}, soon); }
  } else if (entry.key.resource == kVolumes) {
    const Value& of = object["spec"]["claimRef"];
    if (of.isObject()) {
      plan({kClaims, std::string{of["namespace"].str()}, std::string{of["name"].str()}}, soon);
    } else if (entry.after && object["status"]["phase"].str() == "Available") {
      planUnboundClaims(now);
    }
  } else {
    planVolumesOf(object, soon);
    const Value& owner = controllerOf(object);
    const bool is_lost = entry.after == nullptr && owner["kind"].str() == "Pod";
    if (is_lost) { plan({kPods, entry.key.ns, std::string{owner["name"].str()}}, soon); }
  }
}

/// The one that it has, and those that are for it and that it did not take.
void Controllers::planVolumesOf(const json::Value& claim, Mono when) {
  const auto has = claim["spec"]["volumeName"].str();
  if (has.empty()) { return; }
  plan({kVolumes, "", std::string{has}}, when);
  const auto [first, last] = api_.store().range(kVolumes);
  for (auto it = first; it != last; ++it) {
    if (isFor(*it->second.object, claim)) { plan(it->first, when); }
  }
}

void Controllers::planUnboundClaims(Now now) {
  const auto [first, last] = api_.store().range(kClaims);
  for (auto it = first; it != last; ++it) {
    if (!(*it->second.object)["spec"]["volumeName"].str().empty()) { continue; }
    plan(it->first, now.mono + config_.react_after);
  }
}

void Controllers::planBudgets(const apiserver::HistoryEntry& entry, Now now) {
  const std::string& resource = entry.key.resource;
  const bool counts =
      resource == kPods || resource == kReplicaSets || resource == kStatefulSets || resource == kDeployments;
  if (!counts) { return; }
  const auto& objects = api_.store().objects();
  for (auto it = objects.lower_bound({kBudgets, entry.key.ns, ""}); it != objects.end(); ++it) {
    if (it->first.resource != kBudgets || it->first.ns != entry.key.ns) { break; }
    plan(it->first, now.mono + config_.react_after);
  }
}

void Controllers::planPod(const apiserver::HistoryEntry& entry, Now now) {
  const bool gone = entry.after == nullptr;
  const Value& pod = gone ? *entry.before : *entry.after;
  if (!hasClaimsToMake(pod)) { return; }
  const Mono soon = now.mono + config_.react_after;
  if (gone) {
    forget(entry.key, pod);
  } else {
    plan(entry.key, soon);
  }
  if (!gone && !isDone(pod)) { return; }
  for (const auto& claim : deviceClaimsOf(pod)) { plan({kDeviceClaims, entry.key.ns, claim}, soon); }
}

void Controllers::planDaemons(const apiserver::HistoryEntry& entry, Now now) {
  const bool stays = entry.before && entry.after;
  const bool same = stays && (*entry.before)["metadata"]["labels"] == (*entry.after)["metadata"]["labels"] &&
                    (*entry.before)["spec"] == (*entry.after)["spec"];
  if (same) { return; }
  const auto [first, last] = api_.store().range(kDaemonSets);
  for (auto it = first; it != last; ++it) { plan(it->first, now.mono + config_.react_after); }
}

/// A Deployment that waits for the pods of its old ReplicaSets hears of the last one only so;
/// a job needs its last state.
void Controllers::planGrandparent(const Key& key, const json::Value& pod, Now now) {
  const Value& controller = controllerOf(pod);
  if (controller["kind"].str() == "Job") { jobs_.podGone(std::string{controller["uid"].str()}, pod); }
  if (controller["kind"].str() != "ReplicaSet") { return; }
  const auto* set = api_.store().find({kReplicaSets, key.ns, std::string{controller["name"].str()}});
  if (set != nullptr) { planOwners({kReplicaSets, key.ns, ""}, *set->object, now); }
}

void Controllers::plan(const Key& key, Mono when) {
  const auto [at, is_new] = planned_.try_emplace(key, when);
  if (!is_new) {
    if (at->second <= when) { return; }
    due_.erase({at->second, key});
    at->second = when;
  }
  due_.emplace(when, key);
}

void Controllers::forget(const Key& key, const json::Value& last) {
  if (const auto at = planned_.find(key); at != planned_.end()) {
    due_.erase({at->second, key});
    planned_.erase(at);
  }
  failures_.erase(key);
  if (key.resource == kJobs) { jobs_.jobGone(uidOf(last)); }
  if (key.resource == kClaims) { provisioner_.claimGone(uidOf(last)); }
}

// ---- acting

void Controllers::tick(Now now) {
  observe(now);
  while (!due_.empty() && due_.begin()->first <= now.mono) {
    const Key key = due_.begin()->second;
    due_.erase(due_.begin());
    planned_.erase(key);
    act(key, now);
    observe(now);
  }
}

/// What each of several writes is the next turn's cause, so it is enough that one does.
Again Controllers::claimTurn(Client& client, const json::Value& claim) {
  const auto before = api_.store().revision();
  Again again = syncVolumeClaim(client, claim);
  if (api_.store().revision() == before) { again.unite(provisioner_.syncClaim(client, claim)); }
  return again;
}

Again Controllers::volumeTurn(Client& client, const json::Value& volume) {
  const auto before = api_.store().revision();
  Again again = syncVolume(client, volume);
  if (api_.store().revision() == before) { again.unite(Provisioner::syncVolume(client, volume)); }
  return again;
}

Again Controllers::podTurn(Client& client, const json::Value& pod) {
  Again again = syncEphemeral(client, pod);
  again.unite(syncPodClaims(client, pod));
  return again;
}

void Controllers::act(const Key& key, Now now) {
  Client client{api_, orders_, now};
  const apiserver::ObjectPtr object = client.find(key.resource, key.ns, key.name);
  if (!object || orders_.of(key) > 0) { return; }
  const Again again = key.resource == kDeployments    ? syncDeployment(client, *object)
                      : key.resource == kReplicaSets  ? syncReplicaSet(client, *object)
                      : key.resource == kStatefulSets ? syncStatefulSet(client, *object)
                      : key.resource == kDaemonSets   ? syncDaemonSet(client, *object)
                      : key.resource == kVolumes      ? volumeTurn(client, *object)
                      : key.resource == kClaims       ? claimTurn(client, *object)
                      : key.resource == kBudgets      ? syncBudget(client, *object)
                      : key.resource == kDeviceClaims ? syncDeviceClaim(client, *object)
                      : key.resource == kPods         ? podTurn(client, *object)
                                                      : jobs_.sync(client, *object);
  if (again.after) { plan(key, now.mono + std::max(*again.after, config_.react_after)); }
  if (again.failed) { return retry(key, now); }
  if (orders_.of(key) == 0) { failures_.erase(key); }
}

void Controllers::answered(apiserver::RequestId request_id, const apiserver::Response& response, Now now) {
  const auto order = orders_.take(request_id);
  if (!order) { return; }
  Client client{api_, orders_, now};
  const Key& key = order->owner;
  const apiserver::ObjectPtr owner = client.find(key.resource, key.ns, key.name);
  if (!owner) { return; }
  if (client.tellOfPod(*owner, response, order->words) == Client::Made::Refused) { return retry(key, now); }
  // equivalent: a pod that was made plans a turn of its owner, too
  if (orders_.of(key) == 0) { plan(key, now.mono + config_.react_after); }
}

void Controllers::retry(const Key& key, Now now) {
  const int times = std::min(failures_[key]++, kMostDoublings);
  plan(key, now.mono + std::min(config_.first_retry * (1 << times), config_.longest_retry));
}

}  // namespace gs::sandbox::controllers
