#include "noderim/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

/// By its UUID; where one of the two has none, by its address.
bool isSame(const agent::Gpu& a, const agent::Gpu& b) {
  if (!a.uuid.empty() && !b.uuid.empty()) { return a.uuid == b.uuid; }
  return !a.pci_bus_id.empty() && a.pci_bus_id == b.pci_bus_id;
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
  const auto is_it = [&](const auto& known) { return isSame(known.second.gpu, gpu); };
  const bool is_named = !gpu.uuid.empty() || !gpu.pci_bus_id.empty();
  const auto it = is_named ? std::find_if(seen_.begin(), seen_.end(), is_it) : seen_.find(index);
  if (it == seen_.end()) { return nullptr; }
  const agent::Gpu& known = it->second.gpu;
  const bool is_elsewhere =
      std::any_of(now.begin(), now.end(), [&](const NvmlGpu& other) { return isSame(known, other.gpu); });
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
    out.fabric_unread = out.links_unread = out.partitions_unread = true;
  }
  return out;
}

tl::expected<void, Fault> Nvml::remember(unsigned index, std::vector<NvmlGpu>& now) {
  NvmlGpu& one = now[index];
  if (const NvmlGpu* before = knownAs(index, now)) { fillIn(one, *before); }
  const bool is_out = one.facts.lost || one.facts.needs_reset;  // CUDA counts without it, so it comes last
  if (one.gpu.pci_bus_id.empty() && !is_out) {
    return tl::unexpected(Fault{
        Fault::Kind::Failing,
        fmt::format(
            "the GPU driver cannot tell where its GPU {} is on the bus, so that ids cannot be counted: {}",
            index, one.facts.unreadable.empty() ? "it says nothing" : one.facts.unreadable)});
  }
  if (!one.gpu.uuid.empty() && !one.gpu.pci_bus_id.empty()) { seen_[index] = one; }
  return {};
}

agent::Hardware Nvml::hardwareOf(std::vector<NvmlGpu> gpus) const {
  agent::Hardware out;
  out.links = linksOf(*calls_, gpus);
  for (NvmlGpu& one : gpus) {
    if (const auto xids = xids_.find(one.gpu.uuid); xids != xids_.end()) { one.facts.xids = xids->second; }
    auto verdict = agent::healthOf(one.facts);
    one.gpu.health = verdict.health;
    one.gpu.reason = std::move(verdict.reason);
    one.gpu.is_cleared = one.facts.recovery == agent::Recovery::None;
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
  for (unsigned index = 0; index < gpus.size(); ++index) {
    if (const auto known = remember(index, gpus); !known) { return tl::unexpected(known.error()); }
  }
  takeErrors();
  return hardwareOf(std::move(gpus));
}

}  // namespace gs::noderim
