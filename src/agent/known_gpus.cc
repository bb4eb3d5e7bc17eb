#include "agent/known_gpus.h"

#include <fmt/format.h>

#include <string_view>

#include "agent/health.h"

namespace gs::agent {
namespace {

using model::Health;

constexpr std::string_view kVanished =
    "the driver does not list it any more: lost, or taken out (a restart of the agent forgets it)";

const char* nameOf(Health health) {
  switch (health) {
    case Health::Healthy: return "Healthy";
    case Health::Unhealthy: return "Unhealthy";
    case Health::Unknown: break;
  }
  return "Unknown";
}

int badnessOf(Health health) { return health == Health::Healthy ? 0 : health == Health::Unknown ? 1 : 2; }

/// CUDA counts without those that went: whoever is told an id above theirs gets another GPU than is meant.
void shutMoved(std::vector<Device>& devices, const std::set<std::string>& vanished) {
  const std::string* below = nullptr;
  for (Device& device : devices) {
    Gpu& gpu = device.gpu;
    if (vanished.contains(gpu.uuid)) {
      if (below == nullptr) { below = &gpu.uuid; }
    } else if (below != nullptr && gpu.health != Health::Unhealthy) {
      gpu.health = Health::Unhealthy;
      gpu.reason =
          fmt::format("indices moved since GPU {} vanished: drain the node and restart the agent", *below);
    }
  }
}

}  // namespace

void KnownGpus::looked(const LookPtr& look) {
  const bool is_same = look == last_look_;
  if (!is_same && look->has_value()) { keep(**look); }
  last_look_ = look;
}

/// GPUs that were there and are not listed now stay, unless another one has their place on the bus.
void KnownGpus::keep(const Hardware& hardware) {
  Hardware all = hardware;
  std::set<std::string> uuids;
  std::set<std::string> addresses;
  for (const Gpu& gpu : hardware.gpus) {
    uuids.insert(gpu.uuid);
    addresses.insert(gpu.pci_bus_id);
  }
  vanished_.clear();
  if (known_) {
    for (const Gpu& gpu : known_->gpus) {
      const bool replaced = !gpu.pci_bus_id.empty() && addresses.contains(gpu.pci_bus_id);
      const bool fits = all.gpus.size() <= model::kMaxDeviceId;
      if (gpu.uuid.empty() || uuids.contains(gpu.uuid) || replaced || !fits) { continue; }
      all.gpus.push_back(gpu);
      all.gpus.back().health = Health::Unhealthy;
      all.gpus.back().reason = kVanished;
      vanished_.insert(gpu.uuid);
    }
  }
  known_ = std::move(all);
  if (!vanished_.empty()) { counted_ = devicesOf(hardware); }
  driver_version_ = hardware.driver_version;
  arrange();
}

void KnownGpus::arrange() {
  devices_ = devicesOf(*known_);
  for (Device& device : devices_) { recall(device.gpu); }
  shutMoved(devices_, vanished_);
}

void KnownGpus::recall(Gpu& gpu) {
  const auto before = xids_.find(gpu.uuid);
  if (before == xids_.end()) { return; }
  if (gpu.is_cleared) {
    xids_.erase(before);
    return;
  }
  auto xids = xidsIn(gpu.reason);
  const bool says_more = xids.empty() && !gpu.reason.empty();
  xids.insert(before->second.begin(), before->second.end());
  Facts facts;
  facts.xids = std::move(xids);
  Verdict verdict = agent::healthOf(facts);
  if (badnessOf(verdict.health) < badnessOf(gpu.health)) { return; }
  gpu.health = verdict.health;
  gpu.reason = says_more ? verdict.reason + "; " + gpu.reason : std::move(verdict.reason);
}

void KnownGpus::published(const NodeView& view, bool is_this_boot) {
  if (!known_) {
    devices_ = view.devices;
    for (Device& device : devices_) { device.in_use_by.clear(); }
    driver_version_ = view.driver_version;
  }
  if (!is_this_boot) { return; }
  for (const Device& device : view.devices) {
    auto xids = xidsIn(device.gpu.reason);
    if (!xids.empty() && !device.gpu.uuid.empty()) { xids_[device.gpu.uuid] = std::move(xids); }
  }
  if (known_) { arrange(); }
}

/// What is published of it: while the driver is silent, what was known counts no more, and what was wrong
/// still does.
std::pair<Health, const std::string*> KnownGpus::healthOf(const Device& device) const {
  const bool is_doubted = last_look_ != nullptr && !*last_look_ && device.gpu.health != Health::Unhealthy;
  if (is_doubted) { return {Health::Unknown, &last_look_->error().text}; }
  return {device.gpu.health, &device.gpu.reason};
}

std::vector<Device> KnownGpus::shown() const {
  std::vector<Device> out = devices_;
  for (Device& device : out) {
    const auto [health, reason] = healthOf(device);
    if (reason != &device.gpu.reason) { device.gpu.reason = *reason; }
    device.gpu.health = health;
  }
  return out;
}

std::map<std::string, double> KnownGpus::byHealth() const {
  std::map<std::string, double> out{{"Healthy", 0}, {"Unhealthy", 0}, {"Unknown", 0}};
  for (const Device& device : devices_) { ++out[nameOf(healthOf(device).first)]; }
  return out;
}

void KnownGpus::sayHealth(kapi::Effects& out) {
  std::map<std::string, std::pair<Health, std::string>> now;
  for (const Device& device : devices_) {
    const auto [health, reason] = healthOf(device);
    const std::string name = agent::nameOf(device);
    const auto before = said_.find(name);
    const Health was = before == said_.end() ? Health::Healthy : before->second.first;
    if (was != health) {
      const auto level = badnessOf(health) > badnessOf(was) ? kapi::Level::Warn : kapi::Level::Info;
      out.emplace_back(kapi::Log{level,
                                 "a GPU's health changed",
                                 {{"gpu", name},
                                  {"was", before == said_.end() ? "" : nameOf(was)},
                                  {"is", nameOf(health)},
                                  {"reason", *reason}}});
    }
    now.emplace(name, std::pair{health, *reason});
  }
  said_ = std::move(now);
}

}  // namespace gs::agent
