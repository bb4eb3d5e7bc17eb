// Says when a GPU fails under a running pod: a Warning event on the pod, and one on its node. Once for each, until the GPU is healthy
// again. Nothing is taken away: only its owner can end a pod. A part of the scheduler's; one thread.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "scheduler/context.h"

namespace gs::scheduler {

class DeviceHealth : public controller::Part {
 public:
  explicit DeviceHealth(Context& context) : c_{context} { c_.parts.add(*this); }

  /// A bound pod has these devices of its node now.
  void see(const model::Pod& pod, const std::vector<int>& held);
  /// The pod has ended.
  void forget(const model::Uid& uid);
  void reset() override;
  [[nodiscard]] std::size_t size() const { return pods_.size(); }

 private:
  void fails(const model::Pod& pod, const model::Device& device);
  void isWell(const model::Pod& pod, int id);

  Context& c_;
  std::set<std::pair<model::Uid, int>> pods_;        // that were told
  std::set<std::pair<model::NodeName, int>> nodes_;  // devices of which their node was told
};

}  // namespace gs::scheduler
