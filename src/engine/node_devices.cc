#include "engine/node_devices.h"

#include <algorithm>

namespace gs::engine {

bool NodeDevices::report(const model::NodeName& node, const model::Ptr<model::GpuNodeStatus>& status) {
  if (status == nullptr) { return reported_.erase(node) > 0; }
  auto& slot = reported_[node];
  if (slot != nullptr && slot->uid == status->uid && slot->revision >= status->revision) { return false; }
  slot = status;
  return true;
}

model::Ptr<model::GpuNodeStatus> NodeDevices::reported(const model::NodeName& node) const {
  const auto it = reported_.find(node);
  return it == reported_.end() ? nullptr : it->second;
}

model::Ptr<model::GpuNodeStatus> NodeDevices::kept(const model::NodeName& node) const {
  const auto it = kept_.find(node);
  return it == kept_.end() ? nullptr : it->second;
}

bool NodeDevices::saysDra(const model::NodeName& node) const {
  for (const auto& status : {reported(node), kept(node)}) {
    if (status != nullptr && status->writer != model::Writer::Unsaid && status->says_dra) { return true; }
  }
  return false;
}

NodeDevices::Published NodeDevices::published(const model::NodeName& node) const {
  const auto pools = pools_.of(node);
  if (!dra::isByDriver(pools, drivers_)) { return Published::Nothing; }
  return dra::whyNotWhole(pools, drivers_).empty() ? Published::Whole : Published::InPart;
}

model::Ptr<model::GpuNodeStatus> NodeDevices::of(const model::NodeName& node) const {
  const auto pools = pools_.of(node);
  const auto it = away_.find(node);
  if (it == away_.end() || (it->second.last == nullptr && dra::isByDriver(pools, drivers_))) {
    return dra::joined(node, reported(node), pools, rules_, drivers_);
  }
  return dra::withoutDriver(node, reported(node), it->second.last.get(), pools, drivers_);
}

dra::NodeNames NodeDevices::ofDrivers() const {
  dra::NodeNames out = pools_.nodes();
  for (const auto& [node, status] : kept_) { out.insert(node); }
  for (const auto& [node, status] : reported_) {
    if (status->says_dra) { out.insert(node); }
  }
  return out;
}

NodeDevices::Candidates NodeDevices::candidates(const model::NodeName& node) const {
  Candidates out;
  if (isAway(node)) { out.trouble = "its DRA driver publishes no GPUs of the node now"; }
  for (const auto& pool : pools_.of(node)) {
    if (!pool.trouble.empty()) {
      out.trouble = pool.trouble;
      continue;
    }
    auto listed = pool.devices;
    std::stable_sort(listed.begin(), listed.end(),
                     [](const auto* a, const auto* b) { return a->name.size() < b->name.size(); });
    for (const auto* device : listed) {
      dra::Candidate& one = out.devices.emplace_back();
      one.name = {pool.driver, pool.pool, device->name};
      one.device = device;
      for (const auto& rule : rules_) {
        if (dra::appliesTo(*rule, one.name)) { one.laid.push_back(rule->taint); }
      }
    }
  }
  return out;
}

bool NodeDevices::isPublished(const model::NodeName& node) const {
  const auto pools = pools_.of(node);
  return std::any_of(pools.begin(), pools.end(),
                     [this](const auto& pool) { return dra::findDriver(drivers_, pool.driver) != nullptr; });
}

dra::NodeNames NodeDevices::taint(const controller::Change& rule) {
  const auto at = std::lower_bound(rules_.begin(), rules_.end(), rule.key,
                                   [](const auto& r, const model::ObjectKey& key) { return r->key < key; });
  const bool known = at != rules_.end() && (*at)->key == rule.key;
  const auto now = rule.object.as<model::DeviceTaintRule>();
  if (now == nullptr && !known) { return {}; }
  if (now == nullptr) {
    rules_.erase(at);
  } else if (known) {
    *at = now;
  } else {
    rules_.insert(at, now);
  }
  return pools_.nodes();
}

}  // namespace gs::engine
