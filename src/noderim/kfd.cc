#include "noderim/kfd.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/files.h"

namespace gs::noderim {
namespace {

constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kMostBytes = 64 << 10;

/// The number of that key; nullopt: it is not there.
std::optional<std::uint64_t> numberOf(std::string_view properties, std::string_view key) {
  while (!properties.empty()) {
    const std::string_view line = properties.substr(0, properties.find('\n'));
    properties.remove_prefix(std::min(properties.size(), line.size() + 1));
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ' ') { continue; }
    const std::string_view digits = line.substr(key.size() + 1);
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (error == std::errc{} && end == digits.data() + digits.size()) { return out; }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> gfxNameOf(std::uint64_t version) {
  const std::uint64_t major = version / 10'000;
  const std::uint64_t minor = version / 100 % 100;
  const std::uint64_t step = version % 100;
  if (major == 0 || major > 99 || minor > 0xF || step > 0xF) { return std::nullopt; }
  return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

std::optional<KfdGpu> kfdGpuIn(std::string_view properties) {
  const auto version = numberOf(properties, "gfx_target_version");
  const auto location = numberOf(properties, "location_id");
  auto arch = version ? gfxNameOf(*version) : std::nullopt;
  if (!arch || !location) { return std::nullopt; }
  return KfdGpu{numberOf(properties, "domain").value_or(0), *location, *std::move(arch)};
}

std::vector<KfdGpu> kfdGpus(const std::string& sysfs) {
  std::vector<KfdGpu> out;
  std::error_code error;
  std::filesystem::directory_iterator it{sysfs + "/class/kfd/kfd/topology/nodes", error};
  for (std::size_t n = 0; !error && it != std::filesystem::directory_iterator{} && n < kMostNodes; ++n) {
    const auto text = readFile(it->path() / "properties", kMostBytes);
    auto gpu = text ? kfdGpuIn(*text) : std::nullopt;
    if (gpu) { out.push_back(*std::move(gpu)); }
    it.increment(error);
  }
  return out;
}

}  // namespace gs::noderim
