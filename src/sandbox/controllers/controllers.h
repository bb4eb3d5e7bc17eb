// The controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, PersistentVolumes,
// PersistentVolumeClaims, PodDisruptionBudgets and ResourceClaims, and a provisioner of volumes, as one
// machine on the API server in memory: it sees what changed, and brings each object that this is about nearer
// to what it asks for, in a turn of its own, `react_after` later. What is refused is tried again, less and
// less often.
//
// Owner references let the API server's garbage collector delete what belongs to what is deleted.
// Reads the store's history since the last call; acts only in tick(), by requests. Same calls,
// same writes. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "apiserver/handlers/request.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"
#include "sandbox/controllers/jobs.h"
#include "sandbox/controllers/pod_orders.h"
#include "sandbox/controllers/provisioner.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox::controllers {

class Controllers {
 public:
  struct Config {
    Duration react_after = std::chrono::milliseconds{10};
    Duration first_retry = std::chrono::milliseconds{100};
    Duration longest_retry = std::chrono::minutes{1};
  };
  /// `api` must outlive it.
  explicit Controllers(apiserver::Api& api) : Controllers{api, Config{}} {}
  Controllers(apiserver::Api& api, Config config);

  /// Does everything that is due.
  void tick(Now now);
  /// A request of theirs that waited for a webhook.
  void answered(apiserver::RequestId request_id, const apiserver::Response& response, Now now);
  /// When tick() has something to do next; sees what changed in the store first.
  [[nodiscard]] std::optional<Mono> nextDue(Now now);

 private:
  using Key = apiserver::StoreKey;

  void observe(Now now);
  void lookAtAll(Now now);
  void changed(const apiserver::HistoryEntry& entry, Now now);
  /// Whoever has this object, or might take it over.
  void planOwners(const Key& key, const json::Value& object, Now now);
  /// A node that came, went, or became one for other pods is every DaemonSet's concern.
  void planDaemons(const apiserver::HistoryEntry& entry, Now now);
  /// A claim and a volume that name each other, and a claim that a pod uses.
  void planVolumes(const apiserver::HistoryEntry& entry, Now now);
  void planVolumesOf(const json::Value& claim, Mono when);
  /// A volume or a class may be what they wait for.
  void planUnboundClaims(Now now);
  /// Pods and those that say how many there are to be are counted.
  void planBudgets(const apiserver::HistoryEntry& entry, Now now);
  /// A pod that names claims to be made, and the claims of devices of one that no longer needs them.
  void planPod(const apiserver::HistoryEntry& entry, Now now);
  void planGrandparent(const Key& key, const json::Value& pod, Now now);
  /// At `when`, or earlier if it is planned so.
  void plan(const Key& key, Mono when);
  void forget(const Key& key, const json::Value& last);
  // Objects that several look at.
  [[nodiscard]] Again claimTurn(Client& client, const json::Value& claim);
  [[nodiscard]] Again volumeTurn(Client& client, const json::Value& volume);
  [[nodiscard]] static Again podTurn(Client& client, const json::Value& pod);
  void act(const Key& key, Now now);
  void retry(const Key& key, Now now);

  apiserver::Api& api_;
  Config config_;
  std::uint64_t position_ = 0;  // of the store's history
  bool begins_ = true;          // nothing was looked at yet
  std::map<Key, Mono> planned_;
  std::set<std::pair<Mono, Key>> due_;
  std::map<Key, int> failures_;  // in a row
  Jobs jobs_;
  Provisioner provisioner_;
  PodOrders orders_;
};

}  // namespace gs::sandbox::controllers
