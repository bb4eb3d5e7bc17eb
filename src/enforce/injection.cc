#include "enforce/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/mutant.h"
#include "base/utf8.h"
#include "enforce/cdi_gpu.h"
#include "enforce/told_file.h"
#include "enforce/variables.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kShownOfAValue = 200;

using Devices = std::vector<const NodeDevice*>;
using Done = tl::expected<void, Refusal>;

enum class Way : std::uint8_t { Cdi, Edits, Runtime, Nodes };

struct Chosen {
  Devices devices;
  Way way{};
  std::vector<cdi::Entry> entries;  // of Cdi and Edits, one for each device
};

/// Those with a UUID in the record. Without one a device cannot be told from another.
tl::expected<Devices, Refusal> known(const std::vector<model::DeviceId>& ids, const Target& target) {
  Devices out;
  for (const model::DeviceId id : ids) {
    const NodeDevice* device = target.reading.table.byId(id);
    if (device == nullptr || device->uuid.empty()) {
      return refuse(Reason::UnknownDevice,
                    fmt::format("{} is to have GPU {} of node {}, {}; see status.devices of GpuNodeStatus {}",
                                target.label, print(id), target.reading.table.record().node,
                                device == nullptr ? "which its agent does not see"
                                                  : "whose UUID the driver does not say",
                                target.reading.table.record().node));
    }
    out.push_back(device);
  }
  return out;
}

bool isAll(const Devices& devices, model::Vendor vendor) {
  return std::all_of(devices.begin(), devices.end(), [&](const auto* one) { return one->vendor == vendor; });
}

bool hasNode(const rpc::nri::Container& container, std::string_view path) {
  return std::any_of(container.devices.begin(), container.devices.end(),
                     [&](const auto& device) { return device.path == path; });
}

bool runtimeInjects(const Devices& devices, const Target& target) {
  if (!isAll(devices, model::Vendor::Nvidia)) { return false; }
  const Given& given = target.given;
  // A plugin that names GPUs and brings no nodes counts on it.
  return target.facts.is_nvidia_runtime ||
         ((given.by_variable || given.by_mounts) && !given.by_nodes && !given.by_cdi);
}

/// The node by which it is reached, as the host has it; none where that is not enough or not known.
std::optional<rpc::nri::LinuxDevice> bareNode(const NodeDevice& device) {
  const auto node = ownNode(device);
  if (!node || !device.id.isWhole()) { return std::nullopt; }
  rpc::nri::LinuxDevice out;
  out.type = "c";
  out.minor = node->number;
  const bool is_amd = device.vendor == model::Vendor::Amd;
  out.major = is_amd ? kDrmMajor : kNvidiaMajor;
  out.path = is_amd ? device.render_node : fmt::format("/dev/nvidia{}", node->number);
  return out;
}

bool nodesAreEnough(const Devices& devices, const Target& target) {
  const bool all_known =
      std::all_of(devices.begin(), devices.end(), [](const auto* one) { return bareNode(*one).has_value(); });
  if (!all_known) { return false; }
  if (isAll(devices, model::Vendor::Amd)) {
    return hasNode(target.reading.container, kKfdPath) || target.facts.stats.contains(kKfdPath);
  }
  return target.given.by_nodes && isAll(devices, model::Vendor::Nvidia);
}

/// Its CDI device, the surest one; none: `why` has sentences.
std::optional<cdi::Entry> entryOf(const NodeDevice& device, const cdi::Index& index,
                                  std::vector<std::string>* why = nullptr) {
  const cdi::GpuNames found = cdi::devicesOf(index, cdiGpu(device));
  if (!found.names.empty()) {
    auto entry = index.find(found.names.front());
    return entry ? std::optional{*std::move(entry)} : std::nullopt;
  }
  if (why != nullptr) { why->insert(why->end(), found.refused.begin(), found.refused.end()); }
  return std::nullopt;
}

tl::expected<Chosen, Refusal> chooseWay(Devices devices, const Target& target) {
  Chosen out{std::move(devices), Way::Cdi, {}};
  std::vector<std::string> why;
  for (const NodeDevice* device : out.devices) {
    if (auto entry = entryOf(*device, target.reading.index, &why)) {
      out.entries.push_back(*std::move(entry));
    }
  }
  if (out.entries.size() == out.devices.size()) {
    out.way = target.facts.injects_cdi ? Way::Cdi : Way::Edits;
    return out;
  }
  out.entries.clear();
  if (runtimeInjects(out.devices, target)) {
    out.way = Way::Runtime;
  } else if (nodesAreEnough(out.devices, target)) {
    out.way = Way::Nodes;
  } else {
    constexpr std::size_t kShown = 3;
    if (why.size() > kShown) { why.resize(kShown); }
    return refuse(Reason::NoWay,
                  fmt::format("{} cannot be given its GPUs: {}", target.label, fmt::join(why, "; ")));
  }
  return out;
}

std::vector<std::string> uuidsOf(const Devices& devices, model::Vendor vendor) {
  std::vector<std::string> out;
  for (const NodeDevice* device : devices) {
    if (device->vendor == vendor) { out.push_back(device->uuid); }
  }
  return out;
}

/// `numbers`: those that say the same where exactly these devices are in the container.
std::vector<Told> toldOf(const Chosen& chosen, const Target& target) {
  const auto nvidia = uuidsOf(chosen.devices, model::Vendor::Nvidia);
  const std::string numbers = numbersFrom0(chosen.devices.size());
  std::vector<Told> out;
  if (!nvidia.empty()) {
    const std::string uuids = fmt::format("{}", fmt::join(nvidia, ","));
    out.push_back({kCudaVariable, uuids, {numbers}});
    Told runtime{kNvidiaVariable, uuids, {}};
    if (chosen.way != Way::Runtime) { runtime.also = {kVoid, "none"}; }
    out.push_back(std::move(runtime));
    return out;
  }
  // ROCm takes numbers within what ROCR_VISIBLE_DEVICES leaves over; HIP reads CUDA's variable too.
  out.push_back({kRocrVariable, numbers, {}});
  for (const char* variable : {kHipVariable, kCudaVariable}) {
    if (lastOf(target.reading.container.env, variable)) { out.push_back({variable, numbers, {}}); }
  }
  if (lastOf(target.reading.container.env, kNvidiaVariable)) {
    out.push_back({kNvidiaVariable, kVoid, {"none", ""}});
  }
  return out;
}

void keep(const cdi::Edits& edits, Kept& kept) {
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    kept.paths.insert(node.path);
    if (const auto gpu = gpuNodeOf(node)) { kept.nodes.insert(*gpu); }
  }
}

/// Nodes below /dev/dri that are no device's of the record are another vendor's, and cards that come
/// without a render node of one.
Kept keptOfOthers(const Reading& reading) {
  Kept out;
  out.is_privileged = reading.is_privileged;
  bool has_ours = false;
  std::set<GpuNode> cards;
  for (const auto& device : reading.container.devices) {
    const auto node = gpuNodeOf(device);
    if (!node) { continue; }
    const bool is_ours = node->kind == NodeKind::Gpu || !reading.table.byNode(*node).empty();
    has_ours = has_ours || is_ours;
    if (node->kind == NodeKind::Card) { cards.insert(*node); }
    if (node->kind == NodeKind::Render && !is_ours) { out.nodes.insert(*node); }
  }
  if (!has_ours) { out.nodes.merge(cards); }
  return out;
}

Kept keptOf(const Chosen& chosen, const Target& target) {
  Kept out = keptOfOthers(target.reading);
  for (const NodeDevice* device : chosen.devices) {
    if (const auto node = ownNode(*device)) { out.nodes.insert(*node); }
    if (const auto node = renderNode(*device)) { out.nodes.insert(*node); }
  }
  for (const cdi::Entry& entry : chosen.entries) {
    keep(entry.spec->edits, out);
    keep(entry.device->edits, out);
  }
  if (chosen.way == Way::Runtime) { out.listed_uuids = uuidsOf(chosen.devices, model::Vendor::Nvidia); }
  return out;
}

void takeOut(const Kept& kept, const Target& target, Plan& plan) {
  if (GS_MUTANT(ForgetsPluginDevices)) { return; }
  for (const Strategy& strategy : strategies()) {
    strategy.takeOut(target.reading.container, kept, plan.adjustment);
  }
}

void append(std::vector<rpc::nri::Hook>& into, std::vector<rpc::nri::Hook>& more) {
  into.insert(into.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Done writeOut(const Chosen& chosen, const Target& target, Plan& plan) {
  auto written = cdi::writtenOut(chosen.entries, target.facts.stats);
  if (!written) {
    return refuse(Reason::NoWay,
                  fmt::format("{} cannot be given its GPUs: {}", target.label, written.error().message));
  }
  if (!written->untold.empty()) {
    plan.notes.push_back({Remark::Untold, fmt::format("{}: {}", target.label, written->untold.sentence())});
  }
  rpc::nri::Adjustment& from = written->adjustment;
  rpc::nri::Adjustment& to = plan.adjustment;
  for (auto& mount : from.mounts) { to.mounts.push_back(std::move(mount)); }
  for (auto& device : from.devices) { to.devices.push_back(std::move(device)); }
  for (const auto& [key, value] : from.env) { setVariable(to, key, value); }
  append(to.hooks.prestart, from.hooks.prestart);
  append(to.hooks.create_runtime, from.hooks.create_runtime);
  append(to.hooks.create_container, from.hooks.create_container);
  append(to.hooks.start_container, from.hooks.start_container);
  append(to.hooks.poststart, from.hooks.poststart);
  append(to.hooks.poststop, from.hooks.poststop);
  return {};
}

void bringNodes(const Chosen& chosen, const Target& target, Plan& plan) {
  const auto bring = [&](rpc::nri::LinuxDevice node) {
    const auto own = gpuNodeAt(node.path);
    for (const auto& there : target.reading.container.devices) {
      if (there.path == node.path && (!own || gpuNodeOf(there) == own)) { return; }
    }
    auto& devices = plan.adjustment.devices;  // NRI takes each path once
    std::erase_if(devices, [&](const auto& device) { return device.path == node.path; });
    devices.push_back(std::move(node));
  };
  for (const NodeDevice* device : chosen.devices) {
    if (auto node = bareNode(*device)) { bring(std::move(*node)); }
  }
  const auto kfd = target.facts.stats.find(kKfdPath);
  if (isAll(chosen.devices, model::Vendor::Amd) && kfd != target.facts.stats.end()) {
    rpc::nri::LinuxDevice node;
    node.path = kKfdPath;
    node.type = kfd->second.type;
    node.major = kfd->second.major;
    node.minor = kfd->second.minor;
    bring(std::move(node));
  }
}

Done bringIn(const Chosen& chosen, const Target& target, Plan& plan) {
  switch (chosen.way) {
    case Way::Cdi:
      for (const cdi::Entry& entry : chosen.entries) { plan.adjustment.cdi_devices.push_back(entry.name()); }
      return {};
    case Way::Edits: return writeOut(chosen, target, plan);
    case Way::Nodes: bringNodes(chosen, target, plan); return {};
    case Way::Runtime: return {};
  }
  return {};
}

/// Sets them, and where that is in vain, by a CDI device of ours that comes after.
Done tell(const std::vector<Told>& told, std::size_t gpus, const Target& target, Plan& plan) {
  const auto& env = target.reading.container.env;
  const cdi::Index& index = target.reading.index;
  for (const Told& one : told) {
    const auto is_it = [&](const auto& set) { return set.first == one.key; };
    const auto set = std::find_if(plan.adjustment.env.begin(), plan.adjustment.env.end(), is_it);
    const bool is_right = set != plan.adjustment.env.end() &&
                          std::find(one.also.begin(), one.also.end(), set->second) != one.also.end();
    if (!is_right) { setVariable(plan.adjustment, one.key, one.value); }
  }
  if (firstLost(env, plan.adjustment, index, told) == nullptr) { return {}; }
  const std::string ours = toldDevice(gpus);
  if (target.facts.injects_cdi && index.find(ours)) { plan.adjustment.cdi_devices.push_back(ours); }
  const Told* lost = firstLost(env, plan.adjustment, index, told);
  if (lost == nullptr) { return {}; }
  return refuse(
      Reason::StandsTwice,
      fmt::format("{}: {} is set by the image and by the pod or the device plugin, the runtime keeps "
                  "'{}', and it is to be '{}'; {}",
                  target.label, lost->key,
                  utf8Prefix(valueAfter(env, plan.adjustment, index, lost->key).value_or(""), kShownOfAValue),
                  lost->value,
                  target.facts.injects_cdi
                      ? "let a CDI file name the node's GPUs (nvidia-ctk cdi generate)"
                      : "use a runtime that injects CDI devices by NRI (containerd 2.1, CRI-O 1.34)"));
}

}  // namespace

std::vector<std::string> nodesToStat(const NodeRecord& record, const cdi::Index& index, bool injects_cdi) {
  std::vector<cdi::Entry> entries;
  for (const NodeDevice& device : record.devices) {
    if (injects_cdi) { break; }
    if (auto entry = entryOf(device, index)) { entries.push_back(*std::move(entry)); }
  }
  std::vector<std::string> out = cdi::nodesToStat(entries);
  out.emplace_back(kKfdPath);
  return out;
}

Done inject(const std::vector<model::DeviceId>& devices, const Target& target, Plan& plan) {
  if (devices.empty()) { return hideAll(target, plan); }
  if (devices.size() > kMostTold) {
    return refuse(Reason::TooMany, fmt::format("{} is to have {} GPUs; a container can have {} at most",
                                               target.label, devices.size(), kMostTold));
  }
  auto in_table = known(devices, target);
  if (!in_table) { return tl::unexpected<Refusal>(std::move(in_table.error())); }
  if (!isAll(*in_table, in_table->front()->vendor)) {
    return refuse(Reason::NoWay,
                  fmt::format("{} is to have GPUs {}, which are of two vendors; a container is "
                              "told those of one",
                              target.label, listed(devices)));
  }
  auto chosen = chooseWay(std::move(*in_table), target);
  if (!chosen) { return tl::unexpected<Refusal>(std::move(chosen.error())); }
  takeOut(keptOf(*chosen, target), target, plan);
  if (auto done = bringIn(*chosen, target, plan); !done) { return done; }
  plan.devices = devices;
  return tell(toldOf(*chosen, target), devices.size(), target, plan);
}

Done hideAll(const Target& target, Plan& plan) {
  takeOut(keptOfOthers(target.reading), target, plan);
  plan.devices.clear();
  return tell({{kNvidiaVariable, kVoid, {"none", ""}}}, 0, target, plan);
}

}  // namespace gs::enforce
