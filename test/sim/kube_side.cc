#include "test/sim/kube_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kapi/decode.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using extender::Answer;
using extender::Verb;
using json::Value;
using Kind = Answer::Kind;

constexpr Duration kHttpTimeout = 5s;  // httpTimeout
constexpr extender::RequestId kFirstOfKube = extender::RequestId{1} << 40U;

constexpr std::array<std::int64_t, 3> kPriorities{0, 5, 10};
std::string className(std::int64_t priority) { return fmt::format("of-{}", priority); }

bool isReady(const Value& node) {
  for (const Value& condition : node["status"]["conditions"].items()) {
    if (condition["type"].str() == "Ready") { return condition["status"].str() == "True"; }
  }
  return false;
}

}  // namespace

KubeSide::KubeSide(sandbox::World& world, const Plan& plan)
    : world_{world},
      rng_{plan.seed ^ 0x6b75},
      nodes_{kNodes + (plan.has(Feature::Large) ? kLargeNodes : 0)},
      may_go_back_{plan.has(Feature::Restore)},
      last_{kFirstOfKube} {
  for (const std::int64_t priority : kPriorities) {
    world_.create(json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                               {"kind", "PriorityClass"},
                               {"metadata", json::Object{{"name", className(priority)}}},
                               {"value", priority}});
  }
}

void KubeSide::takeOver(Value& pod, int slot) {
  pod.child("spec").set("schedulerName", kKubeName);
  const auto which = static_cast<std::size_t>(slot) / 4 % kPriorities.size();
  pod.child("spec").set("priorityClassName", className(kPriorities[which]));
}

bool KubeSide::takes(int slot, int flavour) {
  const bool is_filtered_there = flavour == 12 || flavour == 13 || flavour > 14;  // what we do not simulate
  return slot < kSlots && slot / 2 % 2 == 1 && flavour != 9 && !is_filtered_there;
}

Value KubeSide::objectOf(const Waiting& pod) const {
  const auto* stored = world_.api().store().find({kPodsId, pod.ns, pod.name});
  return stored == nullptr ? Value{} : *stored->object;
}

void KubeSide::comes(const std::string& ns, const std::string& name) {
  const Value pod = objectOf({ns, name});
  const std::string uid{pod["metadata"]["uid"].str()};
  if (pod["spec"]["schedulerName"].str() != kKubeName || waiting_.contains(uid)) { return; }
  waiting_[uid] = {ns, name};
  considerLater(uid, upTo(200));
}

/// It lists the pods, and knows nothing of what it asked.
void KubeSide::restart() {
  waiting_.clear();
  asked_.clear();
  for (const char* ns : kNamespaces) {
    for (const auto& pod : world_.get(fmt::format("/api/v1/namespaces/{}/pods", ns))["items"].items()) {
      if (pod["spec"]["nodeName"].str().empty()) { comes(ns, std::string{pod["metadata"]["name"].str()}); }
    }
  }
}

// ---- one pod

bool KubeSide::waits(const std::string& uid) const {
  const auto it = waiting_.find(uid);
  if (it == waiting_.end()) { return false; }
  const Value pod = objectOf(it->second);
  return pod["metadata"]["uid"].str() == uid && pod["spec"]["nodeName"].str().empty() &&
         pod["metadata"].find("deletionTimestamp") == nullptr;
}

void KubeSide::considerLater(const std::string& uid, Duration by) {
  const std::uint64_t turn = ++turns_;  // the last one counts
  waiting_[uid].turn = turn;
  world_.after(by, [this, uid, turn] {
    const auto it = waiting_.find(uid);
    if (it != waiting_.end() && it->second.turn == turn) { consider(uid); }
  });
}

void KubeSide::look() {
  std::vector<std::string> woken;
  for (const auto& [uid, waiting] : waiting_) {
    if (!waiting.unschedulable) { continue; }
    const Value pod = objectOf(waiting);
    const bool is_it = pod["metadata"]["uid"].str() == uid;
    if (!is_it || pod["metadata"]["resourceVersion"].str() != waiting.asked) { woken.push_back(uid); }
  }
  for (const auto& uid : woken) {
    waiting_[uid].unschedulable = false;
    backOff(uid);
  }
}

void KubeSide::backOff(const std::string& uid) {
  if (waiting_.contains(uid)) { considerLater(uid, calm_ ? 2s : 1s + upTo(8'000)); }
}

/// What kube-scheduler itself filters.
std::vector<std::string> KubeSide::feasibleFor(const Value& pod) {
  const auto& tolerations = pod["spec"]["tolerations"].items();
  const bool tolerates = std::any_of(tolerations.begin(), tolerations.end(),
                                     [](const Value& t) { return t["key"].str() == "sim"; });
  std::vector<std::string> out;
  for (int i = 0; i < nodes_; ++i) {
    const auto* stored = world_.api().store().find({kNodesId, "", nodeName(i)});
    if (stored == nullptr || !isReady(*stored->object)) { continue; }
    const auto& taints = (*stored->object)["spec"]["taints"].items();
    const bool tainted =
        std::any_of(taints.begin(), taints.end(), [](const Value& t) { return t["key"].str() == "sim"; });
    if ((!tainted || tolerates) && (calm_ || rng_.chance(85))) { out.push_back(nodeName(i)); }
  }
  return out;
}

void KubeSide::consider(const std::string& uid) {
  if (!waits(uid)) {
    waiting_.erase(uid);
    return;
  }
  auto nodes = feasibleFor(objectOf(waiting_[uid]));
  if (nodes.empty()) { return backOff(uid); }
  if (!calm_ && rng_.chance(5)) {  // as of one of them it asks what preemption would bring
    ask(Verb::Preempt, uid, {nodes.front()}, kHttpTimeout);
  }
  ask(Verb::Filter, uid, std::move(nodes), kHttpTimeout);
}

void KubeSide::ask(Verb verb, const std::string& uid, std::vector<std::string> nodes, Duration patience) {
  const Waiting& waiting = waiting_[uid];
  extender::Request request;
  request.verb = verb;
  if (verb == Verb::Bind) {  // names the pod only
    model::Pod named;
    named.key = {waiting.ns, waiting.name};
    named.uid = model::Uid{uid};
    request.pod = std::make_shared<const model::Pod>(std::move(named));
    request.node = model::NodeName{nodes.front()};
  } else {
    const Value pod = objectOf(waiting);
    waiting_[uid].asked = pod["metadata"]["resourceVersion"].str();
    request.pod = std::make_shared<const model::Pod>(kapi::decodePod(pod));
  }
  const extender::RequestId id = ++last_;
  asked_[id] = {uid, verb, nodes};
  const auto any = static_cast<sandbox::ReplicaId>(rng_.below(static_cast<std::uint64_t>(kReplicas)));
  const auto to = calm_ || rng_.chance(85) ? world_.leadingExtender().value_or(any) : any;
  world_.ask(to, id, std::move(request), std::move(nodes));
  world_.after(patience, [this, id, uid] {
    const auto late = asked_.extract(id);
    if (!late.empty() && late.mapped().verb != Verb::Preempt) { backOff(uid); }
  });
}

bool KubeSide::answered(extender::RequestId request_id, const Answer& answer) {
  if (request_id <= kFirstOfKube) { return false; }
  const auto node = asked_.extract(request_id);
  if (node.empty()) { return true; }  // it gave up
  const Asked& asked = node.mapped();
  if (asked.verb == Verb::Bind) {
    bindAnswered(asked, answer);
  } else if (asked.verb == Verb::Filter) {
    filtered(asked, answer);
  } else if (asked.verb == Verb::Rank) {
    ranked(asked, answer);
  } else {
    preemptionAnswered(asked, answer);
  }
  return true;
}

void KubeSide::filtered(const Asked& asked, const Answer& answer) {
  std::vector<std::string> fit;
  if (answer.kind == Kind::Untouched) { fit = asked.nodes; }
  for (std::size_t i = 0; answer.kind == Kind::Offered && i < asked.nodes.size(); ++i) {
    if (answer.offers.rejectionOf(i) == nullptr) { fit.push_back(asked.nodes[i]); }
  }
  const auto waiting = waiting_.find(asked.uid);
  if (fit.empty() && answer.kind == Kind::Offered && waiting != waiting_.end()) {
    waiting->second.unschedulable = true;
    if (!calm_ && rng_.chance(40)) { ask(Verb::Preempt, asked.uid, asked.nodes, kHttpTimeout); }
    return considerLater(asked.uid, 300s);
  }
  if (fit.empty()) { return backOff(asked.uid); }
  if (fit.size() == 1) { return bindLater(asked.uid, fit.front()); }  // then it does not rank
  ask(Verb::Rank, asked.uid, std::move(fit), kHttpTimeout);
}

void KubeSide::ranked(const Asked& asked, const Answer& answer) {
  std::size_t best = rng_.below(asked.nodes.size());
  if (answer.kind == Kind::Offered && (calm_ || rng_.chance(75))) {  // else its own scores say otherwise
    best = static_cast<std::size_t>(std::max_element(answer.scores.begin(), answer.scores.end()) -
                                    answer.scores.begin());
  }
  bindLater(asked.uid, asked.nodes[best]);
}

/// What it knows may be older than what is so: a victim may have gone meanwhile.
void KubeSide::checkVictim(const std::string& uid, const std::string& victim, const std::string& node) {
  const auto waiting = waiting_.find(uid);
  const Value pod = waiting == waiting_.end() ? Value{} : objectOf(waiting->second);
  if (pod["metadata"]["uid"].str() != uid) { return; }
  for (const char* ns : kNamespaces) {
    for (const auto& other : world_.get(fmt::format("/api/v1/namespaces/{}/pods", ns))["items"].items()) {
      if (other["metadata"]["uid"].str() != victim) { continue; }
      const bool is_lower = other["spec"]["priority"].intOr(0) < pod["spec"]["priority"].intOr(0);
      const bool is_there = other["spec"]["nodeName"].str() == node;
      if (!is_lower || (!is_there && !may_go_back_)) {
        problem_ = fmt::format("for pod {} kube-scheduler is to evict {}/{} from {}, which {}",
                               waiting->second.name, ns, other["metadata"]["name"].str(), node,
                               is_lower ? "is not there" : "is as important");
      }
      if (is_lower && is_there && rng_.chance(50)) {
        (void)world_.request(
            "DELETE", fmt::format("/api/v1/namespaces/{}/pods/{}", ns, other["metadata"]["name"].str()),
            json::Object{});
      }
      return;
    }
  }
}

void KubeSide::preemptionAnswered(const Asked& asked, const Answer& answer) {
  if (answer.kind != Kind::Kept) { return; }
  for (std::size_t k = 0; k < answer.victims.size(); ++k) {
    if (answer.victims[k].empty()) { continue; }
    for (const auto& victim : answer.victims[k]) {
      checkVictim(asked.uid, victim.text, asked.nodes.at(answer.kept[k]));
    }
    return;  // one node is enough
  }
}

/// Volumes are bound in between.
void KubeSide::bindLater(const std::string& uid, const std::string& node) {
  const auto hangs = waiting_.contains(uid) ? hanging_.find(waiting_[uid].ns) : hanging_.end();
  if (hangs != hanging_.end() && world_.now().mono < hangs->second) { return backOff(uid); }
  const auto luck = calm_ ? 0 : rng_.below(100);
  const Duration by = luck < 60 ? upTo(50) : luck < 92 ? upTo(3'000) : upTo(20'000);
  considerLater(uid, by + kHttpTimeout + 1s);  // unless it is bound by then
  world_.after(by, [this, uid, node] {
    if (waiting_.contains(uid)) { bind(uid, node); }
  });
}

void KubeSide::bind(const std::string& uid, const std::string& node) {
  const Duration patience = !calm_ && rng_.chance(12) ? Duration{50ms} : kHttpTimeout;
  ask(Verb::Bind, uid, {node}, patience);
  if (!calm_ && rng_.chance(8)) { ask(Verb::Bind, uid, {node}, patience); }
  if (!calm_ && rng_.chance(5)) {
    ask(Verb::Bind, uid, {nodeName(static_cast<int>(rng_.below(kNodes)))}, patience);
  }
}

void KubeSide::bindAnswered(const Asked& asked, const Answer& answer) {
  if (answer.kind != Kind::Done) { return backOff(asked.uid); }
  ++bound_;
  const auto it = waiting_.find(asked.uid);
  const Value pod = it == waiting_.end() ? Value{} : objectOf(it->second);
  const bool is_it = pod["metadata"]["uid"].str() == asked.uid;
  if (is_it && pod["spec"]["nodeName"].str() != asked.nodes.front()) {
    // Who answered knows a history that is lost: kube-scheduler is started again after it
    // (docs/reference/promises.md).
    if (may_go_back_) { return backOff(asked.uid); }
    problem_ =
        fmt::format("kube-scheduler is told that pod {}/{} is bound to {}, and it is on '{}'", it->second.ns,
                    it->second.name, asked.nodes.front(), pod["spec"]["nodeName"].str());
  }
  waiting_.erase(asked.uid);
}

}  // namespace gs::sim
