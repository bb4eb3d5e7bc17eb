#include "noderim/rocm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "noderim/pci_device.h"
#include "noderim/rocm_calls.h"

namespace gs::noderim {
namespace {

using agent::Fault;

/// ROCm 6.1 and later, 6.0, 5; 1: as distributions number it.
constexpr std::array<const char*, 5> kNames{"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                            "librocm_smi64.so.1", "librocm_smi64.so"};

tl::unexpected<Fault> noAmdGpu(const std::string& why) {
  return tl::unexpected(Fault{Fault::Kind::Absent, "there is no GPU of AMD's: " + why});
}
tl::unexpected<Fault> amdDriverFails(std::string text) {
  return tl::unexpected(Fault{Fault::Kind::Failing, std::move(text)});
}

/// As rsmi_dev_pci_id_get packs it. Which partition of the GPU it is stands above the function, or in its
/// place.
struct Address {
  std::uint64_t domain, bus, device, function;
  explicit Address(std::uint64_t packed)
      : domain{packed >> 32U},
        bus{packed >> 8U & 0xFFU},
        device{packed >> 3U & 0x1FU},
        function{std::max(packed & 7U, packed >> 28U & 0xFU)} {}
  [[nodiscard]] bool isAt(const KfdGpu& gpu) const {
    return gpu.domain == domain && (gpu.location >> 3U & 0x1FFFU) == (bus << 5U | device);
  }
  [[nodiscard]] std::string busId() const {
    return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", domain, bus, device, function);
  }
};

/// rocm_smi takes names from the card, else from the machine's pci.ids, and gives digits, "0x1002", where
/// neither has one (an image of ours has no such file). Then it is called by the code that it runs.
std::string nameOf(const std::string& said, const std::string& arch) {
  const bool is_name = !said.empty() && !said.starts_with("0x");
  return is_name || arch.empty() ? said : "AMD " + arch;
}

/// Then it is known of one whose place is not.
bool isOneArch(const std::vector<KfdGpu>& known) {
  return !known.empty() && std::all_of(known.begin(), known.end(),
                                       [&](const KfdGpu& gpu) { return gpu.arch == known.front().arch; });
}

}  // namespace

Rocm::Rocm(Options options) : options_{std::move(options)} {}

Rocm::~Rocm() = default;

tl::expected<void, Fault> Rocm::load() {
  if (calls_ != nullptr) { return {}; }
  std::vector<std::string> names{kNames.begin(), kNames.end()};
  if (!options_.library.empty()) { names = {options_.library}; }
  std::string why;
  for (const std::string& name : names) {
    auto loaded = RocmCalls::load(name);
    if (loaded) {
      calls_ = *std::move(loaded);
      loaded_ = name;
      return {};
    }
    if (loaded.error().code != Code::NotFound) {
      return amdDriverFails(
          fmt::format("{}: {}; name ROCm's library by --rocm-library", name, loaded.error().message));
    }
    if (why.empty()) { why = loaded.error().message; }
  }
  return noAmdGpu(why + "; install ROCm's rocm_smi on the node, or name it by --rocm-library");
}

agent::Gpu Rocm::read(std::uint32_t index, const std::vector<KfdGpu>& known) {
  agent::Gpu out;
  out.vendor = agent::Vendor::Amd;
  std::uint64_t packed = 0;
  if (const int answer = calls_->pci_id(index, &packed); answer == kRocmOk) {
    const Address address{packed};
    out.pci_bus_id = address.busId();
    out.render_node = renderNodeOf(out.pci_bus_id, options_.sysfs);
    const auto kfd =
        std::find_if(known.begin(), known.end(), [&](const KfdGpu& gpu) { return address.isAt(gpu); });
    if (kfd != known.end()) { out.compute = kfd->arch; }
  } else {
    out.health = model::Health::Unknown;
    out.reason = fmt::format("AMD's driver cannot tell where its GPU {} is on the bus: {}", index,
                             calls_->text(answer));
    if (isOneArch(known)) { out.compute = known.front().arch; }
  }
  std::array<char, 256> name{};
  const bool has_name = calls_->name(index, name.data(), name.size() - 1) == kRocmOk;
  out.model = nameOf(has_name ? textOf(name) : "", out.compute);
  std::uint64_t number = 0;
  if (calls_->unique_id(index, &number) == kRocmOk) { out.uuid = fmt::format("GPU-{:016x}", number); }
  if (calls_->memory_total(index, kRocmVram, &number) == kRocmOk) {
    out.memory_mib = static_cast<std::int64_t>(number >> 20U);
  }
  return out;
}

std::string Rocm::driverVersion() const {
  std::array<char, 256> version{};
  const bool says = calls_->version(kRocmDriver, version.data(), version.size() - 1) == kRocmOk;
  return says ? std::string{trim(textOf(version))} : "";
}

agent::Look Rocm::readAll(const std::vector<KfdGpu>& known) {
  std::uint32_t count = 0;
  if (const int answer = calls_->count(&count); answer != kRocmOk) {
    return amdDriverFails(
        fmt::format("AMD's driver cannot tell how many GPUs there are: {}", calls_->text(answer)));
  }
  agent::Hardware out;
  for (std::uint32_t index = 0; index < std::min(count, kMostGpus); ++index) {
    out.gpus.push_back(read(index, known));
  }
  out.driver_version = driverVersion();
  return out;
}

agent::Look Rocm::look() {
  const std::vector<KfdGpu> known = kfdGpus(options_.sysfs);
  if (known.empty()) {
    return noAmdGpu(fmt::format("the kernel lists none below {}/class/kfd", options_.sysfs));
  }
  if (const auto loaded = load(); !loaded) { return tl::unexpected(loaded.error()); }
  if (const int answer = calls_->init(kRocmAmdOnly); answer != kRocmOk) {
    return amdDriverFails(fmt::format("AMD's driver cannot be used: {}: {}", loaded_, calls_->text(answer)));
  }
  agent::Look out = readAll(known);
  (void)calls_->shut_down();
  return out;
}

}  // namespace gs::noderim
