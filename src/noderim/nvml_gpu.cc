#include "noderim/nvml_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/ascii.h"
#include "base/files.h"
#include "noderim/pci_device.h"

namespace gs::noderim {
namespace {

constexpr unsigned kMostLinks = 18;
constexpr unsigned kMostMinor = 253;  // 254 and 255 are of the driver itself
constexpr unsigned kMostPartitions = 64;
constexpr int kUncorrected = 1;
constexpr int kVolatile = 0;
constexpr int kP2pNvLink = 2;
constexpr int kRemoteSwitch = 2;
constexpr int kFabricCompleted = 3;
constexpr int kFabricUnhealthy = 2;
constexpr int kFabricLimited = 3;
constexpr int kSameNode = 40;  // as far as to another host bridge of the same NUMA node

// Fields of GetFieldValues.
constexpr unsigned kCommonMbps = 90;
constexpr unsigned kLinkMbps = 164;
constexpr unsigned kRecoveryAction = 230;

std::string busIdOf(const NvmlPci& pci) {
  std::string out = textOf(pci.bus_id);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

/// What was asked for does not exist there, or may not be asked: that says nothing of the GPU.
bool isSilence(int answer) {
  return answer == kNvmlUnsupported || answer == kNvmlNoFunction || answer == kNvmlForbidden;
}

/// Notes what a failure says of the GPU.
void note(const NvmlCalls& nvml, int answer, const char* what, agent::Facts& facts) {
  if (answer == kNvmlLost) { facts.lost = true; }
  if (answer == kNvmlResetRequired) { facts.needs_reset = true; }
  if (facts.unreadable.empty()) {
    facts.unreadable = fmt::format("the driver cannot tell its {}: {}", what, nvml.text(answer));
  }
}

/// True: the answer is what was asked for. Else notes it.
bool isFine(const NvmlCalls& nvml, int answer, const char* what, agent::Facts& facts) {
  if (answer != kNvmlOk && !isSilence(answer)) { note(nvml, answer, what, facts); }
  return answer == kNvmlOk;
}

std::optional<std::uint64_t> fieldOf(const NvmlCalls& nvml, NvmlDevice handle, unsigned field,
                                     unsigned scope = 0) {
  NvmlField asked{};
  asked.field = field;
  asked.scope = scope;
  if (nvml.fields(handle, 1, &asked) != kNvmlOk || asked.answer != kNvmlOk) { return std::nullopt; }
  switch (asked.type) {
    case 1:
    case 5: return asked.value & 0xFFFF'FFFFU;
    case 6: return asked.value & 0xFFFFU;
    case 2:
    case 3:
    case 4: return asked.value;
    default: return std::nullopt;  // none of those that are asked for is a double
  }
}

/// What sysfs says of it; -1: nothing.
int numaOf(const std::string& bus_id, const std::string& sysfs) {
  const std::string folder = pciFolder(bus_id, sysfs);
  const auto text = folder.empty() ? fail(Code::NotFound, "") : readFile(folder + "/numa_node", 64);
  if (!text) { return -1; }
  const std::string_view digits = trim(*text);
  int out = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return error == std::errc{} && end == digits.data() + digits.size() ? out : -1;
}

void readWhatItIs(const NvmlCalls& nvml, const std::string& sysfs, NvmlGpu& out) {
  std::array<char, 96> text{};
  if (isFine(nvml, nvml.uuid(out.handle, text.data(), text.size()), "UUID", out.facts)) {
    out.gpu.uuid = textOf(text);
  }
  text = {};
  if (isFine(nvml, nvml.name(out.handle, text.data(), text.size()), "name", out.facts)) {
    out.gpu.model = textOf(text);
    std::replace(out.gpu.model.begin(), out.gpu.model.end(), ' ', '-');
  }
  int major = 0;
  int minor = 0;
  if (nvml.compute(out.handle, &major, &minor) == kNvmlOk) {
    out.gpu.compute = fmt::format("{}.{}", major, minor);
  }
  NvmlMemoryV2 memory;
  NvmlMemory older{};
  if (nvml.memory_v2(out.handle, &memory) == kNvmlOk) {
    out.gpu.memory_mib = static_cast<std::int64_t>(memory.total >> 20U);
  } else if (isFine(nvml, nvml.memory(out.handle, &older), "memory", out.facts)) {
    out.gpu.memory_mib = static_cast<std::int64_t>(older.total >> 20U);
  }
  NvmlPci pci{};
  const int place = nvml.pci(out.handle, &pci);
  if (isFine(nvml, place, "place on the bus", out.facts)) { out.gpu.pci_bus_id = busIdOf(pci); }
  out.is_off_bus = out.gpu.pci_bus_id.empty() && (place == kNvmlOk || isSilence(place));
  out.gpu.numa_node = numaOf(out.gpu.pci_bus_id, sysfs);
  unsigned numa = 0;
  if (out.gpu.numa_node < 0 && nvml.numa(out.handle, &numa) == kNvmlOk) {
    out.gpu.numa_node = static_cast<int>(numa);
  }
}

/// The files by which containers have it.
void readNodes(const NvmlCalls& nvml, const std::string& sysfs, NvmlGpu& out) {
  unsigned minor = 0;
  const bool says_minor = nvml.minor_number(out.handle, &minor) == kNvmlOk && minor <= kMostMinor;
  if (says_minor) { out.gpu.minor = static_cast<int>(minor); }
  out.gpu.render_node = renderNodeOf(out.gpu.pci_bus_id, sysfs);
}

void readHealth(const NvmlCalls& nvml, NvmlGpu& out) {
  agent::Facts& facts = out.facts;
  if (const auto action = fieldOf(nvml, out.handle, kRecoveryAction); action && *action <= 4) {
    facts.recovery = static_cast<agent::Recovery>(*action);
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failure = 0;
  const int rows = nvml.remapped_rows(out.handle, &corrected, &uncorrected, &pending, &failure);
  if (isFine(nvml, rows, "remapped rows", facts)) {
    facts.remaps = true;
    facts.remap_pending = pending != 0;
    facts.remap_failed = failure != 0;
  }
  std::uint64_t errors = 0;
  const int ecc = nvml.ecc_errors(out.handle, kUncorrected, kVolatile, &errors);
  if (isFine(nvml, ecc, "ECC errors", facts)) {
    facts.uncorrected = static_cast<std::int64_t>(std::min<std::uint64_t>(errors, 1'000'000'000));
  }
}

void readFabric(const NvmlCalls& nvml, NvmlGpu& out) {
  NvmlFabric fabric;
  int answer = nvml.fabric(out.handle, &fabric);
  if (answer == kNvmlVersion || answer == kNvmlInvalid) {
    fabric = {};
    fabric.version = kFabricV2;
    answer = nvml.fabric(out.handle, &fabric);
  }
  out.fabric_unread = !isFine(nvml, answer, "fabric", out.facts) && !isSilence(answer);
  if (answer != kNvmlOk) { return; }
  const bool is_done = fabric.state == kFabricCompleted;
  const bool is_up = is_done && fabric.status == static_cast<std::uint32_t>(kNvmlOk);
  out.facts.fabric_pending = fabric.state == 1 || fabric.state == 2 || (is_done && !is_up);
  out.facts.fabric_failed = is_up && fabric.summary == kFabricUnhealthy;
  out.facts.fabric_limited = is_up && fabric.summary == kFabricLimited;
  out.in_fabric = is_up;
  out.cluster = fabric.cluster;
  out.clique = fabric.clique;
}

/// nullopt: it cannot be told where it leads, as the facts say now.
std::optional<NvmlLink> readLink(const NvmlCalls& nvml, NvmlGpu& out, unsigned link,
                                 std::optional<std::uint64_t> common) {
  NvmlLink found;
  int remote = 0xFF;
  const int type = nvml.link_remote_type(out.handle, link, &remote);
  NvmlPci pci{};
  const int place = nvml.link_remote_pci(out.handle, link, &pci);
  for (const int answer : {type, place}) {
    if (answer == kNvmlOk || answer == kNvmlInvalid || isSilence(answer)) { continue; }
    note(nvml, answer, "NVLinks", out.facts);
    return std::nullopt;
  }
  found.to_switch = type == kNvmlOk && remote == kRemoteSwitch;
  if (place == kNvmlOk) { found.peer = busIdOf(pci); }
  const auto mbps = fieldOf(nvml, out.handle, kLinkMbps, link);
  found.mbps =
      static_cast<std::int64_t>(std::min<std::uint64_t>(mbps ? *mbps : common.value_or(0), 10'000'000));
  return found;
}

void readLinks(const NvmlCalls& nvml, NvmlGpu& out) {
  const auto common = fieldOf(nvml, out.handle, kCommonMbps);
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned is_up = 0;
    const int answer = nvml.link_state(out.handle, link, &is_up);
    if (answer == kNvmlNoFunction) { break; }
    if (answer == kNvmlInvalid || answer == kNvmlUnsupported) { continue; }  // there is none with this number
    out.links_unread |= !isFine(nvml, answer, "NVLinks", out.facts);
    if (out.links_unread) { break; }
    if (is_up == 0) { continue; }
    auto found = readLink(nvml, out, link, common);
    out.links_unread |= !found;
    if (out.links_unread) { break; }
    out.links.push_back(*std::move(found));
  }
  (void)nvml.max_pcie_generation(out.handle, &out.pcie_generation);
  (void)nvml.max_pcie_width(out.handle, &out.pcie_width);
}

agent::Partition partitionOf(const NvmlCalls& nvml, NvmlDevice handle, std::int64_t of_mib) {
  agent::Partition out;
  std::array<char, 96> text{};
  if (nvml.uuid(handle, text.data(), text.size()) == kNvmlOk) { out.uuid = textOf(text); }
  text = {};
  if (nvml.name(handle, text.data(), text.size()) == kNvmlOk) {
    const std::string name = textOf(text);  // "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
    const auto at = name.rfind(' ');
    out.profile = at == std::string::npos ? name : name.substr(at + 1);
  }
  NvmlAttributes attributes{};
  if (nvml.attributes(handle, &attributes) == kNvmlOk) {
    out.memory_mib = static_cast<std::int64_t>(std::min<std::uint64_t>(attributes.memory_mib, 1U << 30U));
  }
  if (of_mib > 0) {
    out.milli = static_cast<int>(std::min<std::int64_t>(1000, out.memory_mib * 1000 / of_mib));
  }
  return out;
}

/// A GPU of which it is not known whether it is split must not be given whole: whatever else than "it cannot
/// be" makes it unreadable.
void readPartitions(const NvmlCalls& nvml, NvmlGpu& out) {
  const auto gives_up = [&](int answer) {
    out.gpu.partitions_unread = true;
    note(nvml, answer, "partitions (MIG)", out.facts);
  };
  unsigned mode = 0;
  unsigned pending = 0;
  unsigned most = 0;
  const int has_mode = nvml.mig_mode(out.handle, &mode, &pending);
  out.gpu.says_no_mig = has_mode == kNvmlUnsupported || has_mode == kNvmlNoFunction;
  if (out.gpu.says_no_mig) { return; }
  if (has_mode != kNvmlOk) { return gives_up(has_mode); }
  out.is_split = mode == 1;
  if (!out.is_split) { return; }
  if (const int answer = nvml.max_mig(out.handle, &most); answer != kNvmlOk) { return gives_up(answer); }
  for (unsigned i = 0; i < std::min(most, kMostPartitions); ++i) {
    NvmlDevice handle = nullptr;
    const int answer = nvml.mig_by_index(out.handle, i, &handle);
    if (answer == kNvmlNotFound) { continue; }  // a gap
    if (answer != kNvmlOk) { return gives_up(answer); }
    agent::Partition partition = partitionOf(nvml, handle, out.gpu.memory_mib);
    if (partition.uuid.empty()) { return gives_up(kNvmlUnknown); }
    out.gpu.partitions.push_back(std::move(partition));
  }
  out.facts.split_into_nothing = out.gpu.partitions.empty();
}

// ---- links between two

std::int64_t bothWays(std::int64_t mbps) { return (mbps * 2 + 500) / 1000; }

/// MB/s, one direction; nullopt: no link leads there.
std::optional<std::int64_t> directMbps(const NvmlGpu& from, const NvmlGpu& to) {
  std::optional<std::int64_t> out;
  for (const NvmlLink& link : from.links) {
    if (!link.to_switch && !link.peer.empty() && link.peer == to.gpu.pci_bus_id) {
      out = out.value_or(0) + link.mbps;
    }
  }
  return out;
}

std::optional<std::int64_t> switchMbps(const NvmlGpu& gpu) {
  std::optional<std::int64_t> out;
  for (const NvmlLink& link : gpu.links) {
    if (link.to_switch) { out = out.value_or(0) + link.mbps; }
  }
  return out;
}

bool reachBySwitch(const NvmlCalls& nvml, const NvmlGpu& a, const NvmlGpu& b) {
  if (a.in_fabric && b.in_fabric && (a.cluster != b.cluster || a.clique != b.clique)) { return false; }
  int status = 0;
  const int answer = nvml.p2p(a.handle, b.handle, kP2pNvLink, &status);
  const bool cannot_say = answer == kNvmlNoFunction || answer == kNvmlUnsupported;
  return cannot_say || (answer == kNvmlOk && status == 0);
}

std::optional<std::int64_t> nvlinkGbps(const NvmlCalls& nvml, const NvmlGpu& a, const NvmlGpu& b) {
  const auto there = directMbps(a, b);
  const auto back = directMbps(b, a);
  if (there || back) { return bothWays(std::max(there.value_or(0), back.value_or(0))); }
  const auto one = switchMbps(a);
  const auto other = switchMbps(b);
  if (!one || !other || !reachBySwitch(nvml, a, b)) { return std::nullopt; }
  return bothWays(std::min(*one, *other));
}

/// GB/s of a generation with so many lanes, one direction, as vendors count: 1 GB/s per lane of generation 3.
std::int64_t pcieGbps(const NvmlGpu& gpu) {
  if (gpu.pcie_generation == 0 || gpu.pcie_generation > 8 || gpu.pcie_width > 64) { return 0; }
  return (std::int64_t{gpu.pcie_width} << gpu.pcie_generation) / 8;
}

std::optional<agent::PairLink> linkOf(const NvmlCalls& nvml, const NvmlGpu& a, const NvmlGpu& b) {
  if (const auto gbps = nvlinkGbps(nvml, a, b)) {
    return agent::PairLink{0, 0, agent::LinkType::NvLink, *gbps};
  }
  int ancestor = 0;
  if (nvml.ancestor(a.handle, b.handle, &ancestor) != kNvmlOk || ancestor > kSameNode) {
    return std::nullopt;
  }
  return agent::PairLink{0, 0, agent::LinkType::Pcie, 2 * std::min(pcieGbps(a), pcieGbps(b))};
}

}  // namespace

NvmlGpu readGpu(const NvmlCalls& nvml, NvmlDevice handle, const std::string& sysfs) {
  NvmlGpu out;
  out.handle = handle;
  out.fabric_unread = out.links_unread = out.gpu.partitions_unread = true;
  readWhatItIs(nvml, sysfs, out);
  if (out.facts.lost) { return out; }  // each call more may take seconds
  readNodes(nvml, sysfs, out);
  readHealth(nvml, out);
  if (out.facts.lost) { return out; }
  out.fabric_unread = out.links_unread = out.gpu.partitions_unread = false;
  readFabric(nvml, out);
  readLinks(nvml, out);
  readPartitions(nvml, out);
  return out;
}

void fillIn(NvmlGpu& gpu, const NvmlGpu& before) {
  agent::fillInWhatItIs(gpu.gpu, before.gpu);
  if (gpu.gpu.says_no_mig && before.is_split) {  // it is split until the driver says that MIG is off
    gpu.gpu.partitions_unread = true;
    if (gpu.facts.unreadable.empty()) { gpu.facts.unreadable = agent::kMigUnsaid; }
  }
  if (gpu.gpu.partitions_unread) {
    gpu.gpu.partitions = before.gpu.partitions;
    gpu.is_split |= before.is_split;
    gpu.gpu.partitions_unread = before.gpu.partitions_unread;
  }
  for (agent::Partition& partition : gpu.gpu.partitions) {
    for (const agent::Partition& known : before.gpu.partitions) {
      if (known.uuid != partition.uuid) { continue; }
      if (partition.profile.empty()) { partition.profile = known.profile; }
      if (partition.memory_mib != 0) { continue; }
      partition.memory_mib = known.memory_mib;
      partition.milli = known.milli;
    }
  }
  if (gpu.fabric_unread) {
    gpu.cluster = before.cluster;
    gpu.clique = before.clique;
    gpu.in_fabric = before.in_fabric;
  }
  if (gpu.links_unread) { gpu.links = before.links; }
  if (gpu.pcie_generation == 0) { gpu.pcie_generation = before.pcie_generation; }
  if (gpu.pcie_width == 0) { gpu.pcie_width = before.pcie_width; }
}

std::vector<agent::PairLink> linksOf(const NvmlCalls& nvml, const std::vector<NvmlGpu>& gpus) {
  std::vector<agent::PairLink> out;
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      const bool answers = gpus[a].handle != nullptr && gpus[b].handle != nullptr;
      if (!answers || gpus[a].facts.lost || gpus[b].facts.lost) { continue; }
      auto link = linkOf(nvml, gpus[a], gpus[b]);
      if (!link) { continue; }
      link->a = a;
      link->b = b;
      out.push_back(*link);
    }
  }
  return out;
}

}  // namespace gs::noderim
