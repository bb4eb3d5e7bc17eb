// Enforced: the agent's part of "what is chosen is what the container has". It makes the record from which
// the container runtime is answered (enforce/node_record.h), and says what comes of that, by what the thread
// that answers reports (enforce/report.h):
//   - Warning events on pods: a container was refused, was given another GPU than the device plugin gave it,
//     or has what it should not have. On the Node, where a pod that holds nothing of ours has that
//   - with OnMismatch::Evict, a pod that has what another pod's lease holds is evicted (evictions.h)
//   - metrics
// Whether a node's GPUs are picked by somebody else's device plugin is told it (setUnknown()): then pods that
// were given GPUs by us and have limits of nvidia.com/gpu besides get a Warning.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforced/enforced_metrics.h"
#include "agent/enforced/evictions.h"
#include "agent/enforced/held_leases.h"
#include "agent/enforced/pod_news.h"
#include "controller/gauges.h"
#include "enforce/node_record.h"
#include "enforce/report.h"

namespace gs::agent {

/// What is done about a container that has what another pod's lease holds.
enum class OnMismatch : std::uint8_t { Warn, Evict };

class Enforced {
 public:
  struct Config {
    model::NodeName node;
    std::string lease_namespace;
    bool is_on = false;  // leases are read, and the record says holdings
    OnMismatch on_mismatch = OnMismatch::Warn;
  };
  /// `rng` must live as long.
  Enforced(Config config, controller::Parts& parts, Rng& rng);

  /// A pod of this node, as the API has it.
  void changed(const model::Pod& pod);
  void gone(const model::Uid& uid);
  /// The GPUs of the node; what was said of them before counts no more.
  void setDevices(std::vector<enforce::NodeDevice> devices);
  /// The Node's uid, for events on it.
  void setNode(const model::Uid& uid) { node_uid_ = uid; }
  /// A device plugin picks GPUs here, and nobody sets that right.
  void setUnknown(bool is_unknown) { is_set_unknown_ = is_unknown; }

  struct Facts {
    bool knows_pods = false;  // all pods of the node, and what stands in its GpuNodeStatus
    bool by_driver = false;   // a DRA driver prepares its GPUs
    std::function<bool(const model::Uid& uid)> has_containers;
  };
  /// All that is to be done now. At each event.
  void advance(const Facts& facts, Now now, kapi::Effects& out);
  void report(const enforce::Report& report, Now now, kapi::Effects& out);

  /// Never null; another one when something in it changed.
  [[nodiscard]] const enforce::NodeRecordPtr& record() const { return record_; }
  /// Every container that is made is asked about.
  [[nodiscard]] bool isConnected() const { return is_connected_; }
  /// Why it is not: a sentence.
  [[nodiscard]] const std::string& whyNot() const { return why_not_; }
  [[nodiscard]] const HeldLeases& held() const { return held_; }
  [[nodiscard]] std::optional<Mono> nextDue() const;

 private:
  struct WithLimits {
    model::ObjectKey pod;
    std::string allocated;
  };

  void renewRecord(const Facts& facts);
  void sayAll(const enforce::Report& report, Now now, kapi::Effects& out);
  void sayMismatch(const enforce::Mismatch& mismatch, Now now, kapi::Effects& out);
  void sayUnknown(Now now, kapi::Effects& out);

  const Config config_;
  HeldLeases held_;
  PodNews news_;
  Evictions evictions_;
  EnforcedMetrics metrics_;
  controller::Gauges gauges_;
  model::Uid node_uid_;
  std::vector<enforce::NodeDevice> devices_;
  bool devices_changed_ = true;
  std::uint64_t seen_ = 0;  // of held_.changes()
  bool knows_pods_ = false;
  enforce::NodeRecordPtr record_;
  bool is_connected_ = false;
  std::string why_not_ = "the container runtime has not been reached yet";
  bool is_set_unknown_ = false;
  std::map<model::Uid, WithLimits> with_limits_;  // who is to be warned while that is so
};

}  // namespace gs::agent
