// A kube-scheduler for World tests, and a World with one. It places the pods of gpu-kube: one after the
// other it filters and ranks them by way of gpu-scheduler, its extender, and binds them side by side. Whom it
// found no node for it looks at again when somebody wakes it; whom it could not bind after 1 s, then twice
// that, up to 10 s. Of namespaces that hang (a volume that never binds, say) it binds nothing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "test/world/combined_replica.h"

namespace gs::test {

class KubeScheduler {
 public:
  KubeScheduler(sandbox::World& world, std::vector<std::string> nodes)
      : world_{world}, nodes_{std::move(nodes)} {
    world_.setListener(
        [this](auto, extender::RequestId id, const extender::Answer& answer) { answered(id, answer); });
    look();
  }

  void comes(const std::string& ns, const std::string& name) {
    const json::Value pod = objectOf(ns, name);
    const std::string uid{pod["metadata"]["uid"].str()};
    pods_[uid] = {ns, name};
    active_.push_back(uid);
    next();
  }
  /// From now on nothing of that namespace is bound.
  void hangs(const std::string& ns) { hanging_.insert(ns); }
  /// How often it was to be bound there.
  [[nodiscard]] int bindsTo(const std::string& node) const {
    const auto it = binds_.find(node);
    return it == binds_.end() ? 0 : it->second;
  }

 private:
  using Answer = extender::Answer;
  using Verb = extender::Verb;
  static constexpr Duration kPatience = std::chrono::seconds{5};  // httpTimeout
  static constexpr Duration kLook = std::chrono::milliseconds{100};
  struct Pod {
    std::string ns, name;
    std::string wake{};  // as it was when it was filtered last
    int failures = 0;
    bool unschedulable = false;
  };
  struct Asked {
    std::string uid;
    Verb verb{};
    std::vector<std::string> nodes;
  };

  [[nodiscard]] json::Value objectOf(const std::string& ns, const std::string& name) {
    const auto* stored = world_.api().store().find({"/pods", ns, name});
    return stored == nullptr ? json::Value{} : *stored->object;
  }
  [[nodiscard]] bool waits(const std::string& uid) {
    const auto it = pods_.find(uid);
    if (it == pods_.end()) { return false; }
    const json::Value pod = objectOf(it->second.ns, it->second.name);
    return pod["metadata"]["uid"].str() == uid && pod["spec"]["nodeName"].str().empty();
  }
  static std::string wakeOf(const json::Value& pod) {
    return std::string{pod["metadata"]["annotations"]["gpu.scheduling/wake"].str()};
  }
  /// Its watch brings what changed.
  void look() {
    for (auto& [uid, pod] : pods_) {
      if (!pod.unschedulable || wakeOf(objectOf(pod.ns, pod.name)) == pod.wake) { continue; }
      pod.unschedulable = false;
      active_.push_back(uid);
    }
    next();
    world_.after(kLook, [this] { look(); });
  }
  void backOff(const std::string& uid) {
    if (!waits(uid)) {
      pods_.erase(uid);
      return;
    }
    const int failures = pods_[uid].failures++;
    world_.after(std::chrono::seconds{std::min(10, 1 << std::min(failures, 4))}, [this, uid] {
      active_.push_back(uid);
      next();
    });
  }
  void next() {
    while (!current_ && !active_.empty()) {
      const std::string uid = active_.front();
      active_.pop_front();
      if (!waits(uid)) {
        pods_.erase(uid);
        continue;
      }
      current_ = uid;
      ask(Verb::Filter, uid, nodes_);
    }
  }
  void done(const std::string& uid) {
    if (current_ == uid) { current_.reset(); }
  }
  void ask(Verb verb, const std::string& uid, std::vector<std::string> nodes) {
    Pod& pod = pods_[uid];
    extender::Request request;
    request.verb = verb;
    if (verb == Verb::Bind) {  // names the pod only
      model::Pod named;
      named.key = {pod.ns, pod.name};
      named.uid = model::Uid{uid};
      request.pod = std::make_shared<const model::Pod>(std::move(named));
      request.node = model::NodeName{nodes.front()};
      ++binds_[nodes.front()];
    } else {
      const json::Value object = objectOf(pod.ns, pod.name);
      pod.wake = wakeOf(object);
      request.pod = std::make_shared<const model::Pod>(kapi::decodePod(object));
    }
    const extender::RequestId id = ++last_;
    asked_[id] = {uid, verb, nodes};
    world_.ask(world_.leadingExtender().value_or(0), id, std::move(request), std::move(nodes));
    world_.after(kPatience, [this, id] {
      const auto late = asked_.extract(id);
      if (late.empty()) { return; }
      done(late.mapped().uid);
      backOff(late.mapped().uid);
      next();
    });
  }
  void answered(extender::RequestId id, const Answer& answer) {
    const auto node = asked_.extract(id);
    if (node.empty()) { return; }
    const Asked& asked = node.mapped();
    switch (asked.verb) {
      case Verb::Filter: filtered(asked, answer); break;
      case Verb::Rank: ranked(asked, answer); break;
      default:
        if (answer.kind != Answer::Kind::Done) { backOff(asked.uid); }
    }
    world_.after({}, [this] { next(); });
  }
  void filtered(const Asked& asked, const Answer& answer) {
    std::vector<std::string> fit;
    if (answer.kind == Answer::Kind::Untouched) { fit = asked.nodes; }
    for (std::size_t i = 0; answer.kind == Answer::Kind::Offered && i < asked.nodes.size(); ++i) {
      if (answer.offers.rejectionOf(i) == nullptr) { fit.push_back(asked.nodes[i]); }
    }
    if (!fit.empty() && answer.kind == Answer::Kind::Offered) {
      return ask(Verb::Rank, asked.uid, std::move(fit));
    }
    done(asked.uid);
    if (!fit.empty()) { return bind(asked.uid, fit.front()); }
    if (answer.kind == Answer::Kind::Offered) {
      pods_[asked.uid].unschedulable = true;
    } else {
      backOff(asked.uid);
    }
  }
  void ranked(const Asked& asked, const Answer& answer) {
    done(asked.uid);
    if (answer.kind != Answer::Kind::Offered) { return backOff(asked.uid); }
    const auto best = std::max_element(answer.scores.begin(), answer.scores.end()) - answer.scores.begin();
    bind(asked.uid, asked.nodes[static_cast<std::size_t>(best)]);
  }
  void bind(const std::string& uid, const std::string& node) {
    if (hanging_.contains(pods_[uid].ns)) { return backOff(uid); }
    world_.after(std::chrono::milliseconds{2}, [this, uid, node] {
      if (pods_.contains(uid)) { ask(Verb::Bind, uid, {node}); }
    });
  }

  sandbox::World& world_;
  std::vector<std::string> nodes_;
  std::map<std::string, Pod> pods_;  // by uid
  std::deque<std::string> active_;
  std::optional<std::string> current_;  // that is being filtered or ranked
  std::set<std::string> hanging_;
  std::map<extender::RequestId, Asked> asked_;
  std::map<std::string, int> binds_;
  extender::RequestId last_ = 0;
};

/// A World with a kube-scheduler, whose pods are those of gpu-kube, beside our own ones.
template <class Base>
class WithKube : public Base {
 protected:
  template <class... Args>
  explicit WithKube(Args&&... args) : Base{std::forward<Args>(args)...} {}

  /// A replica that leads, and the kube-scheduler that asks it.
  void startWithKube(std::size_t waiting_binds = 16) {
    scheduler::Config config;
    config.extender_pods = {"gpu-kube"};
    config.max_waiting_binds = waiting_binds;
    this->world.startReplica(config, combined());
    ASSERT_TRUE(this->eventually([&] { return this->world.leadingExtender().has_value(); }));
    std::vector<std::string> nodes;
    for (const auto& node : this->world.get("/api/v1/nodes")["items"].items()) {
      nodes.emplace_back(node["metadata"]["name"].str());
    }
    kube.emplace(this->world, std::move(nodes));
  }
  void makeNamespace(const std::string& ns) {
    this->world.create(
        json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", ns}}}});
    this->world.create(claim("one", 1, {}, ns));
  }
  /// One that it places; it hears of it soon.
  void createKubes(const std::string& name, const std::string& of_claim, const std::string& ns = "default") {
    this->world.create(kubesPod(name, of_claim, ns));
    this->world.after(std::chrono::milliseconds{5}, [this, ns, name] { kube->comes(ns, name); });
  }
  static json::Value kubesPod(const std::string& name, const std::string& of_claim,
                              const std::string& ns = "default") {
    json::Value p = pod(name, of_claim, 0, ns);
    p.child("spec").set("schedulerName", "gpu-kube");
    return p;
  }

  std::optional<KubeScheduler> kube;
};

}  // namespace gs::test
