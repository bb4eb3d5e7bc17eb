#include "agent/known_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "agent/health.h"
#include "agent/numbers.h"
#include "base/mutant.h"

namespace gs::agent {
namespace {

using model::Health;

constexpr std::string_view kVanished = "the driver does not list it any more: lost, or taken out";
constexpr std::string_view kMaybeCounted = "CUDA may count it or not";

int badnessOf(Health health) { return health == Health::Healthy ? 0 : health == Health::Unknown ? 1 : 2; }

/// As messages name it.
std::string said(const Device& device) {
  const Gpu& gpu = device.gpu;
  return !gpu.uuid.empty()         ? gpu.uuid
         : !gpu.pci_bus_id.empty() ? gpu.pci_bus_id
                                   : fmt::format("{}", device.id);
}

/// Why numbers above it are not sure, and what ends that.
std::string movedBy(const Device& device) {
  switch (device.gpu.counted) {
    case Counted::No:
      return fmt::format(
          "indices moved since GPU {} vanished: drain the node, and a minute later they are counted anew",
          said(device));
    case Counted::Maybe:
      return fmt::format(
          "indices moved since GPU {} was lost, unless CUDA still counts it: drain the node and reboot it",
          said(device));
    case Counted::Yes: break;
  }
  return fmt::format(
      "indices may have moved: nobody can say where GPU {} is on the bus; drain the node and reboot it",
      said(device));
}

/// The first of which the numbers of others depend.
const Device* doubtfulOne(const std::vector<Device>& devices, const std::vector<Numbers>& numbers) {
  const Device* unplaced = nullptr;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].gpu.counted != Counted::Yes) { return &devices[i]; }
    const bool nowhere = devices[i].gpu.pci_bus_id.empty() && numbers[i].first != numbers[i].last;
    if (nowhere && unplaced == nullptr) { unplaced = &devices[i]; }
  }
  return unplaced;
}

/// Whoever is told such a number may get another GPU than is meant.
void noteMoved(std::vector<Device>& devices) {
  const std::vector<Numbers> numbers = numbersOf(devices);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].gpu.id_moved = !isSure(devices[i], numbers[i]);
  }
}

/// Containers are told UUIDs, and those of other GPUs are known: one without has only a number to be told.
void shutUnnamed(std::vector<Device>& devices) {
  for (Device& device : devices) {
    Gpu& gpu = device.gpu;
    if (!gpu.uuid.empty() || gpu.health == Health::Unhealthy) { continue; }
    gpu.health = Health::Unhealthy;
    gpu.reason = fmt::format("{}{}containers are told UUIDs, and the driver does not say its UUID",
                             gpu.reason, gpu.reason.empty() ? "" : "; ");
  }
}

/// None of them is given. (A reason that gives XIDs begins with them, and goes on to: they are read out of it
/// after a restart.)
void shutMoved(std::vector<Device>& devices) {
  const std::vector<Numbers> numbers = numbersOf(devices);
  const Device* doubtful = doubtfulOne(devices, numbers);
  if (doubtful == nullptr) { return; }
  const std::string moved = movedBy(*doubtful);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Gpu& gpu = devices[i].gpu;
    if (!gpu.id_moved || gpu.health == Health::Unhealthy) { continue; }
    gpu.health = Health::Unhealthy;
    const std::string own = std::exchange(gpu.reason, {});
    const bool is_it = &devices[i] == doubtful;
    gpu.reason = own.empty() ? moved : fmt::format("{}; {}", own, is_it ? kMaybeCounted : moved);
  }
}

/// What is not said of it is as it was before.
void fillIn(Gpu& gpu, const Gpu& before) {
  fillInWhatItIs(gpu, before);
  const bool is_marked = before.reason.find(kMigOn) != std::string::npos;
  const bool was_split = is_marked || !before.partitions.empty();
  if (gpu.says_no_mig && was_split && !gpu.partitions_unread) {
    gpu.partitions_unread = true;
    if (gpu.health == Health::Healthy) {
      gpu.health = Health::Unknown;
      gpu.reason = kMigUnsaid;
    }
  }
  if (!gpu.partitions_unread) { return; }
  if (gpu.partitions.empty()) { gpu.partitions = before.partitions; }
  if (!is_marked || !gpu.partitions.empty() || gpu.reason.find(kMigOn) != std::string::npos) { return; }
  gpu.reason = gpu.health == Health::Unhealthy
                   ? fmt::format("{}; {}", gpu.reason, kMigOn)
                   : fmt::format("{}, as far as is known, and {}", kMigOn, gpu.reason);
  gpu.health = Health::Unhealthy;
}

}  // namespace

void KnownGpus::looked(const LookPtr& look) {
  const bool is_same = look == last_look_;
  last_look_ = look;
  if (is_same || !look->has_value()) { return; }
  last_seen_ = look;
  keep();
}

std::vector<Gpu> KnownGpus::missingIn(const std::vector<Gpu>& listed) const {
  std::set<std::string> known;  // UUIDs and addresses
  for (const Gpu& gpu : listed) {
    known.insert(gpu.uuid);
    known.insert(gpu.pci_bus_id);
  }
  known.insert("");
  std::vector<Gpu> out;
  for (const auto* before : {&known_, &remembered_}) {
    for (const Gpu& gpu : *before) {
      const bool is_there =
          known.contains(gpu.uuid) || (!gpu.pci_bus_id.empty() && known.contains(gpu.pci_bus_id));
      if (is_there) { continue; }
      known.insert(gpu.uuid);
      out.push_back(gpu);
    }
  }
  return out;
}

void KnownGpus::recognize(std::vector<Gpu>& listed) const {
  for (Gpu& gpu : listed) {
    for (const auto* before : {&known_, &remembered_}) {
      const auto was =
          std::find_if(before->begin(), before->end(), [&](const Gpu& one) { return isSame(one, gpu); });
      if (was != before->end()) { fillIn(gpu, *was); }
    }
  }
  const std::vector<Gpu> missing = missingIn(listed);
  auto next = missing.begin();
  for (Gpu& gpu : listed) {
    const bool is_named = !gpu.uuid.empty() || !gpu.pci_bus_id.empty();
    if (is_named || gpu.counted != Counted::Maybe || next == missing.end()) { continue; }
    fillIn(gpu, *next++);
  }
}

void KnownGpus::keep() {
  const Hardware& hardware = **last_seen_;
  std::vector<Gpu> all = hardware.gpus;
  recognize(all);
  for (Gpu& gpu : missingIn(all)) {
    if (all.size() > model::kMaxDeviceId) { break; }
    if (auto xids = xidsIn(gpu.reason); !xids.empty()) { xids_[gpu.uuid].merge(std::move(xids)); }
    gpu.health = Health::Unhealthy;
    const bool is_marked = gpu.reason.find(kMigOn) != std::string::npos;
    gpu.reason = is_marked ? fmt::format("{}; {}", kVanished, kMigOn) : std::string{kVanished};
    gpu.counted = Counted::No;
    all.push_back(std::move(gpu));
  }
  known_ = std::move(all);
  driver_version_ = hardware.driver_version;
  arrange();
}

void KnownGpus::arrange() {
  ++changes_;
  Hardware all = **last_seen_;  // for its links: the first places are those that it lists
  all.gpus = known_;
  devices_ = devicesOf(all);
  for (Device& device : devices_) { recall(device.gpu); }
  if (GS_MUTANT(GivesMoved)) { return; }
  noteMoved(devices_);
  const bool by_uuid = told_uuids_ && std::any_of(devices_.begin(), devices_.end(), [](const Device& device) {
                         return !device.gpu.uuid.empty();
                       });
  if (by_uuid) { return shutUnnamed(devices_); }
  shutMoved(devices_);
  for (Device& device : devices_) { device.gpu.id_moved = false; }  // it is Unhealthy: nobody is told the id
}

const Device* KnownGpus::vanished() const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [](const Device& device) { return device.gpu.counted == Counted::No; });
  return it == devices_.end() ? nullptr : &*it;
}

void KnownGpus::countAnew() {
  if (last_seen_ == nullptr) { return; }
  std::erase_if(known_, [](const Gpu& gpu) { return gpu.counted == Counted::No; });
  remembered_.clear();
  arrange();
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
  if (isOut(facts) && gpu.counted == Counted::Yes) { gpu.counted = Counted::Maybe; }
  Verdict verdict = agent::healthOf(facts);
  if (verdict.health == Health::Healthy) { return; }
  if (badnessOf(verdict.health) >= badnessOf(gpu.health)) { gpu.health = verdict.health; }
  const bool is_split = gpu.reason.find(kMigOn) != std::string::npos;
  gpu.reason = says_more ? verdict.reason + "; " + gpu.reason : std::move(verdict.reason);
  if (is_split && !says_more) { gpu.reason += fmt::format("; {}", kMigOn); }
}

void KnownGpus::published(const NodeView& view, bool is_this_boot) {
  if (last_seen_ == nullptr) {
    devices_ = view.devices;
    ++changes_;
    for (Device& device : devices_) { device.in_use_by.clear(); }
    driver_version_ = view.driver_version;
  }
  if (!is_this_boot) { return; }
  remembered_.clear();
  for (const Device& device : view.devices) {
    auto xids = xidsIn(device.gpu.reason);
    if (!xids.empty() && !device.gpu.uuid.empty()) { xids_[device.gpu.uuid] = std::move(xids); }
    if (GS_MUTANT(ForgetsVanished)) { continue; }
    if (!device.gpu.uuid.empty()) { remembered_.push_back(device.gpu); }
  }
  if (last_seen_ != nullptr) { keep(); }
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
  for (const Device& device : devices_) { ++out[model::healthName(healthOf(device).first)]; }
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
                                  {"was", before == said_.end() ? "" : model::healthName(was)},
                                  {"is", model::healthName(health)},
                                  {"reason", *reason}}});
    }
    now.emplace(name, std::pair{health, *reason});
  }
  said_ = std::move(now);
}

}  // namespace gs::agent
