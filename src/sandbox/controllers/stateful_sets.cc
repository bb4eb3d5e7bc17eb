#include "sandbox/controllers/stateful_sets.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"
#include "sandbox/controllers/pods.h"
#include "sandbox/controllers/revisions.h"
#include "sandbox/controllers/set_claims.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr const char* kRevisionLabel = "controller-revision-hash";

std::string_view revisionOf(const Value& pod) { return pod["metadata"]["labels"][kRevisionLabel].str(); }

/// 3 of "web-3", if it is a pod of this set.
std::optional<std::int64_t> ordinalOf(const Value& pod, const std::string& set) {
  const auto name = pod["metadata"]["name"].str();
  if (!name.starts_with(set + "-")) { return std::nullopt; }
  const auto digits = name.substr(set.size() + 1);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && out >= 0;
  return whole && std::to_string(out) == digits ? std::optional{out} : std::nullopt;
}

/// One turn of one set.
class Turn {
 public:
  Turn(Client& client, const Value& set)
      : client_{client},
        set_{set},
        first_{set["spec"]["ordinals"]["start"].intOr(0)},
        end_{first_ + wantedReplicas(set)},
        ordered_{set["spec"]["podManagementPolicy"].str() != "Parallel"},
        min_ready_{set["spec"]["minReadySeconds"].intOr(0)},
        revisions_{reviseTemplate(client, set)} {
    again_ = revisions_.again;
    look();
  }

  Again run() {
    if (!isDeleting(set_) && !again_.failed) {
      if (fill() && condemn()) { update(); }
      look();
      forgetRevisions(client_, set_, usedRevisions());
    }
    writeStatus();
    return again_;
  }

 private:
  void look() {
    pods_.clear();
    const auto mine = claim(client_, set_, kPods,
                            [this](const Value& pod) { return ordinalOf(pod, nameOf(set_)).has_value(); });
    for (const ObjectPtr& pod : mine) {
      if (const auto ordinal = ordinalOf(*pod, nameOf(set_))) { pods_[*ordinal] = pod; }
    }
  }

  [[nodiscard]] bool isHealthy(const Value& pod) {
    if (!isRunningAndReady(pod) || isDeleting(pod)) { return false; }
    if (isAvailable(pod, min_ready_, client_.now())) { return true; }
    again_.lookAfter(untilAvailable(pod, min_ready_, client_.now()));
    return false;
  }

  /// Whether a new pod there gets the old template: an update has not come to it yet.
  [[nodiscard]] bool staysBehind(std::int64_t ordinal) const {
    const Value& strategy = set_["spec"]["updateStrategy"];
    if (strategy["type"].str() != "RollingUpdate") { return false; }
    return ordinal < first_ + strategy["rollingUpdate"]["partition"].intOr(0);
  }

  bool create(std::int64_t ordinal) {
    const Value& revision = staysBehind(ordinal) ? revisions_.current : revisions_.update;
    Value pod = podOf(atRevision(set_, revision));
    const std::string name = fmt::format("{}-{}", nameOf(set_), ordinal);
    Value& meta = pod.child("metadata");
    meta.set("name", name);
    meta.set("generateName", nameOf(set_) + "-");
    Value& labels = meta.child("labels");
    labels.set("statefulset.kubernetes.io/pod-name", name);
    labels.set("apps.kubernetes.io/pod-index", std::to_string(ordinal));
    labels.set(kRevisionLabel, nameOf(revision));
    pod.child("spec").set("hostname", name);
    pod.child("spec").set("subdomain", set_["spec"]["serviceName"]);
    if (!giveClaims(client_, set_, ordinal, pod)) {
      again_.failed = true;
      return false;
    }
    const std::string what = fmt::format("create Pod {} in StatefulSet {} ", name, nameOf(set_));
    const auto made =
        client_.createPod(set_, std::move(pod), {what + "successful", false, what + "failed error: "});
    again_.failed = again_.failed || made == Client::Made::Refused;
    return made == Client::Made::Yes || made == Client::Made::Later;
  }

  void remove(const Value& pod) {
    const auto response = client_.remove(pod);
    if (succeeded(response)) {
      client_.tell(set_, "Normal", "SuccessfulDelete",
                   fmt::format("delete Pod {} in StatefulSet {} successful", nameOf(pod), nameOf(set_)));
    } else if (response.code != 404) {
      again_.failed = true;
    }
  }

  /// Makes what is missing. False: something has to come true before more is done.
  bool fill() {
    for (std::int64_t i = first_; i < end_; ++i) {
      const auto there = pods_.find(i);
      if (there == pods_.end()) {
        if (!create(i) || ordered_) { return false; }
        continue;
      }
      const Value& pod = *there->second;
      if (hasEnded(pod) && !isDeleting(pod)) {
        remove(pod);
        return false;
      }
      if (ordered_ && !isHealthy(pod)) { return false; }
    }
    return true;
  }

  /// Deletes those beyond the end, the last one first.
  bool condemn() {
    for (auto it = pods_.rbegin(); it != pods_.rend(); ++it) {
      if (it->first >= first_ && it->first < end_) { continue; }
      if (!isDeleting(*it->second)) { remove(*it->second); }
      if (ordered_) { return false; }
    }
    return true;
  }

  /// One at a time, from the last to the partition.
  void update() {
    const Value& strategy = set_["spec"]["updateStrategy"];
    if (strategy["type"].str() != "RollingUpdate") { return; }
    const std::int64_t least = first_ + strategy["rollingUpdate"]["partition"].intOr(0);
    for (std::int64_t i = end_ - 1; i >= least; --i) {
      const auto there = pods_.find(i);
      if (there == pods_.end()) { return; }
      const Value& pod = *there->second;
      if (revisionOf(pod) != nameOf(revisions_.update) && !isDeleting(pod)) { return remove(pod); }
      if (!isHealthy(pod)) { return; }
    }
  }

  [[nodiscard]] std::set<std::string> usedRevisions() const {
    std::set<std::string> out{nameOf(revisions_.current), nameOf(revisions_.update)};
    for (const auto& [ordinal, pod] : pods_) { out.emplace(revisionOf(*pod)); }
    return out;
  }

  void writeStatus() {
    std::map<std::string_view, std::int64_t> counts;
    for (const auto& [ordinal, pod] : pods_) {
      ++counts["replicas"];
      if (isRunningAndReady(*pod)) {
        ++counts["readyReplicas"];
        if (isAvailable(*pod, min_ready_, client_.now())) { ++counts["availableReplicas"]; }
      }
      if (isDeleting(*pod)) { continue; }
      if (revisionOf(*pod) == nameOf(revisions_.current)) { ++counts["currentReplicas"]; }
      if (revisionOf(*pod) == nameOf(revisions_.update)) { ++counts["updatedReplicas"]; }
    }
    Value current{nameOf(revisions_.current)};
    const bool rolls = set_["spec"]["updateStrategy"]["type"].str() == "RollingUpdate";
    if (rolls && counts["updatedReplicas"] == counts["replicas"] &&
        counts["readyReplicas"] == counts["replicas"]) {
      current = nameOf(revisions_.update);  // the update is complete
      counts["currentReplicas"] = counts["updatedReplicas"];
    }
    Value next = set_;
    Value& status = next.child("status");
    for (const char* field :
         {"replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"}) {
      status.set(field, counts[field]);
    }
    status.set("observedGeneration", set_["metadata"]["generation"]);
    status.set("currentRevision", std::move(current));
    status.set("updateRevision", nameOf(revisions_.update));
    status.set("collisionCount", revisions_.collisions);
    if (!succeeded(client_.replaceStatus(next))) { again_.failed = true; }
  }

  Client& client_;
  const Value& set_;
  const std::int64_t first_;
  const std::int64_t end_;
  const bool ordered_;
  const std::int64_t min_ready_;
  Revisions revisions_;
  std::map<std::int64_t, ObjectPtr> pods_;  // by ordinal
  Again again_;
};

}  // namespace

Again syncStatefulSet(Client& client, const json::Value& set) { return Turn{client, set}.run(); }

}  // namespace gs::sandbox::controllers
