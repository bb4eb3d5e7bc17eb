#include "dra/node_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <tuple>
#include <unordered_map>

namespace gs::dra {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// A GPU as the driver has it.
struct Published {
  model::DeviceName name;
  std::string uuid;
  std::string pci;
  std::string product;
  std::int64_t memory_mib = 0;
  std::string trouble;  // why it may not be given; "": it may
};

bool keepsPodsOff(const model::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

std::string sentence(const model::Taint& taint) {
  return fmt::format("device taint {}{}:{}", taint.key, taint.value.empty() ? "" : "=" + taint.value,
                     taint.effect);
}

std::string troubleOf(const model::DeviceName& name, const model::SliceDevice& device,
                      const TaintRules& rules) {
  if (!device.unsupported.empty()) { return device.unsupported; }
  for (const auto& taint : device.taints) {
    if (keepsPodsOff(taint)) { return sentence(taint); }
  }
  for (const auto& rule : rules) {
    if (keepsPodsOff(rule->taint) && appliesTo(*rule, name)) {
      return fmt::format("{}, by DeviceTaintRule {}", sentence(rule->taint), rule->key.name);
    }
  }
  return "";
}

/// In PCI order, and those without an address after all others, by name.
bool comesBefore(const Published& a, const Published& b) {
  if (a.pci.empty() != b.pci.empty()) { return b.pci.empty(); }
  return std::tie(a.pci, a.name) < std::tie(b.pci, b.name);
}

std::vector<Published> publishedBy(const Driver& driver, const std::vector<Pools::OnNode>& pools,
                                   const TaintRules& rules) {
  std::vector<Published> out;
  for (const auto& pool : pools) {
    if (pool.driver != driver.name) { continue; }
    for (const auto* device : pool.devices) {
      if (!isWholeGpu(driver, *device)) { continue; }
      Published& one = out.emplace_back();
      one.name = {pool.driver, pool.pool, device->name};
      one.uuid = textOf(*device, driver.uuid);
      one.pci = pciAddress(textOf(*device, pciBusIdAttribute()));
      one.product = textOf(*device, driver.product);
      const auto memory = device->capacity.find(driver.memory);
      if (memory != device->capacity.end()) { one.memory_mib = memory->second.whole / kMiB; }
      one.trouble = pool.trouble.empty() ? troubleOf(one.name, *device, rules) : pool.trouble;
    }
  }
  std::sort(out.begin(), out.end(), comesBefore);
  return out;
}

/// As it was when the driver still published it.
std::vector<Published> publishedOnce(const model::GpuNodeStatus& last, const std::string& why) {
  std::vector<Published> out;
  for (const auto& device : last.devices) {
    if (device.dra.device.empty()) { continue; }
    out.push_back({.name = device.dra,
                   .uuid = device.uuid,
                   .pci = pciAddress(device.pci_bus_id),
                   .product = device.model,
                   .memory_mib = device.memory_mib,
                   .trouble = why});
  }
  return out;
}

/// Those that no GPU of the agent's is yet.
class Unclaimed {
 public:
  explicit Unclaimed(const std::vector<Published>& published)
      : claimed_(published.size()), published_{published} {
    for (std::size_t i = 0; i < published.size(); ++i) {
      if (!published[i].uuid.empty()) { by_uuid_.emplace(published[i].uuid, i); }
      if (!published[i].pci.empty()) { by_pci_.emplace(published[i].pci, i); }
    }
  }
  /// The one that this GPU is; nullptr: none.
  const Published* take(const model::Device& seen) {
    const auto by_uuid = by_uuid_.find(seen.uuid);
    if (by_uuid != by_uuid_.end() && !seen.uuid.empty()) { return claim(by_uuid->second); }
    const auto by_pci = by_pci_.find(pciAddress(seen.pci_bus_id));
    if (by_pci == by_pci_.end()) { return nullptr; }
    // One that says another UUID is another GPU, which took its place.
    const std::string& uuid = published_[by_pci->second].uuid;
    return uuid.empty() || seen.uuid.empty() ? claim(by_pci->second) : nullptr;
  }
  /// The others, in their order.
  [[nodiscard]] std::vector<const Published*> rest() const {
    std::vector<const Published*> out;
    for (std::size_t i = 0; i < claimed_.size(); ++i) {
      if (!claimed_[i]) { out.push_back(&published_[i]); }
    }
    return out;
  }

 private:
  const Published* claim(std::size_t i) {
    if (claimed_[i]) { return nullptr; }
    claimed_[i] = true;
    return &published_[i];
  }

  std::vector<bool> claimed_;
  const std::vector<Published>& published_;
  std::unordered_map<std::string, std::size_t> by_uuid_;
  std::unordered_map<std::string, std::size_t> by_pci_;
};

void worsen(model::Device& device, model::Health health, const std::string& why) {
  const auto rank = [](model::Health h) {
    return h == model::Health::Healthy ? 0 : h == model::Health::Unknown ? 1 : 2;
  };
  if (rank(health) <= rank(device.health)) { return; }
  device.health = health;
  device.health_reason = why;
}

/// What the driver says of it, where the agent says nothing.
void describe(model::Device& device, const Published& by) {
  device.dra = by.name;
  if (device.uuid.empty()) { device.uuid = by.uuid; }
  if (device.uuid.empty()) {
    device.uuid = fmt::format("{}/{}/{}", by.name.driver, by.name.pool, by.name.device);
  }
  if (device.pci_bus_id.empty()) { device.pci_bus_id = by.pci; }
  if (device.model.empty()) { device.model = by.product; }
  if (device.memory_mib == 0) { device.memory_mib = by.memory_mib; }
  if (!by.trouble.empty()) { worsen(device, model::Health::Unhealthy, by.trouble); }
}

const Driver* driverOf(const std::vector<Pools::OnNode>& pools, const Drivers& drivers) {
  const auto it = std::find_if(drivers.begin(), drivers.end(), [&](const Driver& d) {
    return std::any_of(pools.begin(), pools.end(), [&](const auto& pool) { return pool.driver == d.name; });
  });
  return it == drivers.end() ? nullptr : &*it;
}

/// `not_published`: why nobody would prepare what only the agent sees.
model::Ptr<model::GpuNodeStatus> join(const model::NodeName& node,
                                      const model::Ptr<model::GpuNodeStatus>& reported,
                                      const std::vector<Published>& published, const std::string& resource,
                                      const std::string& not_published) {
  Unclaimed unclaimed{published};
  auto status = std::make_shared<model::GpuNodeStatus>(reported ? *reported : model::GpuNodeStatus{});
  status->node = node;
  status->enforcement = model::Enforcement::Dra;
  status->dra_resource = resource;
  for (auto& device : status->devices) {
    if (const Published* by = unclaimed.take(device)) {
      describe(device, *by);
    } else {
      worsen(device, model::Health::Unhealthy, not_published);
    }
  }
  int id = status->devices.empty() ? 0 : status->devices.back().id + 1;
  for (const Published* one : unclaimed.rest()) {
    if (id > model::kMaxDeviceId) { break; }
    model::Device& device = status->devices.emplace_back();
    device.id = id++;
    device.health = model::Health::Healthy;
    if (reported != nullptr) { worsen(device, model::Health::Unknown, "the node's agent does not see it"); }
    describe(device, *one);
  }
  return status;
}

/// By the first of its GPUs, else (nothing is known of them) the first of the table.
const Driver& driverOfLast(const model::GpuNodeStatus* last, const Drivers& drivers) {
  if (last == nullptr) { return drivers.front(); }
  const auto is_its = [&](const Driver& driver) {
    return std::any_of(last->devices.begin(), last->devices.end(),
                       [&](const model::Device& device) { return device.dra.driver == driver.name; });
  };
  const auto it = std::find_if(drivers.begin(), drivers.end(), is_its);
  return it == drivers.end() ? drivers.front() : *it;
}

}  // namespace

bool appliesTo(const model::DeviceTaintRule& rule, const model::DeviceName& device) {
  const auto means = [](const std::string& selected, const std::string& is) {
    return selected.empty() || selected == is;
  };
  return means(rule.driver, device.driver) && means(rule.pool, device.pool) &&
         means(rule.device, device.device);
}

std::string pciAddress(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) == std::string_view::npos) { return ""; }
  std::string_view domain = text.substr(0, colon);
  while (domain.size() > 4 && domain[0] == '0') { domain.remove_prefix(1); }
  std::string out = std::string{domain} + std::string{text.substr(colon)};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return out;
}

model::Ptr<model::GpuNodeStatus> joined(const model::NodeName& node,
                                        const model::Ptr<model::GpuNodeStatus>& reported,
                                        const std::vector<Pools::OnNode>& pools, const TaintRules& rules,
                                        const Drivers& drivers) {
  const Driver* driver = driverOf(pools, drivers);
  if (driver == nullptr) { return reported; }
  return join(node, reported, publishedBy(*driver, pools, rules), driver->resource,
              fmt::format("{} does not publish it", driver->name));
}

model::Ptr<model::GpuNodeStatus> withoutDriver(const model::NodeName& node,
                                               const model::Ptr<model::GpuNodeStatus>& reported,
                                               const model::GpuNodeStatus* last,
                                               const std::vector<Pools::OnNode>& pools,
                                               const Drivers& drivers) {
  const Driver& driver = driverOfLast(last, drivers);
  std::string why = whyNotWhole(pools, drivers);
  if (why.empty()) { why = fmt::format("{} publishes no GPUs of the node now", driver.name); }
  if (last == nullptr) { return join(node, reported, {}, driver.resource, why); }
  return join(node, reported, publishedOnce(*last, why), last->dra_resource, why);
}

bool isByDriver(const std::vector<Pools::OnNode>& pools, const Drivers& drivers) {
  return driverOf(pools, drivers) != nullptr;
}

std::string whyNotWhole(const std::vector<Pools::OnNode>& pools, const Drivers& drivers) {
  const Driver* driver = driverOf(pools, drivers);
  for (const auto& pool : pools) {
    if (driver != nullptr && pool.driver == driver->name && !pool.trouble.empty()) { return pool.trouble; }
  }
  return "";
}

}  // namespace gs::dra
