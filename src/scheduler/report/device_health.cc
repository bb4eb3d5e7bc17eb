#include "scheduler/report/device_health.h"

#include "kapi/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::scheduler {

void DeviceHealth::see(const model::Pod& pod, const std::vector<int>& held) {
  const model::GpuNodeStatus* status = c_.cache().status(pod.node);
  if (status == nullptr || c_.engine.nodeDevices().isAway(pod.node)) { return; }
  for (const int id : held) {
    const model::Device* device = c_.cache().devices(pod.node)->device(id);
    if (device == nullptr) { continue; }
    if (device->health == model::Health::Unhealthy) {
      fails(pod, *device);
    } else if (device->health == model::Health::Healthy) {
      isWell(pod, device->id);
    }
  }
}

void DeviceHealth::fails(const model::Pod& pod, const model::Device& device) {
  const std::string why = device.health_reason.empty() ? "no reason given" : device.health_reason;
  if (pods_.emplace(pod.uid, device.id).second) {
    c_.events.send(
        {kapi::kPod, pod.key, pod.uid, pod.revision, true, "GpuUnhealthy", "Watching",
         fmt::format("GPU {} of node {} is unhealthy ({}), and this pod still has it; delete the pod to "
                     "have it placed on another GPU",
                     device.id, pod.node.text, why)},
        c_.now, c_.out);
  }
  const sched::NodeState* state = c_.engine.ledger().find(pod.node);
  if (state == nullptr || !state->exists) { return; }
  const model::Node& node = state->node;
  if (std::exchange(nodes_[{pod.node, device.id}], node.uid) == node.uid) { return; }
  c_.events.send(
      {kapi::kNode,
       {"", node.name.text},
       node.uid,
       node.revision,
       true,
       "GpuUnhealthy",
       "Watching",
       fmt::format("GPU {} is unhealthy ({}), and pod {} still has it; nothing new is placed on it: "
                   "repair it, or drain the node",
                   device.id, why, pod.key.text())},
      c_.now, c_.out);
}

void DeviceHealth::isWell(const model::Pod& pod, int id) {
  pods_.erase({pod.uid, id});
  nodes_.erase({pod.node, id});
}

void DeviceHealth::podEnded(const model::Uid& uid) {
  const auto first = pods_.lower_bound({uid, 0});
  const auto last = std::find_if(first, pods_.end(), [&](const auto& told) { return told.first != uid; });
  pods_.erase(first, last);
}

void DeviceHealth::forgetGoneNodes() {
  std::erase_if(nodes_, [this](const auto& told) {
    const sched::NodeState* state = c_.engine.ledger().find(told.first.first);
    return state == nullptr || !state->exists;
  });
}

void DeviceHealth::reset() {
  pods_.clear();
  nodes_.clear();
}

}  // namespace gs::scheduler
