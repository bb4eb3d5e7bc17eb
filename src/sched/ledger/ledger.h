// The ledger: every GPU on every node and who holds it, plus the ordinary resources that pods use there.
//
// A holding is (node, device id, pod uid) with a set of sources that say so: a reservation of ours in flight,
// a Lease in the API, a bound pod's annotation, an ended pod whose containers are not proven gone. Each
// source is set and cleared on its own, in any order, any number of times; the holding is there while at
// least one source is. So the ledger is a function of the API's objects plus our reservations: rebuilt from
// them it equals the live one (dump()).
// Facts win over capacity: what the API says is counted even if a device is then over its capacity (a foreign
// scheduler); reserve() never takes a device beyond it.
// Nodes, statuses and holdings come in any order: a holding on a node not yet known is kept and counts when
// it appears; a node that goes keeps its holdings.
// Anonymous devices (R13): pods that use nvidia.com/gpu without an allocation of ours hold that many
// devices, we do not know which (NodeState::counted); when they ended without a proof that their containers
// did, they go on to (reclaimCounted).
// Nodes of gpu-manager have as many devices as their capacity says, given by shares (sched/ledger/shares.h).
// GPUs are also counted by namespace and by the model of the node (a label of it), for quotas.
// Units: whole devices by id; shares in milli-GPU and MiB. One thread.
// An index means the same node as long as anything is known of it (node, status, holding, use); then it is
// given to another one. Nodes whose object is there come and go by comings().
// Cost: O(log holders) per change of a holding, O(log pods of the node) per change of use, O(devices^2) per
// changed status.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/doors/door.h"
#include "sched/ledger/change_log.h"
#include "sched/ledger/node_state.h"

namespace gs::sched {

class Ledger;

/// What a pod counts against its namespace's quota of GPUs.
struct GpuCharge {
  std::string ns;
  std::int64_t milli = 0;
  friend bool operator==(const GpuCharge&, const GpuCharge&) = default;
};

/// Devices and resources set aside for one pod on one node until release() or destruction, whichever comes
/// first (Source::Reservation of that uid). Once a lease write or a Binding was sent the owner keeps it in
/// its table. The Ledger must outlive it.
class [[nodiscard]] Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& o) noexcept;
  Reservation& operator=(Reservation&& o) noexcept;
  ~Reservation() { release(); }
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

  /// `doors` say what a node has that is given by shares; they live longer.
  explicit Ledger(Doors doors = kDoors) : doors_{doors} {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Facts about nodes. The same object again is a no-op.
  void upsertNode(const model::Node& node);
  void removeNode(const model::NodeName& name);
  void upsertStatus(const model::GpuNodeStatus& status);
  void removeStatus(const model::NodeName& name);
  void setAgentStale(const model::NodeName& name, bool stale);
  /// What a DRA driver says of the node's devices besides (DeviceSelection) may be another from now on.
  void publishedAnew(const model::NodeName& name);
  /// What can be mounted there may be something else from now on (sched/volumes/).
  void volumesChanged(NodeIndex i);
  /// NodeState::awaits_status, of a node whose object is there.
  void setAwaitsStatus(const model::NodeName& name, bool awaits);
  /// NodeState::awaits_look.
  void setAwaitsLook(const model::NodeName& name, bool awaits);
  /// DeviceState::twice, of these listed devices and no others of the node.
  void setTwice(const model::NodeName& name, const std::set<int>& ids);
  /// Pods that these terms mean may not come to that node. The sets are shared: whoever gave them may change
  /// them later, and then calls closingsChanged() for each node. Sets that are empty then are dropped.
  void setClosedTo(NodeIndex i, std::vector<std::shared_ptr<const ClosedTerms>> terms);
  void closeTo(NodeIndex i, std::shared_ptr<const ClosedTerms> terms);
  void closingsChanged(NodeIndex i);
  /// What a NearStanding, or volumes, say of many nodes changed, which are not told one by one. Returns the
  /// version of that.
  std::uint64_t wideChange() {
    ++wide_changes_;
    return ++version_;
  }

  // Holdings of devices. hold() again with another amount changes it.
  void hold(const model::NodeName& node, int id, const model::Uid& uid, Source source, const Amount& amount);
  void release(const model::NodeName& node, int id, const model::Uid& uid, Source source);

  // Use of ordinary resources by a pod (Source::BoundPod or Source::Reservation; counted once if both: what
  // BoundPod says). `counted`: how many devices it has by their number, those that are named too. `ports`:
  // of its node that it takes.
  void usePod(const model::NodeName& node, const model::Uid& uid, Source source, const model::Resources& r,
              std::int64_t counted, const GpuCharge& charge = {},
              const std::vector<model::HostPort>& ports = {});
  void unusePod(const model::NodeName& node, const model::Uid& uid, Source source);
  /// An ended pod may still use so many devices there that it had by their number; 0: none any more
  /// (Source::Draining).
  void reclaimCounted(const model::NodeName& node, const model::Uid& uid, std::int64_t devices);

  /// The pod is on its way there (sched/ledger/shares.h), says this source (BoundPod or Reservation); empty:
  /// it is not.
  void setInFlight(const model::NodeName& node, const model::Uid& uid, Source source, const SharePicks& picks,
                   const std::string& gang = {});

  /// The node label that names the model of its GPUs; what is used is counted anew.
  void setModelLabel(std::string label);
  /// Milli-GPU that pods of this namespace use on nodes of that model; "": on nodes without that label.
  [[nodiscard]] std::int64_t gpuUse(const std::string& ns, const std::string& model) const;
  /// What of that these pods use on this one.
  [[nodiscard]] std::int64_t gpuUseOf(NodeIndex i, const std::string& ns,
                                      const std::set<model::Uid>& pods) const;
  /// And what each of its pods uses there, of those that use some.
  [[nodiscard]] std::map<model::Uid, std::int64_t> gpuUsesOf(NodeIndex i, const std::string& ns) const;
  using GpuUse = std::map<std::string, std::map<std::string, std::int64_t>>;  // namespace, model -> milli
  [[nodiscard]] const GpuUse& gpuUse() const { return gpu_use_; }
  /// Another number whenever gpuUse() changes.
  [[nodiscard]] std::uint64_t gpuUseVersion() const { return gpu_use_changes_.end(); }
  /// The namespaces whose gpuUse() changed, in order; positions are those of gpuUseVersion().
  [[nodiscard]] const ChangeLog<std::string>& gpuUseChanges() const { return gpu_use_changes_; }

  /// Sets aside what a decision chose. The decision was made on this state (no event in between): that
  /// devices, resources, ports and pods suffice is CHECKed, and that this uid has no other reservation there.
  Reservation reserve(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                      const std::vector<int>& ids, const GpuCharge& charge = {});
  /// As reserve(), for a set of devices that an adopted reservation already holds by Source::Lease of the
  /// same uid (not CHECKed against other holders' facts).
  Reservation adopt(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                    const std::vector<int>& ids, const GpuCharge& charge = {});

  /// As reserve(), of shares; the pod is in flight until the reservation ends. Nothing is CHECKed: the
  /// decision may rest on a Node that somebody else knew first.
  Reservation reserveShares(const model::NodeName& node, const model::Uid& uid, const SharePicks& picks,
                            const GpuCharge& charge, const std::string& gang = {});

  /// Is told whenever a pod comes to be reserved on a node (`is` true) or is so no more. Before the first
  /// reservation; may change nothing of what is reserved.
  using ReservedListener = std::function<void(const model::NodeName& node, const model::Uid& uid, bool is)>;
  void setReservedListener(ReservedListener listener) { reserved_listener_ = std::move(listener); }
  [[nodiscard]] bool isReserved(const model::NodeName& node, const model::Uid& uid) const;
  /// nullptr: nothing is known of it.
  [[nodiscard]] const NodeState* find(const model::NodeName& name) const;
  [[nodiscard]] std::optional<NodeIndex> indexOf(const model::NodeName& name) const;
  /// The node that maps mean by this name: of those whose label model::kNodeNameLabel says so the first by
  /// its own name; where none does, the one that has the name itself. nullopt: none. At most one node answers
  /// to a name (NodeState::answersTo()). Costs the same whatever the number of nodes.
  [[nodiscard]] std::optional<NodeIndex> named(const std::string& name) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }             // indexes 0..size()-1
  [[nodiscard]] const NodeState& at(NodeIndex i) const { return *nodes_[i]; }  // exists may be false
  [[nodiscard]] std::size_t existing() const { return existing_; }             // Node objects there now

  /// Every change of a node that may alter a decision, or the use() of a device, appends its index here;
  /// readers keep a position. Trimmed: a reader whose position is below changesBegin() looks at all nodes
  /// anew (NodeState::version says which changed).
  [[nodiscard]] std::uint64_t changesBegin() const { return changes_.begin(); }
  [[nodiscard]] std::uint64_t changesEnd() const { return changes_.end(); }
  [[nodiscard]] NodeIndex changedAt(std::uint64_t position) const { return changes_.at(position); }
  [[nodiscard]] const ChangeLog<NodeIndex>& changes() const { return changes_; }
  /// The same for NodeState::closed_version, which matters only to those whom a term means and to those who
  /// have NearRules.
  [[nodiscard]] const ChangeLog<NodeIndex>& closings() const { return closings_; }
  /// Grows with each wideChange().
  [[nodiscard]] std::uint64_t wideChanges() const { return wide_changes_; }
  /// The nodes whose object came or went, in order. What only somebody's pod names is none of them: whoever
  /// makes pods can name many.
  [[nodiscard]] const ChangeLog<NodeIndex>& comings() const { return comings_; }

  /// Canonical text of everything (sorted), for equality in tests, debug endpoints and the World's checker.
  /// `with_reservations` false leaves Source::Reservation out. Revisions and what follows from the rest are
  /// not in it.
  [[nodiscard]] std::string dump(bool with_reservations = true) const;
  /// dump(), as if these sources had said nothing.
  [[nodiscard]] std::string dumpWithout(std::initializer_list<Source> sources) const;

 private:
  /// What one source says that a pod uses on a node.
  struct Use {
    model::Resources resources;
    std::int64_t counted = 0;
    GpuCharge charge;
    std::vector<model::HostPort> ports;
    friend bool operator==(const Use&, const Use&) = default;
  };
  struct UseKey {
    model::Uid uid;
    Source source{};
  };
  struct UseKeyRef {
    const model::Uid& uid;
    Source source{};
  };
  struct UseOrder {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const int c = a.uid.text.compare(b.uid.text);
      return c != 0 ? c < 0 : a.source < b.source;
    }
  };
  using Uses = std::map<UseKey, Use, UseOrder>;

  NodeIndex indexFor(const model::NodeName& name);
  NodeState* known(const model::NodeName& name, NodeIndex& i);
  void takeName(NodeIndex i);
  void leaveName(NodeIndex i);
  void count(NodeState& n, const Use& use, int sign);
  void charge(const std::string& model, const GpuCharge& charge, int sign);
  template <class Visit>
  void eachCharge(NodeIndex i, const Visit& visit) const;
  void chargeAll(NodeIndex i, const std::string& model, int sign);
  [[nodiscard]] const std::string& modelOf(const NodeState& n) const;
  void tellReserved(const model::NodeName& node, const model::Uid& uid, Source source, bool is) const;
  void changed(NodeIndex i);
  [[nodiscard]] std::size_t mostChanges() const;
  void factsChanged(NodeIndex i);
  static void countNamed(NodeState& n, const DeviceState& d, int sign);
  static void countHeld(NodeState& n, const DeviceState& d, int sign);
  void recount(NodeIndex i, const model::Uid& uid);
  void holdersChanged(NodeIndex i, DeviceState& d);
  void forgetIfNothing(NodeIndex i);
  void checkRoom(const NodeState& n, const model::Uid& uid, const PodRequest& request,
                 const std::vector<int>& ids) const;
  Reservation setAside(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                       const std::vector<int>& ids, const GpuCharge& charge);
  void dumpNode(NodeIndex i, std::uint8_t without, std::string& out) const;

  std::vector<std::unique_ptr<NodeState>> nodes_;
  std::vector<Uses> uses_;                                    // by index, as nodes_
  std::vector<std::map<model::Uid, std::int64_t>> draining_;  // counted devices of ended pods; by index
  std::unordered_map<model::NodeName, NodeIndex> index_;
  /// By value of the label model::kNodeNameLabel, the nodes that have it.
  std::unordered_map<std::string, std::map<model::NodeName, NodeIndex>> labelled_;
  std::vector<NodeIndex> vacant_;
  std::size_t existing_ = 0;
  TopologyPool topologies_;
  std::string model_label_;
  GpuUse gpu_use_;  // without zeros
  ChangeLog<std::string> gpu_use_changes_;
  std::uint64_t version_ = 0;
  std::uint64_t wide_changes_ = 0;
  ReservedListener reserved_listener_;
  ChangeLog<NodeIndex> changes_;
  ChangeLog<NodeIndex> closings_;
  ChangeLog<NodeIndex> comings_;
  Doors doors_;
};

}  // namespace gs::sched
