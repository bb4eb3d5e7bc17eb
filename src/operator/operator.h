// gkm-operator as a machine: what the nodes say of kernel caches -> status and life of the caches
// (docs/use/gkm-operator.md). It pulls and mounts nothing; that is the agent's and the CSI driver's.
//
// It watches the caches, the node objects, and the Nodes as far as that they are there. Replicas that do not
// lead know the same and write nothing. A leader begins when each kind was listed; a kind that is not served
// (its CRD is missing) holds everything up, for what it does not know it must not take for gone.
// That claims and volumes cannot be read holds up those alone: a role of before does not have them.
//   caches.h         status, counts, conditions, finalizers
//   cache_volumes.h  PersistentVolumeClaims by which pods find caches
//   lost_nodes.h     nodes that have left the cluster
//   csi_driver.h     the CSIDriver
// The namespace of this folder is gs::gkm, after the project whose objects these are: `operator` is a keyword
// of C++. One thread; time is an argument.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/event_sender.h"
#include "controller/gauges.h"
#include "controller/parts.h"
#include "controller/watches.h"
#include "kapi/call.h"
#include "operator/cache_volumes.h"
#include "operator/caches.h"
#include "operator/csi_driver.h"
#include "operator/lost_nodes.h"

namespace gs::gkm {

/// As the ancestor's, so that the two never work side by side in one namespace.
inline constexpr const char* kLeaderLease = "097dd617.gkm.io";

class Operator {
 public:
  struct Config {
    std::string instance = "gkm-operator";  // of events: reportingInstance
  };
  Operator(const Config& config, Rng rng, controller::Owners owners = {});

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);

  /// SIGTERM: nothing new is written.
  void stopTaking();
  [[nodiscard]] bool underWay() const;
  /// Why it can do nothing more; "" it can.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// Ready when every kind is known that it cannot do without.
  [[nodiscard]] Readiness readiness() const;

 private:
  static constexpr std::ptrdiff_t kNeeded = 5;  // kinds, the first of watches_

  void take(const controller::Reflector& reflector, const controller::Reflector::Output& output);
  void apply(const controller::Change& change);
  void applyNodeObject(const controller::Change& change);
  void led(const kapi::Leadership& leadership, kapi::Effects& out);
  void standBy();
  [[nodiscard]] bool isComplete() const;
  [[nodiscard]] bool knowsVolumes() const;
  void goVolumes(Now now, kapi::Effects& out);
  void go(Now now, kapi::Effects& out);
  void catchUp(Now now, kapi::Effects& out);
  void gauge(kapi::Effects& out);

  Rng rng_;
  controller::Parts parts_;
  controller::Watches watches_;
  controller::EventRecorder recorder_;
  controller::EventSender events_;
  Caches caches_;
  CacheVolumes volumes_;
  LostNodes lost_nodes_;
  CsiDriver csi_driver_;
  controller::Gauges gauges_;
  std::uint64_t term_ = 0;
  bool is_leader_ = false;  // we hold the lease
  bool is_working_ = false;
  bool has_volumes_ = false;  // volumes_ leads
  bool is_taking_ = true;
};

}  // namespace gs::gkm
