// What the parts of the scheduler share: its settings, the engine, events to users, which pods are to be
// reconciled, and of the event that is being handled the time and the effects.
// Nothing here decides anything. One thread.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "controller/event.h"
#include "controller/event_sender.h"
#include "controller/parts.h"
#include "engine/engine.h"
#include "model/annotations.h"
#include "scheduler/core/config.h"
#include "scheduler/core/reconcile_queue.h"

namespace gs::scheduler {

/// What is said of a pod once for each reason.
class OncePerPod {
 public:
  /// True: not said yet.
  bool add(const model::Uid& uid, const std::string& reason) { return said_[uid].insert(reason).second; }
  [[nodiscard]] bool said(const model::Uid& uid, const std::string& reason) const {
    const auto it = said_.find(uid);
    return it != said_.end() && it->second.contains(reason);
  }
  void forget(const model::Uid& uid) { said_.erase(uid); }
  [[nodiscard]] std::size_t size() const { return said_.size(); }
  void reset() { said_.clear(); }

 private:
  std::unordered_map<model::Uid, std::set<std::string>> said_;
};

class Context {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  Context(Config settings, Rng random, controller::Owners calls = {});

  const Config config;
  Rng rng;
  engine::Engine engine;
  const controller::Owners owners;  // of calls of this process
  controller::Parts parts{owners};  // what works while it leads
  ReconcileQueue reconciles;
  OncePerPod warnings;  // events
  controller::EventRecorder recorder;
  controller::EventSender events;
  Now now{};
  kapi::Effects out;

  [[nodiscard]] const engine::Cache& cache() const { return engine.cache(); }
  /// We keep its leases.
  [[nodiscard]] bool ours(const model::Pod& pod) const {
    return pod.scheduler_name == config.scheduler_name || asksUs(pod);
  }
  /// We find its node, and tell it why there is none.
  [[nodiscard]] bool places(const model::Pod& pod) const {
    return config.schedules && pod.scheduler_name == config.scheduler_name;
  }
  /// kube-scheduler finds its node, and asks us (ExtenderPods).
  [[nodiscard]] bool asksUs(const model::Pod& pod) const {
    return config.extender_pods.contains(pod.scheduler_name);
  }
  [[nodiscard]] model::ObjectKey leaseKey(const model::NodeName& node, int id) const {
    return {config.lease_namespace, model::leaseName(node, id)};
  }
  /// What its agent says; "" when it does not.
  [[nodiscard]] std::string gpuUuid(const model::NodeName& node, int id) const;
  [[nodiscard]] std::vector<std::string> gpuUuids(const model::NodeName& node,
                                                  const std::vector<int>& ids) const;

  void log(kapi::Level level, std::string message, Fields fields = {});
  void count(const char* metric, Fields labels = {}, double by = 1);
  /// Sends a read, or a write that is sent only while we lead. Writes about one pod go one after the other.
  void sendAbout(const model::Uid& pod, kapi::Call call, kapi::Token token);
  void warnOnce(const model::Pod& pod, const std::string& reason, const std::string& note);
};

/// Of a pod with containers that are not told their GPUs: which, and what they lack.
[[nodiscard]] std::string untoldText(const model::Pod& pod);
/// The value that a pod's last fence left, "" for none.
[[nodiscard]] std::string fenceOf(const model::Pod& pod);

}  // namespace gs::scheduler
