#include "noderim/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "noderim/nvidia_bus.h"
#include "noderim/nvml_calls.h"
#include "noderim/nvml_gpu.h"

namespace gs::noderim {
namespace {

using agent::Fault;

/// Errors of one GPU that are kept: the first ones say what broke.
constexpr std::size_t kMostXids = 64;
constexpr int kMostEvents = 256;
constexpr std::uint64_t kXid = 8;

Fault absent(const std::string& why) {
  return {Fault::Kind::Absent,
          fmt::format("there is no NVIDIA driver: {}; install it on the node, or let the "
                      "agent see its library (--nvml-library)",
                      why)};
}

}  // namespace

Nvml::Nvml(Options options) : options_{std::move(options)} {}

Nvml::~Nvml() { close(); }

tl::expected<void, Fault> Nvml::open() {
  if (calls_ != nullptr) { return {}; }
  auto loaded = NvmlCalls::load(options_.library);
  if (!loaded) {
    const std::string& why = loaded.error().message;
    if (loaded.error().code == Code::NotFound) { return tl::unexpected(absent(why)); }
    return tl::unexpected(
        Fault{Fault::Kind::Failing,
              fmt::format("{}: {}; name the driver's library by --nvml-library", options_.library, why)});
  }
  auto calls = *std::move(loaded);
  if (const int answer = calls->init(); answer != kNvmlOk) {
    const std::string why = calls->text(answer);
    if (answer == kNvmlNoDriver) {
      return tl::unexpected(absent(fmt::format("{}: {}", options_.library, why)));
    }
    const char* remedy = answer == kNvmlMismatch ? "; the driver was changed: reboot the node" : "";
    return tl::unexpected(
        Fault{Fault::Kind::Failing, fmt::format("the GPU driver cannot be used: {}{}", why, remedy)});
  }
  calls_ = std::move(calls);
  if (calls_->event_set_create(&events_) != kNvmlOk) { events_ = nullptr; }
  return {};
}

void Nvml::close() {
  if (calls_ == nullptr) { return; }
  if (events_ != nullptr) { (void)calls_->event_set_free(events_); }
  events_ = nullptr;
  watched_.clear();
  (void)calls_->shutdown();
  calls_.reset();
}

tl::unexpected<Fault> Nvml::failed(const char* what, int code) {
  std::string text = fmt::format("the GPU driver cannot tell {}: {}", what, calls_->text(code));
  close();
  return tl::unexpected(Fault{Fault::Kind::Failing, std::move(text)});
}

/// Its errors are reported from now on. What fails is tried again at the next look.
void Nvml::watch(void* handle, const std::string& uuid) {
  if (const auto known = watched_.find(handle); known != watched_.end()) {
    known->second = uuid;
    return;
  }
  std::uint64_t supported = 0;
  if (events_ == nullptr || calls_->supported_events(handle, &supported) != kNvmlOk) { return; }
  const bool tells = (supported & kXid) != 0;
  if (tells && calls_->register_events(handle, kXid, events_) != kNvmlOk) { return; }
  watched_.emplace(handle, uuid);
}

void Nvml::takeErrors() {
  for (int i = 0; events_ != nullptr && i < kMostEvents; ++i) {
    NvmlEvent event{};
    if (calls_->event_wait(events_, &event, 0) != kNvmlOk) { return; }
    const auto gpu = watched_.find(event.device);
    if ((event.type & kXid) == 0 || gpu == watched_.end()) { continue; }
    auto& known = xids_[gpu->second];
    if (known.size() < kMostXids) { known.insert(event.data); }
  }
}

/// A GPU that is lost may not even be named: it is then who had its index before, unless that one has another
/// index now.
const NvmlGpu* Nvml::knownAs(unsigned index, const std::vector<NvmlGpu>& now) const {
  const agent::Gpu& gpu = now[index].gpu;
  const auto is_it = [&](const auto& known) { return agent::isSame(known.second.gpu, gpu); };
  const bool is_named = !gpu.uuid.empty() || !gpu.pci_bus_id.empty();
  const auto it = is_named ? std::find_if(seen_.begin(), seen_.end(), is_it) : seen_.find(index);
  if (it == seen_.end()) { return nullptr; }
  const agent::Gpu& known = it->second.gpu;
  const bool is_elsewhere = std::any_of(
      now.begin(), now.end(), [&](const NvmlGpu& other) { return agent::isSame(known, other.gpu); });
  return !is_named && is_elsewhere ? nullptr : &it->second;
}

NvmlGpu Nvml::read(unsigned index) {
  NvmlDevice handle = nullptr;
  const int answer = calls_->by_index(index, &handle);
  NvmlGpu out;
  if (answer == kNvmlOk) {
    out = readGpu(*calls_, handle, options_.sysfs);
    if (!out.gpu.uuid.empty()) { watch(handle, out.gpu.uuid); }
  } else {
    out.facts.lost = answer == kNvmlLost;
    out.facts.needs_reset = answer == kNvmlResetRequired;
    out.facts.unreadable = fmt::format("the driver does not give it: {}", calls_->text(answer));
    out.fabric_unread = out.links_unread = out.gpu.partitions_unread = true;
  }
  return out;
}

void Nvml::remember(unsigned index, std::vector<NvmlGpu>& now) {
  NvmlGpu& one = now[index];
  if (const NvmlGpu* before = knownAs(index, now)) { fillIn(one, *before); }
  const bool has_place = !one.gpu.pci_bus_id.empty() || one.is_off_bus;
  if (!one.gpu.uuid.empty() && has_place) { seen_[index] = one; }
}

void Nvml::place(std::vector<NvmlGpu>& gpus) const {
  std::set<std::string> known;
  bool is_in_order = true;
  for (const NvmlGpu& one : gpus) {
    const std::string& address = one.gpu.pci_bus_id;
    is_in_order =
        is_in_order && !one.is_off_bus && (address.empty() || known.empty() || *known.rbegin() < address);
    if (!address.empty()) { known.insert(address); }
  }
  std::vector<NvmlGpu*> lost;
  std::string above;
  for (NvmlGpu& one : gpus) {
    if (!one.gpu.pci_bus_id.empty()) { above = one.gpu.pci_bus_id; }
    if (!one.gpu.pci_bus_id.empty() || one.is_off_bus) { continue; }
    if (is_in_order) { one.gpu.above = above; }
    lost.push_back(&one);
  }
  if (lost.empty()) { return; }
  std::vector<std::string> free = nvidiaGpusOnBus(options_.sysfs);
  std::erase_if(free, [&](const std::string& address) { return known.contains(address); });
  if (free.size() != lost.size()) { return; }
  for (std::size_t i = 0; i < lost.size(); ++i) { lost[i]->gpu.pci_bus_id = free[i]; }
}

agent::Hardware Nvml::hardwareOf(std::vector<NvmlGpu> gpus) const {
  agent::Hardware out;
  out.links = linksOf(*calls_, gpus);
  for (NvmlGpu& one : gpus) {
    if (const auto xids = xids_.find(one.gpu.uuid); xids != xids_.end()) { one.facts.xids = xids->second; }
    one.facts.split_unread = one.is_split && one.gpu.partitions.empty() && !one.facts.split_into_nothing;
    auto verdict = agent::healthOf(one.facts);
    one.gpu.health = verdict.health;
    one.gpu.reason = std::move(verdict.reason);
    one.gpu.is_cleared = one.facts.recovery == agent::Recovery::None;
    const bool is_doubted = one.handle == nullptr || agent::isOut(one.facts);
    one.gpu.counted = is_doubted ? agent::Counted::Maybe : agent::Counted::Yes;
    out.gpus.push_back(std::move(one.gpu));
  }
  std::array<char, 80> version{};
  if (calls_->driver_version(version.data(), version.size()) == kNvmlOk) {
    out.driver_version = textOf(version);
  }
  return out;
}

agent::Look Nvml::look() {
  if (const auto opened = open(); !opened) { return tl::unexpected(opened.error()); }
  unsigned count = 0;
  if (const int answer = calls_->count(&count); answer != kNvmlOk) {
    return failed("how many GPUs there are", answer);
  }
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < std::min(count, kMostGpus); ++index) { gpus.push_back(read(index)); }
  for (unsigned index = 0; index < gpus.size(); ++index) { remember(index, gpus); }
  place(gpus);
  takeErrors();
  return hardwareOf(std::move(gpus));
}

}  // namespace gs::noderim
