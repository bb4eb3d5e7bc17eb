// The spread of pods that say none of their own, when the cluster has a default: over whose like each is
// spread, which is found as kube-scheduler finds it, by the Services that mean the pod and by its
// controller. Of a pod that nothing means, none. Without a default nothing is watched and nothing asked.
//
// When such an object comes, goes or means others, the pods that wait in its namespace are touched. Cost:
// of a question, the Services of the pod's namespace; of a change, the pods that wait. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "controller/reflector.h"
#include "engine/near_pods.h"
#include "model/default_spread.h"
#include "model/pod.h"

namespace gs::engine {

class DefaultSpreads {
 public:
  explicit DefaultSpreads(NearPods& near_pods) : near_pods_{near_pods} {}

  /// Before the first pod.
  void configure(model::DefaultSpread spread) { spread_ = std::move(spread); }
  void serviceChanged(const controller::Change& change) {
    put(services_[change.key.ns], change.key.name, change);
  }
  void controllerChanged(const controller::Change& change);

  /// With its selector; nullptr: none.
  [[nodiscard]] std::shared_ptr<const model::DefaultSpread> of(const model::Pod& pod) const;

 private:
  using Owner = model::Ptr<model::PodOwner>;
  using Owners = std::map<std::string, Owner>;
  void put(Owners& owners, const std::string& name, const controller::Change& change);
  [[nodiscard]] model::LabelSelector likeOf(const model::Pod& pod) const;

  NearPods& near_pods_;
  model::DefaultSpread spread_;
  std::map<std::string, Owners> services_;     // by namespace and name
  std::map<std::string, Owners> controllers_;  // by namespace, and kind/name
};

}  // namespace gs::engine
