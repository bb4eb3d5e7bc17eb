#include "sandbox/node/gpu_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "apiserver/handlers/api.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

constexpr std::int64_t kWholeCores = 100;
constexpr const char* kIdsPrefix = "tencent.com/predicate-gpu-idx-";
constexpr const char* kAssigned = "tencent.com/gpu-assigned";

/// As Go's ParseUint and ParseInt: all of it, or nothing.
std::optional<std::uint64_t> wholeNumber(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return n;
}

std::int64_t limitOf(const Value& container, const char* resource) {
  const Value& limit = container["resources"]["limits"][resource];
  if (!limit.isString()) { return limit.intOr(0); }
  return static_cast<std::int64_t>(wholeNumber(limit.str()).value_or(0));
}
std::int64_t coresOf(const Value& container) { return limitOf(container, "tencent.com/vcuda-core"); }
std::int64_t memoryOf(const Value& container) { return limitOf(container, "tencent.com/vcuda-memory"); }
bool wantsGpu(const Value& container) {
  return coresOf(container) >= kWholeCores || (coresOf(container) > 0 && memoryOf(container) > 0);
}

std::string_view uidOf(const Value& pod) { return pod["metadata"]["uid"].str(); }
bool isLeaving(const Value& pod) { return pod["metadata"].find("deletionTimestamp") != nullptr; }

bool isAssigned(const Value& pod) {
  const Value* assigned = pod["metadata"]["annotations"].find(kAssigned);
  return assigned != nullptr && assigned->str() != "false";
}

/// Missing: its creation would count, which is before any pod of now.
std::uint64_t timeOf(const Value& pod) {
  return wholeNumber(pod["metadata"]["annotations"]["tencent.com/predicate-time"].str()).value_or(0);
}

std::string_view annotated(const Value& pod, std::size_t container) {
  return pod["metadata"]["annotations"][fmt::format("{}{}", kIdsPrefix, container)].str();
}

}  // namespace

GpuManager::GpuManager(apiserver::Api& api, Config config, Rng rng)
    : api_{api}, config_{std::move(config)}, rng_{rng} {}

Duration GpuManager::takenAfter() {
  const auto most = std::chrono::duration_cast<std::chrono::microseconds>(config_.taken_within).count();
  return std::chrono::microseconds{rng_.below(static_cast<std::uint64_t>(most) + 1)};
}

GpuManager::Refusal GpuManager::refuse(Refused why) {
  refused_.push_back(std::move(why));
  return {refused_.back().trouble == Trouble::NotServed ? "PreStartContainerCheckErr"
                                                        : "UnexpectedAdmissionError",
          refused_.back().text};
}

/// What pods had that are no longer there.
void GpuManager::recycle() {
  std::map<std::string, bool> active;
  const auto [first, last] = api_.store().range("/pods");
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const auto phase = pod["status"]["phase"].str();
    const bool stopped_early = isLeaving(pod) && phase != "Running";
    active[std::string{uidOf(pod)}] = phase != "Succeeded" && phase != "Failed" && !stopped_early;
  }
  std::erase_if(given_, [&](const auto& entry) { return !active[entry.first]; });
  if (!active[begun_]) { begun_.clear(); }
}

std::vector<const Value*> GpuManager::candidates() const {
  std::vector<const Value*> out;
  const auto [first, last] = api_.store().range("/pods");
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const bool waits = pod["spec"]["nodeName"].str() == config_.node &&
                       pod["status"]["phase"].str() == "Pending" && !isLeaving(pod) && !isAssigned(pod);
    if (waits) { out.push_back(&pod); }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Value* a, const Value* b) { return timeOf(*a) < timeOf(*b); });
  return out;
}

/// Whose container it is; of a pod that was begun whatever comes next, of so many cores or not.
GpuManager::Turn GpuManager::turnOf(std::int64_t cores) const {
  for (const Value* pod : candidates()) {
    const std::string uid{uidOf(*pod)};
    if (!begun_.empty() && uid != begun_) { continue; }
    const auto given = given_.find(uid);
    const auto& containers = (*pod)["spec"]["containers"].items();
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const bool has = given != given_.end() && given->second.contains(i);
      if (has || !wantsGpu(containers[i])) { continue; }
      if (!begun_.empty() || coresOf(containers[i]) == cores) { return {pod, i}; }
    }
  }
  return {};
}

std::vector<GpuManager::Device> GpuManager::devices() const {
  std::vector<Device> out;
  out.reserve(static_cast<std::size_t>(config_.devices));
  for (int minor = 0; minor < config_.devices; ++minor) {
    out.push_back({minor, kWholeCores, config_.memory_each, 0});
  }
  for (const auto& [uid, parts] : given_) {
    for (const auto& [container, part] : parts) {
      for (const int minor : part.devices) {
        Device& d = out[static_cast<std::size_t>(minor)];
        d.cores -= part.cores;
        d.memory -= part.memory;
        d.processes += part.processes;
      }
    }
  }
  return out;
}

std::optional<DevicePlugin::Refusal> GpuManager::allocate(const Value& pod, Now now) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod["spec"][list].items()) {
      if (coresOf(container) <= 0) { continue; }
      if (auto refusal = serve(std::string{uidOf(pod)}, coresOf(container), now)) { return refusal; }
    }
  }
  return std::nullopt;
}

std::optional<DevicePlugin::Refusal> GpuManager::serve(const std::string& meant, std::int64_t cores,
                                                       Now now) {
  recycle();
  const Turn turn = turnOf(cores);
  if (turn.pod == nullptr) {
    return refuse({now.mono, Trouble::NobodyAsks, meant, false,
                   fmt::format("candidate pod not found for {} cores, allocation failed", cores)});
  }
  const Value& container = (*turn.pod)["spec"]["containers"].items()[turn.container];
  if (coresOf(container) != cores) {
    return refuse(
        {now.mono, Trouble::OtherCount, std::string{uidOf(*turn.pod)}, false,
         fmt::format("allocation request mismatch for pod {}, {} cores are asked", uidOf(*turn.pod), cores)});
  }
  return cores < kWholeCores ? giveShare(turn, now) : giveWhole(turn, now);
}

std::optional<DevicePlugin::Refusal> GpuManager::giveShare(const Turn& turn, Now now) {
  const Value& pod = *turn.pod;
  const Value& container = pod["spec"]["containers"].items()[turn.container];
  std::vector<Device> room = devices();
  std::erase_if(
      room, [&](const Device& d) { return d.cores < coresOf(container) || d.memory < memoryOf(container); });
  const std::string uid{uidOf(pod)};
  if (room.empty()) { return refuse({now.mono, Trouble::NoRoom, uid, false, "no enough gpu resource"}); }
  const Device& pick = *std::min_element(room.begin(), room.end(), [](const Device& a, const Device& b) {
    return std::tie(a.cores, a.memory, a.processes, a.minor) <
           std::tie(b.cores, b.memory, b.processes, b.minor);
  });
  const std::string_view said = annotated(pod, turn.container);
  if (!said.empty() && said != std::to_string(pick.minor)) {
    const bool tie = std::any_of(room.begin(), room.end(), [&](const Device& d) {
      return std::to_string(d.minor) == said && d.cores == pick.cores && d.memory == pick.memory;
    });
    return refuse({now.mono, Trouble::OtherDevice, uid, tie,
                   fmt::format("Nvidia node mismatch for pod {}({}), pick up:/dev/nvidia{}  predicate: "
                               "/dev/nvidia{}",
                               pod["metadata"]["name"].str(), container["name"].str(), pick.minor, said)});
  }
  ++shares_given_;
  give(turn, {{pick.minor}, coresOf(container), memoryOf(container), 0});
  return std::nullopt;
}

std::optional<DevicePlugin::Refusal> GpuManager::giveWhole(const Turn& turn, Now now) {
  const Value& container = (*turn.pod)["spec"]["containers"].items()[turn.container];
  const auto count = static_cast<std::size_t>(coresOf(container) / kWholeCores);
  std::vector<Device> untouched = devices();
  std::erase_if(untouched, [](const Device& d) { return d.cores < kWholeCores; });
  if (untouched.size() < count || coresOf(container) % kWholeCores != 0) {
    return refuse(
        {now.mono, Trouble::NoRoom, std::string{uidOf(*turn.pod)}, false, "no enough gpu resource"});
  }
  Part part{{}, kWholeCores, config_.memory_each, 0};
  while (part.devices.size() < count) {
    const auto at = untouched.begin() + static_cast<std::ptrdiff_t>(rng_.below(untouched.size()));
    part.devices.push_back(at->minor);
    untouched.erase(at);
  }
  std::sort(part.devices.begin(), part.devices.end());
  give(turn, std::move(part));
  return std::nullopt;
}

void GpuManager::give(const Turn& turn, Part part) {
  const std::string uid{uidOf(*turn.pod)};
  given_[uid][turn.container] = std::move(part);
  begun_ = isServed(*turn.pod) ? "" : uid;
}

/// Each of its containers that asks for a GPU has one.
bool GpuManager::isServed(const Value& pod) const {
  const auto given = given_.find(std::string{uidOf(pod)});
  const auto& containers = pod["spec"]["containers"].items();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const bool has = given != given_.end() && given->second.contains(i);
    if (wantsGpu(containers[i]) && !has) { return false; }
  }
  return true;
}

std::optional<DevicePlugin::Refusal> GpuManager::preStart(const Value& pod, Now now) {
  const std::string uid{uidOf(pod)};
  if (!isServed(pod)) {
    return refuse({now.mono, Trouble::NotServed, uid, false,
                   fmt::format("failed to get pod {} from allocatedPod cache", uid)});
  }
  Object annotations{{kAssigned, "true"}};
  for (auto& [container, part] : given_[uid]) {
    part.processes = static_cast<int>(rng_.below(static_cast<std::uint64_t>(config_.most_processes) + 1));
    annotations[fmt::format("{}{}", kIdsPrefix, container)] = fmt::format("{}", fmt::join(part.devices, ","));
  }
  if (given_[uid].empty()) { return std::nullopt; }  // it asks for no GPU
  const Value& meta = pod["metadata"];
  (void)api_.handle(
      {"PATCH", fmt::format("/api/v1/namespaces/{}/pods/{}", meta["namespace"].str(), meta["name"].str()),
       "application/merge-patch+json",
       Object{{"metadata", Object{{"uid", uid}, {"annotations", std::move(annotations)}}}}},
      now);
  return std::nullopt;
}

}  // namespace gs::sandbox
