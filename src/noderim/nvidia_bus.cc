#include "noderim/nvidia_bus.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/ascii.h"
#include "base/files.h"

namespace gs::noderim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDevices = 65'536;
constexpr std::string_view kNvidia = "0x10de";
constexpr std::string_view kDisplay = "0x03";  // as the class begins: VGA, 3D and other display controllers

std::string fileOf(const fs::path& path) {
  const auto text = readFile(path, 64);
  return text ? std::string{trim(*text)} : std::string{};
}

bool isGpu(const fs::path& device) {
  std::error_code error;
  const fs::path driver = fs::read_symlink(device / "driver", error);
  return !error && driver.filename() == "nvidia" && fileOf(device / "vendor") == kNvidia &&
         fileOf(device / "class").starts_with(kDisplay);
}

}  // namespace

std::vector<std::string> nvidiaGpusOnBus(const std::string& sysfs) {
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator it{sysfs + "/bus/pci/devices", error};
  for (std::size_t n = 0; !error && it != fs::directory_iterator{} && n < kMostDevices; ++n) {
    const std::string name = it->path().filename();  // 0000:1b:00.0
    if (name.size() == 12 && isGpu(it->path())) {
      std::string address = "0000" + name;
      std::transform(address.begin(), address.end(), address.begin(),
                     [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
      out.push_back(std::move(address));
    }
    it.increment(error);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gs::noderim
