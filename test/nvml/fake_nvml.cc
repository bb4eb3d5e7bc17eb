// A libnvidia-ml.so.1 of our own for tests: NVML's C functions over a script, a file named by GS_FAKE_NVML,
// read again by every call that counts the GPUs (test/nvml/README.md). With GS_FAKE_NVML_OLD it lacks what
// drivers of the 450 series lack.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../driver_script.h"

namespace {

constexpr const char* kVariable = "GS_FAKE_NVML";

using Device = void*;

struct Pci {
  char legacy[16];
  std::uint32_t domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Field {
  std::uint32_t field, scope;
  std::int64_t timestamp, latency;
  std::uint32_t type;
  int answer;
  std::uint64_t value;
};
struct Event {
  Device device;
  std::uint64_t type, data;
  std::uint32_t gi, ci;
};
struct Fabric {
  std::uint32_t version;
  std::uint8_t cluster[16];
  std::uint32_t status, clique;
  std::uint8_t state;
  std::uint32_t health;
  std::uint8_t summary;
};

struct Gpu : driver_script::Words {
  std::vector<Gpu> partitions;
  bool is_registered = false;  // its errors are told
};

struct Script {
  std::string driver;
  std::deque<Gpu> gpus;  // handles are their addresses
  std::map<std::string, int> fails;
  std::vector<std::pair<std::size_t, std::uint64_t>> xids;
};

Script& script() {
  static auto* const the = new Script;  // outlives a thread that hangs
  return *the;
}
std::size_t& xidsTold() {
  static std::size_t told = 0;
  return told;
}

Gpu gpuOf(std::istringstream& words) { return {driver_script::wordsOf(words), {}, false}; }

Script readScript() {
  Script out;
  const auto take = [&](const std::string& first, std::istringstream& words) {
    if (first == "driver") { words >> out.driver; }
    if (first == "gpu") { out.gpus.push_back(gpuOf(words)); }
    if (first == "mig" && !out.gpus.empty()) { out.gpus.back().partitions.push_back(gpuOf(words)); }
    if (first == "xid") {
      std::size_t gpu = 0;
      std::uint64_t xid = 0;
      words >> gpu >> xid;
      out.xids.emplace_back(gpu, xid);
    }
  };
  out.fails = driver_script::readScript(kVariable, take).fails;
  return out;
}

/// Takes the script anew. GPUs keep their handles.
void renew() {
  Script fresh = readScript();
  Script& now = script();
  while (now.gpus.size() < fresh.gpus.size()) { now.gpus.emplace_back(); }
  now.gpus.resize(fresh.gpus.size());
  for (std::size_t i = 0; i < fresh.gpus.size(); ++i) {
    fresh.gpus[i].is_registered = now.gpus[i].is_registered;
    now.gpus[i] = fresh.gpus[i];
  }
  now.driver = fresh.driver;
  now.fails = fresh.fails;
  now.xids = fresh.xids;
}

int enter(const char* call) { return driver_script::enter(kVariable, call, script().fails); }

Gpu* of(Device device) { return static_cast<Gpu*>(device); }
bool isLost(Device device) { return of(device)->has("lost"); }

int give(char* to, unsigned size, const std::string& text) {
  if (text.size() >= size) { return 7; }
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

/// links=18*switch@26562 or 4*00000000:07:00.0@25000,...
struct Link {
  bool to_switch = false;
  std::string peer;
  std::uint64_t mbps = 0;
};
std::vector<Link> linksOf(const Gpu& gpu) {
  std::vector<Link> out;
  std::istringstream groups{gpu.text("links")};
  for (std::string group; std::getline(groups, group, ',');) {
    const auto star = group.find('*');
    const auto at = group.find('@');
    const std::string peer = group.substr(star + 1, at - star - 1);
    const Link link{peer == "switch", peer, std::strtoull(group.c_str() + at + 1, nullptr, 10)};
    out.insert(out.end(), std::strtoull(group.c_str(), nullptr, 10), link);
  }
  return out;
}

void fill(Pci* out, const std::string& bus_id) {
  std::memset(out, 0, sizeof(*out));
  std::memcpy(out->bus_id, bus_id.c_str(), std::min(bus_id.size(), sizeof(out->bus_id) - 1));
}

/// lost=real: as drivers do, what it is called is still told.
bool isNamed(Device device) { return !isLost(device) || of(device)->text("lost") == "real"; }

#define GS_NAME_CALL(name)                                            \
  if (const int failed = enter(name); failed != 0) { return failed; } \
  if (!isNamed(device)) { return 15; }
#define GS_GPU_CALL(name)                                             \
  if (const int failed = enter(name); failed != 0) { return failed; } \
  if (isLost(device)) { return 15; }

}  // namespace

#define GS_EXPORT extern "C" __attribute__((visibility("default")))

GS_EXPORT int nvmlInit_v2() {
  renew();
  return enter("nvmlInit_v2");
}
GS_EXPORT int nvmlShutdown() { return 0; }
GS_EXPORT const char* nvmlErrorString(int code) {
  switch (code) {
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}
GS_EXPORT int nvmlSystemGetDriverVersion(char* to, unsigned size) { return give(to, size, script().driver); }
GS_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  renew();
  if (const int failed = enter("nvmlDeviceGetCount_v2"); failed != 0) { return failed; }
  renew();  // it may have hung
  *count = static_cast<unsigned>(script().gpus.size());
  return 0;
}
GS_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= script().gpus.size()) { return 2; }
  Gpu& gpu = script().gpus[index];
  if (gpu.text("lost") == "handle") { return 15; }
  if (gpu.has("handle")) { return static_cast<int>(gpu.number("handle")); }
  *device = &gpu;
  return enter("nvmlDeviceGetHandleByIndex_v2");
}
GS_EXPORT int nvmlDeviceGetUUID(Device device, char* to, unsigned size) {
  GS_NAME_CALL("nvmlDeviceGetUUID");
  return give(to, size, of(device)->text("uuid"));
}
GS_EXPORT int nvmlDeviceGetName(Device device, char* to, unsigned size) {
  GS_NAME_CALL("nvmlDeviceGetName");
  return give(to, size, of(device)->text("name"));
}
GS_EXPORT int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  GS_NAME_CALL("nvmlDeviceGetCudaComputeCapability");
  const std::string text = of(device)->text("cc");  // 9.0
  *major = std::atoi(text.c_str());
  *minor = std::atoi(text.c_str() + std::min(text.size(), text.find('.') + 1));
  return text.empty() ? 3 : 0;
}
GS_EXPORT int nvmlDeviceGetMemoryInfo(Device device, std::uint64_t* memory) {
  GS_GPU_CALL("nvmlDeviceGetMemoryInfo");
  memory[0] = of(device)->number("mib") << 20U;
  return 0;
}
GS_EXPORT int nvmlDeviceGetPciInfo_v3(Device device, Pci* pci) {
  GS_NAME_CALL("nvmlDeviceGetPciInfo_v3");
  if (of(device)->has("nopci")) { return static_cast<int>(of(device)->number("nopci")); }
  fill(pci, of(device)->text("pci"));
  return 0;
}
GS_EXPORT int nvmlDeviceGetTopologyCommonAncestor(Device device, Device other, int* level) {
  GS_GPU_CALL("nvmlDeviceGetTopologyCommonAncestor");
  *level = of(device)->number("numa") == of(other)->number("numa") ? 40 : 50;
  return 0;
}
GS_EXPORT int nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* is_up) {
  GS_GPU_CALL("nvmlDeviceGetNvLinkState");
  const auto links = linksOf(*of(device));
  if (links.empty()) { return 3; }
  if (link >= links.size()) { return 2; }
  if (of(device)->has("nolink") && link == of(device)->number("nolink")) { return 3; }
  *is_up = link >= of(device)->number("down") ? 1 : 0;  // down=2: the first two are
  return 0;
}
GS_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, Pci* pci) {
  GS_GPU_CALL("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  const auto links = linksOf(*of(device));
  if (link >= links.size()) { return 2; }
  fill(pci, links[link].to_switch ? "00000000:C0:00.0" : links[link].peer);
  return 0;
}
GS_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  GS_GPU_CALL("nvmlDeviceGetMaxPcieLinkGeneration");
  *generation = static_cast<unsigned>(of(device)->number("pcie", 4));
  return 0;
}
GS_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  GS_GPU_CALL("nvmlDeviceGetMaxPcieLinkWidth");
  *width = static_cast<unsigned>(of(device)->number("lanes", 16));
  return 0;
}
GS_EXPORT int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter, std::uint64_t* errors) {
  GS_GPU_CALL("nvmlDeviceGetTotalEccErrors");
  *errors = type == 1 && counter == 0 ? of(device)->number("ecc") : 1000;
  return 0;
}
GS_EXPORT int nvmlDeviceGetFieldValues(Device device, int count, Field* fields) {
  GS_GPU_CALL("nvmlDeviceGetFieldValues");
  for (int i = 0; i < count; ++i) {
    Field& f = fields[i];
    f.answer = 3;
    f.type = 1;
    f.value = 0xDEADBEEF'00000000U;  // of 8 bytes only those of its type are set
    const auto links = linksOf(*of(device));
    const auto set = [&](std::uint64_t value) {
      f.answer = 0;
      f.value |= value;
    };
    if (f.field == 90 && !links.empty() && of(device)->has("common")) { set(of(device)->number("common")); }
    if (f.field == 164 && f.scope < links.size() && !of(device)->has("common")) { set(links[f.scope].mbps); }
    if (f.field == 230 && of(device)->has("recovery")) { set(of(device)->number("recovery")); }
  }
  return 0;
}
GS_EXPORT int nvmlEventSetCreate(void** set) {
  *set = &xidsTold();
  xidsTold() = 0;
  for (Gpu& gpu : script().gpus) { gpu.is_registered = false; }
  return 0;
}
GS_EXPORT int nvmlEventSetFree(void* /*set*/) { return 0; }
GS_EXPORT int nvmlDeviceGetSupportedEventTypes(Device device, std::uint64_t* types) {
  GS_GPU_CALL("nvmlDeviceGetSupportedEventTypes");
  *types = 8 | 2;
  return 0;
}
GS_EXPORT int nvmlDeviceRegisterEvents(Device device, std::uint64_t types, void* /*set*/) {
  GS_GPU_CALL("nvmlDeviceRegisterEvents");
  of(device)->is_registered = true;
  return (types & ~std::uint64_t{8 | 2}) == 0 ? 0 : 2;
}
GS_EXPORT int nvmlEventSetWait_v2(void* /*set*/, Event* event, unsigned /*ms*/) {
  const auto& xids = script().xids;
  const auto is_told = [&] { return script().gpus.at(xids[xidsTold()].first).is_registered; };
  while (xidsTold() < xids.size() && !is_told()) { ++xidsTold(); }  // nobody wanted to know
  if (xidsTold() >= xids.size()) { return 10; }
  const auto [gpu, xid] = xids[xidsTold()++];
  std::memset(event, 0, sizeof(*event));
  event->device = &script().gpus.at(gpu);
  event->type = 8;
  event->data = xid;
  return 0;
}

#ifndef GS_FAKE_NVML_OLD
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
GS_EXPORT int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  GS_GPU_CALL("nvmlDeviceGetMemoryInfo_v2");
  if (memory->version != 0x02000028) { return 25; }
  memory->total = of(device)->number("mib") << 20U;
  return 0;
}
GS_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, int* type) {
  GS_GPU_CALL("nvmlDeviceGetNvLinkRemoteDeviceType");
  const auto links = linksOf(*of(device));
  if (link >= links.size()) { return 2; }
  *type = links[link].to_switch ? 2 : 0;
  return 0;
}
GS_EXPORT int nvmlDeviceGetP2PStatus(Device device, Device other, int index, int* status) {
  GS_GPU_CALL("nvmlDeviceGetP2PStatus");
  *status = index == 2 && of(device)->text("p2p") == of(other)->text("p2p") ? 0 : 3;
  return 0;
}
GS_EXPORT int nvmlDeviceGetGpuFabricInfoV(Device device, Fabric* fabric) {
  GS_GPU_CALL("nvmlDeviceGetGpuFabricInfoV");
  const bool knows_v3 = !of(device)->has("fabricv2");
  if (fabric->version != (knows_v3 ? 0x03000028U : 0x02000024U)) { return 25; }
  fabric->state = static_cast<std::uint8_t>(of(device)->number("fabric"));
  fabric->clique = static_cast<std::uint32_t>(of(device)->number("clique"));
  fabric->status = static_cast<std::uint32_t>(of(device)->number("fabricstatus"));
  fabric->cluster[0] = static_cast<std::uint8_t>(of(device)->number("cluster"));
  if (knows_v3) { fabric->summary = static_cast<std::uint8_t>(of(device)->number("summary")); }
  return 0;
}
GS_EXPORT int nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  GS_GPU_CALL("nvmlDeviceGetMinorNumber");
  *minor = static_cast<unsigned>(of(device)->number("minor"));
  return of(device)->has("minor") ? 0 : 3;
}
GS_EXPORT int nvmlDeviceGetNumaNodeId(Device device, unsigned* node) {
  GS_GPU_CALL("nvmlDeviceGetNumaNodeId");
  *node = static_cast<unsigned>(of(device)->number("numa"));
  return of(device)->has("numa") ? 0 : 3;
}
GS_EXPORT int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                        unsigned* pending, unsigned* failure) {
  GS_GPU_CALL("nvmlDeviceGetRemappedRows");
  if (of(device)->has("noremap")) { return 3; }
  *corrected = 1;
  *uncorrected = 1;
  *pending = static_cast<unsigned>(of(device)->number("pending"));
  *failure = static_cast<unsigned>(of(device)->number("failure"));
  return 0;
}
GS_EXPORT int nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* later) {
  GS_GPU_CALL("nvmlDeviceGetMigMode");
  *now = *later = of(device)->has("mig") ? 1 : 0;
  return 0;
}
GS_EXPORT int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  GS_GPU_CALL("nvmlDeviceGetMaxMigDeviceCount");
  *count = 7;
  return 0;
}
GS_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* out) {
  GS_GPU_CALL("nvmlDeviceGetMigDeviceHandleByIndex");
  for (Gpu& partition : of(device)->partitions) {
    if (partition.number("at") != index) { continue; }
    *out = &partition;
    return 0;
  }
  return 6;
}
struct Attributes {
  std::uint32_t counts[8];
  std::uint64_t mib;
};
GS_EXPORT int nvmlDeviceGetAttributes_v2(Device device, Attributes* attributes) {
  GS_GPU_CALL("nvmlDeviceGetAttributes_v2");
  attributes->mib = of(device)->number("mib");
  return 0;
}
#endif
