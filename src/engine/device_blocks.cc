#include "engine/device_blocks.h"

namespace gs::engine {
namespace {

const model::Uid kNobody{"(a lease that names no pod)"};

}  // namespace

void DeviceBlocks::block(const model::NodeName& node, int gpu) {
  if (blocked_.emplace(node, gpu).second) { new_.emplace_back(node, gpu); }
  ledger_.hold(node, gpu, kNobody, sched::Source::Lease, {});
}

void DeviceBlocks::unblock(const Device& device) {
  if (blocked_.erase(device) > 0) {
    ledger_.release(device.first, device.second, kNobody, sched::Source::Lease);
  }
}

void DeviceBlocks::unblockAll() {
  new_.clear();
  for (const auto& [node, gpu] : std::exchange(blocked_, {})) {
    ledger_.release(node, gpu, kNobody, sched::Source::Lease);
  }
}

}  // namespace gs::engine
