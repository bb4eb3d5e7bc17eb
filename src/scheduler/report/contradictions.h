// Says when two facts about a GPU contradict each other (R79): a Warning event on the pods and on the nodes
// concerned, once for each contradiction until it is over. A gauge and a line of /readyz count those that
// last. Nothing is taken away: only its owner can end a pod.
//   in-use-by-other    containers of a pod use a GPU (inUseBy) whose lease names another pod that runs
//   allocated-twice    a ResourceClaim of somebody else was allocated a GPU that a pod of ours has by its own
//   uuid-twice-in-node, uuid-on-two-nodes    a UUID stands at two GPUs (engine/uuids.h)
// A pod that ended is none of this: what it still uses drains (R14).
// Cost: a pod that is looked at, its own devices; else what changed, kPerTurn UUIDs at an event.
// A part of the scheduler's; one thread.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/device_index.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class Contradictions : public controller::Part {
 public:
  explicit Contradictions(Context& context) : c_{context} { c_.parts.add(*this); }

  /// A bound pod, anybody's: it, or who uses its GPUs, may have changed.
  void see(const model::Pod& pod);
  void podEnded(const model::Uid& uid) override;
  /// Says what is new of UUIDs. Called after each event.
  void pump();
  [[nodiscard]] bool hasMore() const { return !to_tell_.empty(); }
  void reset() override;

  enum class Kind : std::uint8_t { InUseByOther, AllocatedTwice, UuidTwiceInNode, UuidOnTwoNodes };
  static constexpr std::size_t kKinds = 4;
  [[nodiscard]] static const char* nameOf(Kind kind);
  /// How many last, of each kind.
  [[nodiscard]] std::array<std::size_t, kKinds> counts() const;
  /// One of them, for people; "" there is none.
  [[nodiscard]] std::string example() const;
  [[nodiscard]] std::size_t size() const override {
    return doubly_used_.size() + allocated_twice_.size() + uuids_.size();
  }

 private:
  using Device = std::pair<model::NodeName, int>;
  using Pods = std::set<model::Uid>;
  static constexpr int kPerTurn = 64;
  /// Pods, or GPUs, that a message names.
  static constexpr std::size_t kNamed = 4;
  /// UUIDs that one node is told of; the gauge counts all of them.
  static constexpr int kOfNode = 4;
  struct DoublyUsed {
    Pods leased;  // whom its lease names, of pods that run
    Pods others;  // who use it besides
    Pods told;    // of both, and of those before
    bool node_told = false;
  };
  struct Twice {
    Device first, last;  // of its places
    Pods told;
    std::set<model::NodeName> nodes_told;
  };

  [[nodiscard]] const model::Pod* runningOn(const model::NodeName& node, const model::Uid& uid) const;
  /// Of pods, by node, as far as they were asked for.
  using Leased = std::map<std::pair<model::Uid, model::NodeName>, std::set<int>>;
  [[nodiscard]] const std::set<int>& leasedTo(const model::Uid& uid, const model::NodeName& node,
                                              const engine::DeviceIndex& devices, Leased& known) const;
  void check(const Device& device, Leased& leased);
  /// By whom else the devices of this pod were allocated.
  void checkClaims(const model::Pod& pod);
  void checkThoseOf(const model::Uid& uid, Leased& leased);
  void over(const Device& device);
  void tell(const Device& device, DoublyUsed& now);
  void tellUuid(const std::string& uuid);
  void warn(const model::Pod& pod, const char* reason, std::string note);
  void warn(const model::NodeName& node, const char* reason, std::string note);
  [[nodiscard]] std::string namesOf(const Pods& pods) const;

  Context& c_;
  std::map<Device, DoublyUsed> doubly_used_;
  std::map<model::Uid, std::set<Device>> of_pod_;  // where doubly_used_ has it
  /// By pod of ours: the devices that somebody else's claim was allocated too, and that claim.
  std::map<model::Uid, std::map<Device, model::ObjectKey>> allocated_twice_;
  std::map<std::string, Twice> uuids_;
  std::map<model::NodeName, int> said_to_node_;  // UUIDs; none is 0
  std::set<std::string> to_tell_;                // UUIDs
  bool is_fresh_ = true;                         // nothing was read of what stands twice
};

}  // namespace gs::scheduler
