// The ledger: every GPU on every node and who holds it, plus the ordinary resources that pods use there.
//
// A holding is (node, device id, pod uid) with a set of sources that say so: a reservation of ours in flight, a Lease in
// the API, a bound pod's annotation, an ended pod whose containers are not proven gone. Each source is set and cleared
// on its own, in any order, any number of times; the holding is there while at least one source is. So the ledger is a
// function of the API's objects plus our reservations: rebuilt from them it equals the live one (dump()).
// Facts win over capacity: what the API says is counted even if a device is then over its capacity (a foreign scheduler);
// reserve() never takes a device beyond it.
// Nodes, statuses and holdings come in any order: a holding on a node not yet known is kept and counts when it appears;
// a node that goes keeps its holdings.
// Anonymous devices (design 1): pods that use nvidia.com/gpu without an allocation of ours hold that many devices, we do not know which.
// Units: whole devices by id; shares in milli-GPU and MiB. One thread. Indexes are stable for the ledger's life.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/node.h"
#include "sched/request.h"

namespace gs::sched {

enum class Source : std::uint8_t { Reservation = 1, Lease = 2, BoundPod = 4, Draining = 8 };

/// How much of a device a holder takes. Exclusive: all of it.
struct Amount {
  bool shared = false;
  std::int64_t milli = 0;
  std::int64_t mib = 0;
  friend auto operator<=>(const Amount&, const Amount&) = default;
};

struct Holder {
  model::Uid uid;
  std::uint8_t sources = 0;  // bits of Source
  Amount amount;
  friend bool operator==(const Holder&, const Holder&) = default;
};

enum class DeviceUse : std::uint8_t { Free, Held, Draining };  // Draining: only Source::Draining holds it

struct DeviceState {
  model::Device facts;
  bool listed = false;          // in the node's GpuNodeStatus now; holdings may name devices that are not
  std::vector<Holder> holders;  // sorted by uid
  [[nodiscard]] DeviceUse use() const;
};

/// One node as policies read it.
struct NodeState {
  bool exists = false;  // a Node object is there
  bool has_status = false;
  bool agent_stale = false;  // design 3.9: agent not Ready for 60 s, every device counts as Unknown
  Enforcer enforcer = Enforcer::Kubelet;
  model::Node node;  // name always set
  std::vector<DeviceState> devices;  // sorted by facts.id
  model::Resources used;
  std::int64_t used_pods = 0;
  std::int64_t anonymous = 0;
};

class Ledger;

/// Devices and resources set aside for one pod on one node until release() or destruction, whichever comes first (Source::Reservation
/// of that uid). Once a lease write or a Binding was sent the owner keeps it in its table. The Ledger must outlive it.
class [[nodiscard]] Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& o) noexcept;
  Reservation& operator=(Reservation&& o) noexcept;
  ~Reservation();
  void release();
  [[nodiscard]] bool active() const { return ledger_ != nullptr; }
  [[nodiscard]] const model::NodeName& node() const { return node_; }
  [[nodiscard]] const std::vector<int>& ids() const { return ids_; }

 private:
  friend class Ledger;
  Ledger* ledger_ = nullptr;
  model::NodeName node_;
  model::Uid uid_;
  std::vector<int> ids_;
};

class Ledger {
 public:
  using NodeIndex = std::uint32_t;

  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Facts about nodes. The same object again is a no-op.
  void upsertNode(const model::Node& node);
  void removeNode(const model::NodeName& name);
  void upsertStatus(const model::GpuNodeStatus& status);
  void removeStatus(const model::NodeName& name);
  void setAgentStale(const model::NodeName& name, bool stale);

  // Holdings of devices. hold() again with another amount changes it.
  void hold(const model::NodeName& node, int id, const model::Uid& uid, Source source, Amount amount);
  void release(const model::NodeName& node, int id, const model::Uid& uid, Source source);

  // Use of ordinary resources by a pod (Source::BoundPod or Source::Reservation; counted once if both). `anonymous`: how many
  // devices it holds that we cannot name; only a BoundPod has such.
  void usePod(const model::NodeName& node, const model::Uid& uid, Source source, const model::Resources& r, std::int64_t anonymous);
  void unusePod(const model::NodeName& node, const model::Uid& uid, Source source);

  /// Sets aside what a decision chose. The decision was made on this state (no event in between): that it fits is CHECKed.
  Reservation reserve(const model::NodeName& node, const model::Uid& uid, const PodRequest& request, const std::vector<int>& ids);
  /// As reserve(), for a set of devices that an adopted reservation already holds by Source::Lease of the same uid (not CHECKed against other holders' facts).
  Reservation adopt(const model::NodeName& node, const model::Uid& uid, const PodRequest& request, const std::vector<int>& ids);

  [[nodiscard]] const NodeState* find(const model::NodeName& name) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }        // indexes 0..size()-1
  [[nodiscard]] const NodeState& at(NodeIndex i) const { return *nodes_[i]; }  // exists may be false
  [[nodiscard]] std::size_t existing() const { return existing_; }        // Node objects there now

  /// Every change of a node appends its index here; readers keep a position. Trimmed when every reader is told to start anew
  /// (position below changesBegin()).
  [[nodiscard]] std::uint64_t changesBegin() const;
  [[nodiscard]] std::uint64_t changesEnd() const;
  [[nodiscard]] NodeIndex changedAt(std::uint64_t position) const;

  /// Canonical text of everything (sorted), for equality in tests, debug endpoints and the World's checker. `with_reservations` false
  /// leaves Source::Reservation out.
  [[nodiscard]] std::string dump(bool with_reservations = true) const;

 private:
  std::vector<std::unique_ptr<NodeState>> nodes_;
  std::unordered_map<model::NodeName, NodeIndex> index_;
  std::size_t existing_ = 0;
  // the implementer adds what it needs
};

}  // namespace gs::sched
