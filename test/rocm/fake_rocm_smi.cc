// A librocm_smi64.so of our own for tests: rocm_smi's C functions over a script, a file named by
// GS_FAKE_ROCM, read again each time that it is begun (test/rocm/README.md). With GS_FAKE_ROCM_OLD it has
// only what there is of it as soon as it can count GPUs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../driver_script.h"

namespace {

using driver_script::Words;

constexpr const char* kVariable = "GS_FAKE_ROCM";
constexpr unsigned kArguments = 1;
constexpr unsigned kUnsupported = 2;
constexpr unsigned kInit = 8;
constexpr unsigned kTooSmall = 11;

struct Script {
  bool has_driver = false;
  std::string driver;
  std::vector<Words> gpus;
  std::map<std::string, int> fails;
  int users = 0;  // how often it was begun and not left
};

Script& script() {
  static auto* const the = new Script;  // outlives a thread that hangs
  return *the;
}

void renew() {
  Script fresh;
  const auto take = [&](const std::string& first, std::istringstream& words) {
    if (first == "driver") {
      words >> fresh.driver;
      fresh.has_driver = true;
    }
    if (first == "gpu") { fresh.gpus.push_back(driver_script::wordsOf(words)); }
  };
  fresh.fails = driver_script::readScript(kVariable, take).fails;
  fresh.users = script().users;
  script() = fresh;
}

unsigned enter(const char* call) {
  return static_cast<unsigned>(driver_script::enter(kVariable, call, script().fails));
}

[[maybe_unused]] unsigned give(char* to, std::size_t size, const std::string& text) {
  std::memset(to, 'x', size);  // nobody may count on what was there
  std::memcpy(to, text.c_str(), std::min(text.size() + 1, size));
  return text.size() < size ? 0 : kTooSmall;
}

/// "0000:c1:00.0", and which partition of it.
std::uint64_t packed(const Words& gpu) {
  std::istringstream text{gpu.text("pci")};
  std::uint64_t domain = 0, bus = 0, device = 0, function = 0;
  char between = 0;
  text >> std::hex >> domain >> between >> bus >> between >> device >> between >> function;
  return domain << 32U | gpu.number("partition") << 28U | bus << 8U | device << 3U | function;
}

}  // namespace

#define GS_EXPORT extern "C" __attribute__((visibility("default")))
#define GS_CALL(name)                                                \
  if (const unsigned failed = enter(name); failed != 0) { return failed; } \
  if (script().users == 0) { return kInit; }
#define GS_GPU_CALL(name) \
  GS_CALL(name)           \
  if (index >= script().gpus.size()) { return kArguments; }

GS_EXPORT unsigned rsmi_init(std::uint64_t flags) {
  renew();
  if (const unsigned failed = enter("rsmi_init"); failed != 0) { return failed; }
  renew();  // it may have hung
  if (flags != 0) { return kArguments; }
  if (!script().has_driver) { return kInit; }
  ++script().users;
  return 0;
}
GS_EXPORT unsigned rsmi_shut_down() {
  if (script().users == 0) { return kInit; }
  --script().users;
  return 0;
}
GS_EXPORT unsigned rsmi_num_monitor_devices(std::uint32_t* count) {
  GS_CALL("rsmi_num_monitor_devices")
  *count = static_cast<std::uint32_t>(script().gpus.size());
  return 0;
}
GS_EXPORT unsigned rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* id) {
  GS_GPU_CALL("rsmi_dev_pci_id_get")
  if (script().gpus[index].has("nopci")) { return static_cast<unsigned>(script().gpus[index].number("nopci")); }
  *id = packed(script().gpus[index]);
  return 0;
}

#ifndef GS_FAKE_ROCM_OLD
GS_EXPORT unsigned rsmi_status_string(unsigned status, const char** text) {
  switch (status) {
    case 4: *text = "Permission denied"; return 0;
    case kInit: *text = "An error occurred during initialization"; return 0;
    case 0xFFFF'FFFF: *text = "An unknown error"; return 0;
    default: return kArguments;
  }
}
GS_EXPORT unsigned rsmi_dev_unique_id_get(std::uint32_t index, std::uint64_t* id) {
  GS_GPU_CALL("rsmi_dev_unique_id_get")
  const Words& gpu = script().gpus[index];
  *id = std::strtoull(gpu.text("id").c_str(), nullptr, 16);
  return gpu.has("id") ? 0 : kUnsupported;
}
GS_EXPORT unsigned rsmi_dev_memory_total_get(std::uint32_t index, int type, std::uint64_t* bytes) {
  GS_GPU_CALL("rsmi_dev_memory_total_get")
  *bytes = script().gpus[index].number("mib") << 20U;
  return type == 0 ? 0 : kUnsupported;
}
GS_EXPORT unsigned rsmi_dev_name_get(std::uint32_t index, char* name, std::size_t size) {
  GS_GPU_CALL("rsmi_dev_name_get")
  return give(name, size, script().gpus[index].text("name"));
}
GS_EXPORT unsigned rsmi_version_str_get(int component, char* text, std::uint32_t size) {
  GS_CALL("rsmi_version_str_get")
  return component == 0 ? give(text, size, script().driver) : kArguments;
}
#endif
