#include "noderim/pci_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/ascii.h"

namespace gs::noderim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAddress = 12;        // "0000:1b:00.0": the kernel writes four digits of the domain
constexpr std::size_t kMostDrmNodes = 256;  // of one device
constexpr std::string_view kRender = "renderD";

}  // namespace

std::string pciFolder(const std::string& bus_id, const std::string& sysfs) {
  if (bus_id.size() < kAddress || bus_id.find('/') != std::string::npos) { return ""; }
  return fmt::format("{}/bus/pci/devices/{}", sysfs, inLowerCase(bus_id.substr(bus_id.size() - kAddress)));
}

std::string renderNodeOf(const std::string& bus_id, const std::string& sysfs) {
  const std::string folder = pciFolder(bus_id, sysfs);
  if (folder.empty()) { return ""; }
  std::string out;
  std::error_code error;
  fs::directory_iterator it{folder + "/drm", error};
  for (std::size_t n = 0; !error && it != fs::directory_iterator{} && n < kMostDrmNodes; ++n) {
    const std::string name = it->path().filename();
    if (name.starts_with(kRender) && (out.empty() || name < out)) { out = name; }
    it.increment(error);
  }
  return out.empty() ? "" : "/dev/dri/" + out;
}

}  // namespace gs::noderim
