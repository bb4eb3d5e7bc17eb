#include "test/sim/pods_judge.h"

#include <algorithm>
#include <utility>

#include "kapi/kinds.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using json::Value;

constexpr const char* kNamespacesId = "/namespaces";

std::string textIn(const Value& v) { return std::string{v.str()}; }

/// What a filter reads of it; heartbeats and the like are left out.
bool isTheSame(const Value& a, const Value& b) {
  const auto ready = [](const Value& node) {
    for (const Value& c : node["status"]["conditions"].items()) {
      if (c["type"].str() == "Ready") { return textIn(c["status"]); }
    }
    return std::string{};
  };
  return a["metadata"]["labels"] == b["metadata"]["labels"] && a["spec"] == b["spec"] &&
         a["status"]["allocatable"] == b["status"]["allocatable"] && ready(a) == ready(b);
}

}  // namespace

void PodsJudge::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

std::string PodsJudge::keyOf(const Value& pod) {
  return textIn(pod["metadata"]["namespace"]) + "/" + textIn(pod["metadata"]["name"]);
}

bool PodsJudge::isOurs(const Pod& pod) {
  return pod.value()["spec"]["schedulerName"].str() == "gpu-scheduler";
}

PodsJudge::Pod* PodsJudge::find(const std::string& uid) {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &it->second;
}

// ---- what leaves

bool PodsJudge::isDisturbed(Mono at) const { return disturbed_at_ && at < *disturbed_at_ + kDisturbed; }

Mono PodsJudge::knownAt(Mono decided) const { return decided - (isDisturbed(decided) ? kKnownLate : known_); }

void PodsJudge::ledAnew() {
  ++term_;
  term_began_ = now();
}

void PodsJudge::disturbed() {
  disturbed_at_ = now();
  ledAnew();
}

void PodsJudge::died(sandbox::ReplicaId id) {
  std::erase_if(calls_, [&](const auto& calls) { return calls.first.first == id; });
  disturbed();
}

void PodsJudge::sent(sandbox::ReplicaId by, const kapi::Call& call) {
  watch();
  if (std::exchange(leader_, by) != by) { ledAnew(); }
  const Value& meta = call.body["metadata"];
  if (call.kind == kapi::kLease && call.verb == kapi::Verb::Create) {
    const Value& notes = meta["annotations"];
    return attempts(by, textIn(notes["gpu.scheduling/pod-uid"]), textIn(notes["gpu.scheduling/node"]), true);
  }
  if (call.kind != kapi::kPod || kapi::isRead(call.verb)) { return; }
  const auto named = uids_.find(call.key.text());
  const std::string uid = call.verb == kapi::Verb::Delete
                              ? (named == uids_.end() ? std::string{} : named->second)
                              : textIn(meta["uid"]);
  Pod* pod = find(uid);
  if (call.subresource == "binding") { attempts(by, uid, textIn(call.body["target"]["name"]), false); }
  if (pod != nullptr && call.verb == kapi::Verb::Delete) { evicts(uid, *pod); }
  if (const Value* node = call.body["status"].find("nominatedNodeName")) {
    nominating_[uid] = {textIn(*node), now(), term_};
  }
  const bool is_fence = !meta["annotations"]["gpu.scheduling/fence"].isNull();
  if (const auto of = attempts_.find(uid); is_fence && of != attempts_.end()) {
    for (Attempt& attempt : of->second) { attempt.is_over = true; }
  }
  Calls& calls = calls_[{by, call.key.text()}];
  if (calls.open++ == 0) { calls.since = now(); }
}

void PodsJudge::answered(sandbox::ReplicaId by, const kapi::Call& call) {
  if (call.kind != kapi::kPod || kapi::isRead(call.verb)) { return; }
  const auto it = calls_.find({by, call.key.text()});
  if (it == calls_.end() || it->second.open == 0) { return; }
  if (--it->second.open == 0) { it->second.closed.emplace_back(it->second.since, now()); }
}

/// A write to the pod that was open then may have kept the Binding back, and so the first that is seen of the
/// decision. (The sender hears of the end of a call a moment after the server decided on it.)
Mono PodsJudge::decidedFrom(sandbox::ReplicaId by, const Pod& pod) const {
  constexpr Duration kAnswered = std::chrono::milliseconds{50};
  const auto it = calls_.find({by, keyOf(pod.value())});
  if (it == calls_.end()) { return now(); }
  if (it->second.open > 0) { return it->second.since; }
  Mono from = now();
  for (auto at = it->second.closed.rbegin(); at != it->second.closed.rend(); ++at) {
    if (at->second + kAnswered < from) { break; }
    from = std::min(from, at->first);
  }
  return from;
}

void PodsJudge::attempts(sandbox::ReplicaId by, const std::string& uid, const std::string& node,
                         bool is_lease) {
  const Pod* pod = find(uid);
  if (pod == nullptr) { return; }
  auto& of = attempts_[uid];
  const bool is_new = of.empty() || of.back().is_over || of.back().node != node || of.back().term != term_;
  if (is_new) {
    // Its volumes are waited for before its Binding, for minutes.
    const Mono from = PodVolumes::hasAny(pod->value()) ? pod->came : decidedFrom(by, *pod);
    of.push_back({node, from, now(), std::nullopt, term_, is_lease, false});
    // Leases of an earlier leader were taken over, some time before.
    const bool is_adopted = !is_lease && slow::gpusOf(pod->value()) > 0;
    if (is_adopted) { of.back().decided_from = std::min(of.back().decided_from, term_began_); }
  }
  Attempt& attempt = of.back();
  // It may have been decided on the same node anew, with other leases, since its volumes came to nothing.
  if (PodVolumes::hasAny(pod->value())) { attempt.first_sent = now(); }
  if (!is_lease && !attempt.binding_sent) { attempt.binding_sent = now(); }
}

// ---- what is there

void PodsJudge::watch() {
  const auto& store = world_.api().store();
  bool nodes = false;
  for (; position_ < store.historyEnd(); ++position_) {
    const auto* entry = store.entry(position_);
    if (entry == nullptr) { continue; }
    const std::string& resource = entry->key.resource;
    if (resource == kPodsId) {
      if (nodes) { nodesChanged(); }
      nodes = false;
      if (entry->after == nullptr) {
        podWent(textIn((*entry->before)["metadata"]["uid"]));
      } else {
        podChanged(textIn((*entry->after)["metadata"]["uid"]), entry->after);
      }
    } else if (resource == kNodesId) {
      const auto known = nodes_.find(entry->key.name);
      const bool is_same =
          entry->after != nullptr && known != nodes_.end() && isTheSame(*known->second, *entry->after);
      if (is_same) { continue; }
      if (entry->after == nullptr) {
        nodes_.erase(entry->key.name);
      } else {
        nodes_[entry->key.name] = entry->after;
      }
      node_changed_[entry->key.name] = now();
      nodes = true;
    } else if (resource == kNamespacesId && entry->after != nullptr) {
      namespaces_[entry->key.name] = entry->after;
    }
  }
  if (nodes) { nodesChanged(); }
}

void PodsJudge::nodesChanged() { nodes_then_.emplace_back(now(), nodes_); }

void PodsJudge::podChanged(const std::string& uid, const apiserver::ObjectPtr& object) {
  const auto [it, is_new] = pods_.try_emplace(uid);
  Pod& pod = it->second;
  if (is_new) {
    pod.came = now();
    uids_[keyOf(*object)] = uid;
  }
  pod.object = object;
  const Value& value = *object;
  const std::string nominated = textIn(value["status"]["nominatedNodeName"]);
  const bool stands = !pod.nominations.empty() && !pod.nominations.back().until;
  if (stands && pod.nominations.back().node != nominated) { pod.nominations.back().until = now(); }
  const bool is_known = stands && pod.nominations.back().node == nominated;
  if (!nominated.empty() && !is_known) { pod.nominations.push_back({nominated, now(), std::nullopt}); }
  if (!pod.leaves_at && !value["metadata"]["deletionTimestamp"].isNull()) { pod.leaves_at = now(); }
  if (!pod.over_at && slow::isFinished(value)) { pod.over_at = now(); }
  const std::string node = textIn(value["spec"]["nodeName"]);
  if (node.empty() || pod.bound_at) { return; }
  pod.node = node;
  pod.bound_at = now();
  if (!pod.nominations.empty() && !pod.nominations.back().until) { pod.nominations.back().until = now(); }
  bound(uid, pod);
}

void PodsJudge::podWent(const std::string& uid) {
  Pod* pod = find(uid);
  if (pod == nullptr) { return; }
  if (!pod->over_at) { pod->over_at = now(); }
  if (!pod->nominations.empty() && !pod->nominations.back().until) { pod->nominations.back().until = now(); }
  pod->is_gone = true;
  const auto named = uids_.find(keyOf(pod->value()));
  if (named != uids_.end() && named->second == uid) { uids_.erase(named); }
}

}  // namespace gs::sim
