// Says when a GPU fails under a running pod: a Warning event on the pod, and one on its node. Once for each,
// until the GPU is healthy again. Nothing is taken away: only its owner can end a pod. While a DRA driver is
// away (NodeDevices) nobody knows how its GPUs are, and nothing is said. A part of the scheduler's; one
// thread.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/core/context.h"

namespace gs::scheduler {

class DeviceHealth : public controller::Part {
 public:
  explicit DeviceHealth(Context& context) : c_{context} { c_.parts.add(*this); }

  /// A bound pod has these devices of its node now.
  void see(const model::Pod& pod, const std::vector<int>& held);
  void podEnded(const model::Uid& uid) override;
  /// What was said to nodes that are not there any more. Called now and then.
  void forgetGoneNodes();
  void reset() override;
  [[nodiscard]] std::size_t size() const override { return pods_.size() + nodes_.size(); }

 private:
  void fails(const model::Pod& pod, const model::Device& device);
  void isWell(const model::Pod& pod, int id);

  Context& c_;
  std::set<std::pair<model::Uid, int>> pods_;  // that were told
  /// Devices of which their node was told, and that node's uid: a new one of the name is told anew.
  std::map<std::pair<model::NodeName, int>, model::Uid> nodes_;
};

}  // namespace gs::scheduler
