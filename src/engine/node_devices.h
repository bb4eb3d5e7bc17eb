// By whom each node's GPUs are known: its agent reports them (GpuNodeStatus), and DRA drivers publish them
// (ResourceSlices, with the DeviceTaintRules of administrators). of() is what both say together
// (dra/node_devices.h). A function of the objects that are there, in whatever order they came.
// A GpuNodeStatus that is no report (model::GpuNodeStatus::isReport()) is kept apart: it says what slices
// say, or nothing yet, and of() is as if it were not there.
// Problem: each start of a kubelet deletes the slices of its node, and so does a driver's absence; what the
// driver prepared stays in use. So whoever sees them go notes that the driver is away (NodeHandler), and of()
// is then what was known, with nothing to give. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/reflector.h"
#include "dra/claims/claim_plan.h"
#include "dra/drivers.h"
#include "dra/node_devices.h"
#include "dra/pools.h"
#include "model/node.h"
#include "model/object.h"

namespace gs::engine {

class NodeDevices {
 public:
  explicit NodeDevices(dra::Drivers drivers = dra::knownDrivers()) : drivers_{std::move(drivers)} {}

  /// Whose devices are GPUs, the first ones first.
  [[nodiscard]] const dra::Drivers& drivers() const { return drivers_; }

  /// The agent's; nullptr: none any more. False: nothing new.
  bool report(const model::NodeName& node, const model::Ptr<model::GpuNodeStatus>& status);
  [[nodiscard]] model::Ptr<model::GpuNodeStatus> reported(const model::NodeName& node) const;

  /// One that is no report; nullptr: none any more.
  void keep(const model::NodeName& node, const model::Ptr<model::GpuNodeStatus>& status) {
    if (status == nullptr) {
      kept_.erase(node);
    } else {
      kept_.insert_or_assign(node, status);
    }
  }
  [[nodiscard]] model::Ptr<model::GpuNodeStatus> kept(const model::NodeName& node) const;
  /// A GpuNodeStatus of the node says `dra`: a driver published GPUs of it, as far as the API server knows.
  [[nodiscard]] bool saysDra(const model::NodeName& node) const;
  /// That have one of these, or a report whose text says `dra`, or that a driver publishes GPUs of.
  [[nodiscard]] dra::NodeNames ofDrivers() const;

  // Each gives the nodes whose devices may be others now.
  dra::NodeNames publish(const controller::Change& slice) {
    const auto published = slice.object.as<model::ResourceSlice>();
    return published != nullptr ? pools_.put(published) : pools_.remove(slice.key);
  }
  dra::NodeNames taint(const controller::Change& rule);

  enum class Published {
    Nothing,
    InPart,  // a pool of which slices are missing, or that contradicts itself
    Whole,
  };
  /// What drivers of the table publish of the node.
  [[nodiscard]] Published published(const model::NodeName& node) const;
  /// It has the node's GPUs, and publishes nothing whole. `last`: what was known of them; nullptr: nothing.
  /// What was noted first stays.
  void driverWent(const model::NodeName& node, const model::Ptr<model::GpuNodeStatus>& last) {
    away_.try_emplace(node, Away{last, std::nullopt});
  }
  /// Of one whose driver is away: the Node is there, or not. No effect on others.
  void nodeIsThere(const model::NodeName& node, bool is_there, Mono now) {
    const auto it = away_.find(node);
    if (it == away_.end() || is_there == !it->second.node_went) { return; }
    it->second.node_went = is_there ? std::nullopt : std::optional{now};
  }
  /// It is back, or it has the node's GPUs no more.
  void forgetDriver(const model::NodeName& node) { away_.erase(node); }
  struct Away {
    model::Ptr<model::GpuNodeStatus> last;
    std::optional<Mono> node_went;  // since when there is no such Node
  };
  [[nodiscard]] const std::map<model::NodeName, Away>& away() const { return away_; }
  [[nodiscard]] bool isAway(const model::NodeName& node) const { return away_.contains(node); }

  /// What drivers publish of the node, for ResourceClaims: all devices of pools that are whole.
  struct Candidates {
    /// By driver, pool, name, gpu-2 before gpu-10, as drivers list them; valid until the next change.
    std::vector<dra::Candidate> devices;
    std::string trouble;  // why pools are left out; "": none is
  };
  [[nodiscard]] Candidates candidates(const model::NodeName& node) const;
  /// A driver of GPUs publishes some there. (A kubelet takes the slices of one that is away for long.)
  [[nodiscard]] bool isPublished(const model::NodeName& node) const;
  /// DeviceTaintRules, of which each is compared with each device.
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }
  /// nullptr: nobody knows of any.
  [[nodiscard]] model::Ptr<model::GpuNodeStatus> of(const model::NodeName& node) const;

 private:
  const dra::Drivers drivers_;
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> reported_;
  std::unordered_map<model::NodeName, model::Ptr<model::GpuNodeStatus>> kept_;
  std::map<model::NodeName, Away> away_;
  dra::Pools pools_;
  dra::TaintRules rules_;  // by key
};

}  // namespace gs::engine
