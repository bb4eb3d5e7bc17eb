#include "sandbox/controllers/daemon_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "apiserver/meta/label_selector.h"
#include "sandbox/controllers/daemon_nodes.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/owned.h"
#include "sandbox/controllers/pods.h"
#include "sandbox/controllers/revisions.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr const char* kDaemonHash = "controller-revision-hash";
constexpr const char* kGenerationLabel = "pod-template-generation";
constexpr const char* kGenerationNote = "deprecated.daemonset.template.generation";

bool isOlder(const ObjectPtr& a, const ObjectPtr& b) {
  const Value& left = (*a)["metadata"];
  const Value& right = (*b)["metadata"];
  return std::pair{left["creationTimestamp"].str(), left["name"].str()} <
         std::pair{right["creationTimestamp"].str(), right["name"].str()};
}

class DaemonTurn {
 public:
  DaemonTurn(Client& client, const Value& set)
      : client_{client},
        set_{set},
        min_ready_{set["spec"]["minReadySeconds"].intOr(0)},
        revisions_{reviseTemplate(client, set)},
        again_{revisions_.again} {}

  Again run() {
    look();
    if (!isDeleting(set_) && !again_.failed) {
      for (const ObjectPtr& node : client_.all(kNodes, "")) { manage(*node); }
      for (const auto& [node, pods] : homeless_) { removeAll(pods); }
      if (set_["spec"]["updateStrategy"]["type"].str() == "RollingUpdate") {
        look();  // a pod that was just made is away, too
        renew();
      }
      forgetRevisions(client_, set_, {nameOf(revisions_.update)});
      look();
    }
    writeStatus();
    return again_;
  }

 private:
  using ByNode = std::map<std::string, std::vector<ObjectPtr>>;

  void look() {
    by_node_.clear();
    for (const ObjectPtr& pod : claim(client_, set_, kPods, isActive)) {
      by_node_[std::string{(*pod)["spec"]["nodeName"].str()}].push_back(pod);
    }
    for (auto& [node, pods] : by_node_) { std::sort(pods.begin(), pods.end(), isOlder); }
    homeless_ = by_node_;
    for (const ObjectPtr& node : client_.all(kNodes, "")) { homeless_.erase(nameOf(*node)); }
  }

  void manage(const Value& node) {
    const std::string name = nameOf(node);
    const Value wanted = daemonPod(set_, name);
    const auto there = by_node_.find(name);
    const auto pods = there == by_node_.end() ? std::vector<ObjectPtr>{} : there->second;
    if (pods.empty()) {
      if (belongsOn(wanted, node)) { create(wanted); }
      return;
    }
    if (!mayStayOn(wanted, node)) { return removeAll(pods); }
    bool has_one = false;
    for (const ObjectPtr& pod : pods) {
      if (hasEnded(*pod)) {
        client_.tell(set_, "Warning", "FailedDaemonPod",
                     fmt::format("Found failed daemon pod {}/{} on node {}, will try to kill it",
                                 (*pod)["metadata"]["namespace"].str(), nameOf(*pod), name));
        remove(*pod);
      } else if (!isDeleting(*pod) && std::exchange(has_one, true)) {
        remove(*pod);
      }
    }
  }

  void create(Value pod) {
    Value& meta = pod.child("metadata");
    meta.set("generateName", nameOf(set_) + "-");
    const auto hash = revisions_.update["metadata"]["labels"]["controller.kubernetes.io/hash"];
    meta.child("labels").set(kDaemonHash, hash);
    meta.child("labels").set(kGenerationLabel, annotation(set_, kGenerationNote));
    again_.failed = client_.createPod(set_, std::move(pod)) == Client::Made::Refused || again_.failed;
  }

  void remove(const Value& pod) {
    if (isDeleting(pod)) { return; }
    const auto response = client_.remove(pod);
    if (succeeded(response)) {
      client_.tell(set_, "Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", nameOf(pod)));
    } else if (response.code != 404) {
      again_.failed = true;
    }
  }

  void removeAll(const std::vector<ObjectPtr>& pods) {
    for (const ObjectPtr& pod : pods) { remove(*pod); }
  }

  [[nodiscard]] bool isUpdated(const Value& pod) const {
    return pod["metadata"]["labels"][kDaemonHash] ==
           revisions_.update["metadata"]["labels"]["controller.kubernetes.io/hash"];
  }

  [[nodiscard]] bool isThere(const Value& pod) {
    if (isDeleting(pod) || !isReady(pod)) { return false; }
    if (isAvailable(pod, min_ready_, client_.now())) { return true; }
    again_.lookAfter(untilAvailable(pod, min_ready_, client_.now()));
    return false;
  }

  /// Pods of an old template, as many as may be away at a time; those that are not there first.
  void renew() {
    std::int64_t away = 0;
    std::vector<ObjectPtr> old;
    for (const auto& [node, pods] : by_node_) {
      for (const ObjectPtr& pod : pods) {
        const bool there = isThere(*pod);
        if (!there) { ++away; }
        if (isUpdated(*pod)) { continue; }
        if (there) {
          old.push_back(pod);
        } else {
          remove(*pod);
        }
      }
    }
    const auto nodes = static_cast<std::int64_t>(by_node_.size());
    const Value& most = set_["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    const auto may_be = std::max<std::int64_t>(1, apiserver::amountOf(most, nodes, apiserver::Round::Up));
    for (std::size_t i = 0; i < old.size() && away < may_be; ++i, ++away) { remove(*old[i]); }
  }

  void writeStatus() {
    std::map<std::string_view, std::int64_t> counts;
    for (const ObjectPtr& node : client_.all(kNodes, "")) {
      const auto at = by_node_.find(nameOf(*node));
      const bool wanted = belongsOn(daemonPod(set_, nameOf(*node)), *node);
      const bool has = at != by_node_.end();
      if (!wanted) {
        counts["numberMisscheduled"] += has ? 1 : 0;
        continue;
      }
      ++counts["desiredNumberScheduled"];
      if (has) { countPod(*at->second.front(), counts); }
    }
    counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"];
    Value next = set_;
    Value& status = next.child("status");
    for (const char* field :
         {"desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady",
          "updatedNumberScheduled", "numberAvailable", "numberUnavailable"}) {
      status.set(field, counts[field]);
    }
    status.set("observedGeneration", set_["metadata"]["generation"]);
    if (revisions_.collisions > 0) { status.set("collisionCount", revisions_.collisions); }
    if (!succeeded(client_.replaceStatus(next))) { again_.failed = true; }
  }

  void countPod(const Value& pod, std::map<std::string_view, std::int64_t>& counts) {
    ++counts["currentNumberScheduled"];
    if (isUpdated(pod)) { ++counts["updatedNumberScheduled"]; }
    if (!isReady(pod)) { return; }
    ++counts["numberReady"];
    if (isThere(pod)) { ++counts["numberAvailable"]; }
  }

  Client& client_;
  const Value& set_;
  const std::int64_t min_ready_;
  Revisions revisions_;
  Again again_;
  ByNode by_node_;   // the oldest first
  ByNode homeless_;  // on nodes that are not there
};

}  // namespace

Again syncDaemonSet(Client& client, const json::Value& set) { return DaemonTurn{client, set}.run(); }

}  // namespace gs::sandbox::controllers
