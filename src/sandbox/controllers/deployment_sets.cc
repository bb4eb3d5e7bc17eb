#include "sandbox/controllers/deployment_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sandbox/controllers/deployment_status.h"
#include "sandbox/controllers/deployments.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"
#include "sandbox/controllers/rollout_math.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kHashLabel = "pod-template-hash";
constexpr const char* kRevisionHistory = "deployment.kubernetes.io/revision-history";

std::int64_t revisionOf(const Value& object) {
  const auto text = annotation(object, kRevision);
  std::int64_t out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Value withoutHash(const Value& pod_template) {
  Value out = pod_template;
  if (!out["metadata"]["labels"].isObject()) { return out; }
  Value& meta = out.child("metadata");
  meta.child("labels").erase(kHashLabel);
  if (meta["labels"].members().empty()) { meta.erase("labels"); }
  return out;
}

bool sameTemplate(const Value& set, const Value& deployment) {
  return withoutHash(set["spec"]["template"]) == withoutHash(deployment["spec"]["template"]);
}

/// What says something of the Deployment itself stays with it.
bool isOfDeploymentOnly(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kOnly{"kubectl.kubernetes.io/last-applied-configuration",
                                                         kRevision,
                                                         kRevisionHistory,
                                                         kDesired,
                                                         kMost,
                                                         "deprecated.deployment.rollback.to"};
  return std::find(kOnly.begin(), kOnly.end(), key) != kOnly.end();
}

void note(Value& set, const char* key, const std::string& text) {
  set.child("metadata").child("annotations").set(key, text);
}

void noteSizes(Value& set, const Value& deployment) {
  note(set, kDesired, std::to_string(wantedReplicas(deployment)));
  note(set, kMost, std::to_string(wantedReplicas(deployment) + maxSurge(deployment)));
}

/// The Deployment's annotations, and the revision, if it is a later one; the earlier ones are remembered.
void noteNewest(Value& set, const Value& deployment, std::int64_t revision) {
  for (const auto& [key, text] : deployment["metadata"]["annotations"].members()) {
    if (!isOfDeploymentOnly(key)) { note(set, key.c_str(), std::string{text.str()}); }
  }
  const std::string had{annotation(set, kRevision)};
  if (!had.empty() && revisionOf(set) >= revision) { return; }
  note(set, kRevision, std::to_string(revision));
  if (had.empty()) { return; }
  const std::string history{annotation(set, kRevisionHistory)};
  note(set, kRevisionHistory, history.empty() ? had : history + "," + had);
}

}  // namespace

DeploymentSets::DeploymentSets(Client& client, json::Value& deployment, Newest newest)
    : client_{client}, deployment_{deployment} {
  claimSets();
  if (newest_) {
    adjustNewest();
  } else if (newest == Newest::FindOrMake) {
    makeNewest();
  }
}

void DeploymentSets::claimSets() {
  auto mine = claim(client_, deployment_, kReplicaSets, [](const Value&) { return true; });
  std::stable_sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) {
    return (*a)["metadata"]["creationTimestamp"].str() < (*b)["metadata"]["creationTimestamp"].str();
  });
  for (const auto& set : mine) {
    if (!newest_ && sameTemplate(*set, deployment_)) {
      newest_ = *set;
    } else {
      old_.push_back(*set);
    }
  }
}

std::vector<json::Value> DeploymentSets::all() const {
  auto out = old_;
  if (newest_) { out.push_back(*newest_); }
  return out;
}

std::int64_t DeploymentSets::maxOldRevision() const {
  std::int64_t out = 0;
  for (const Value& set : old_) { out = std::max(out, revisionOf(set)); }
  return out;
}

/// The newest was there already: it becomes the latest revision.
void DeploymentSets::adjustNewest() {
  Value next = *newest_;
  noteNewest(next, deployment_, maxOldRevision() + 1);
  next.child("spec").set("minReadySeconds", deployment_["spec"]["minReadySeconds"].intOr(0));
  auto response = client_.replace(next);
  if (!succeeded(response)) {
    again_.failed = true;
    return;
  }
  newest_ = std::move(response.body);
  noteRevision(std::string{annotation(*newest_, kRevision)},
               conditionOf(deployment_["status"], "Progressing").isNull() ? "FoundNewReplicaSet" : "",
               fmt::format("Found new replica set \"{}\"", nameOf(*newest_)));
}

void DeploymentSets::makeNewest() {
  const std::string hash =
      shortHash(deployment_["spec"]["template"], deployment_["status"]["collisionCount"].intOr(0));
  Value pod_template = deployment_["spec"]["template"];
  pod_template.child("metadata").child("labels").set(kHashLabel, hash);
  Value selector = deployment_["spec"]["selector"];
  selector.child("matchLabels").set(kHashLabel, hash);
  const std::string name = fmt::format("{}-{}", nameOf(deployment_), hash);
  const std::int64_t replicas = newestMayHave(deployment_, old_, 0);
  Value set = json::Object{
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata", json::Object{{"name", name},
                                {"labels", pod_template["metadata"]["labels"]},
                                {"ownerReferences", json::Array{controllerReference(deployment_)}}}},
      {"spec", json::Object{{"replicas", replicas},
                            {"minReadySeconds", deployment_["spec"]["minReadySeconds"].intOr(0)},
                            {"selector", std::move(selector)},
                            {"template", std::move(pod_template)}}}};
  const std::int64_t revision = maxOldRevision() + 1;
  noteNewest(set, deployment_, revision);
  noteSizes(set, deployment_);
  auto response = client_.create(kReplicaSets, std::string{deployment_["metadata"]["namespace"].str()}, set);
  if (response.code == 409) { return settleClash(name); }
  if (!succeeded(response)) {
    if (isForEver(response)) { return; }
    again_.failed = true;
    setDeploymentCondition(deployment_.child("status"), "Progressing", "False", "ReplicaSetCreateError",
                           reasonOf(response), client_.now());
    return;
  }
  newest_ = std::move(response.body);
  if (replicas > 0) {
    client_.tell(deployment_, "Normal", "ScalingReplicaSet",
                 fmt::format("Scaled up replica set {} from 0 to {}", name, replicas));
  }
  noteRevision(std::to_string(revision), "NewReplicaSetCreated",
               fmt::format("Created new replica set \"{}\"", name));
}

/// Another set has that name: the next try hashes with another number.
void DeploymentSets::settleClash(const std::string& name) {
  again_.failed = true;
  const auto there =
      client_.find(kReplicaSets, std::string{deployment_["metadata"]["namespace"].str()}, name);
  if (there && isControlledBy(*there, deployment_) && sameTemplate(*there, deployment_)) { return; }
  Value& status = deployment_.child("status");
  status.set("collisionCount", status["collisionCount"].intOr(0) + 1);
  auto response = client_.replaceStatus(deployment_);
  if (succeeded(response)) { deployment_ = std::move(response.body); }
}

/// On the Deployment; `reason` "": Progressing stays as it is.
void DeploymentSets::noteRevision(const std::string& revision, const char* reason,
                                  const std::string& message) {
  const bool reckons = !deployment_["spec"]["progressDeadlineSeconds"].isNull();
  note(deployment_, kRevision, revision);
  if (reckons && *reason != '\0') {
    setDeploymentCondition(deployment_.child("status"), "Progressing", "True", reason, message,
                           client_.now());
  }
  auto response = client_.replaceStatus(deployment_);
  if (succeeded(response)) {
    deployment_ = std::move(response.body);
  } else {
    again_.failed = true;
  }
}

bool DeploymentSets::scale(json::Value& set, std::int64_t replicas) {
  const std::int64_t had = wantedReplicas(set);
  Value next = set;
  next.child("spec").set("replicas", replicas);
  noteSizes(next, deployment_);
  if (next == set) { return false; }
  auto response = client_.replace(next);
  if (!succeeded(response)) {
    again_.failed = true;
    return false;
  }
  set = std::move(response.body);
  if (had == replicas) { return false; }
  client_.tell(deployment_, "Normal", "ScalingReplicaSet",
               fmt::format("Scaled {} replica set {} from {} to {}", had < replicas ? "up" : "down",
                           nameOf(set), had, replicas));
  return true;
}

bool DeploymentSets::scaleNewest(std::int64_t replicas) { return newest_ && scale(*newest_, replicas); }
bool DeploymentSets::scaleOld(std::size_t index, std::int64_t replicas) {
  return scale(old_.at(index), replicas);
}

void DeploymentSets::cleanUp() {
  const Value& limit = deployment_["spec"]["revisionHistoryLimit"];
  std::vector<Value> alive;
  for (const Value& set : old_) {
    if (!isDeleting(set)) { alive.push_back(set); }
  }
  const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(0, limit.intOr(10)));
  if (limit.isNull() || alive.size() <= keep) { return; }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const Value& a, const Value& b) { return revisionOf(a) < revisionOf(b); });
  for (std::size_t i = 0; i < alive.size() - keep; ++i) {
    const Value& set = alive[i];
    const bool seen = set["metadata"]["generation"].intOr(0) <= set["status"]["observedGeneration"].intOr(0);
    if (wantedReplicas(set) != 0 || set["status"]["replicas"].intOr(0) != 0 || !seen) { continue; }
    (void)client_.remove(set);
    std::erase_if(old_, [&](const Value& one) { return uidOf(one) == uidOf(set); });
  }
}

}  // namespace gs::sandbox::controllers
