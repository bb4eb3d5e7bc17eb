#include "agent/users.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

constexpr int kLooks = 2;
/// While the runtime is silent, what was known of pods that are gone is kept up to here.
constexpr std::size_t kMostPods = 4096;
/// The most that a pod may name.
constexpr std::size_t kMostNamed = model::kMaxDeviceId + 1;

/// That a GPU may have.
bool isId(std::string_view name) {
  int id = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  return error == std::errc{} && end == name.data() + name.size() && id >= 0 && id <= model::kMaxDeviceId;
}

std::set<std::string> namedIn(std::string_view text) {
  std::set<std::string> out;
  for (const auto& name : commaList(text)) {
    if (out.size() < kMostNamed) { out.emplace(name); }
  }
  return out;
}

/// UUIDs where they were written; else ids, if they are of this node.
std::set<std::string> allocationOf(const model::Pod& pod) {
  const std::string* visible = pod.annotation(model::kVisibleDevicesKey);
  const auto names = [&](const char* kind) { return visible->find(kind) != std::string::npos; };
  if (visible != nullptr && (names("GPU-") || names("MIG-"))) { return namedIn(*visible); }
  const std::string* allocated = pod.annotation(model::kAllocatedKey);
  if (allocated == nullptr) { return {}; }
  const auto read = model::parseAllocation(*allocated);
  const bool of_another = read && !read->node.empty() && !pod.node.empty() && read->node != pod.node;
  if (!read || of_another) { return {}; }
  std::set<std::string> out;
  for (const int id : read->ids) { out.insert(std::to_string(id)); }
  return out;
}

}  // namespace

PodContainers containersWith(const std::map<std::string, std::string>& annotations) {
  const auto visible = annotations.find(model::kVisibleDevicesKey);
  if (visible != annotations.end()) { return {visible->second}; }
  const auto allocated = annotations.find(model::kAllocatedKey);
  const auto read = allocated == annotations.end() ? std::nullopt
                                                   : std::optional{model::parseAllocation(allocated->second)};
  if (!read || !*read) { return {}; }
  return {fmt::format("{}", fmt::join((*read)->ids, ","))};
}

std::set<std::string> annotationsThatSay() { return {model::kVisibleDevicesKey, model::kAllocatedKey}; }

void Users::number(const std::vector<Device>& devices) {
  names_.clear();
  for (const Device& device : devices) {
    const std::string name = nameOf(device);
    names_.emplace(std::to_string(device.id), name);
    names_.emplace(name, name);
    for (const Partition& partition : device.gpu.partitions) { names_.emplace(partition.uuid, name); }
  }
  for (auto& [uid, pod] : pods_) { resolve(pod); }
}

void Users::resolve(Pod& pod) const {
  for (auto it = pod.said.begin(); it != pod.said.end();) {
    const auto name = names_.find(*it);
    if (name == names_.end()) {
      ++it;
      continue;
    }
    pod.gpus.insert(name->second);
    it = pod.said.erase(it);
  }
}

void Users::seed(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    before_.insert_or_assign(std::to_string(device.id), nameOf(device));
  }
  for (const Device& device : devices) {
    for (const auto& uid : device.in_use_by) {
      if (has_looked_ && !pods_.contains(uid)) { continue; }
      Pod& mine = pods_[uid];
      if (!std::exchange(mine.seeded, true)) {
        mine.gpus.clear();
        std::erase_if(mine.said, [this](const auto& name) { return before_.contains(name); });
      }
      mine.gpus.insert(nameOf(device));
      mine.has_containers |= !has_looked_;
    }
  }
}

/// What a pod says that it was given. Of one that was seeded, ids that were published then are known already,
/// and may be others' by now.
void Users::give(Pod& pod, std::set<std::string> names) const {
  if (pod.seeded) {
    std::erase_if(names, [this](const auto& name) { return before_.contains(name); });
    pod.said.merge(names);
  } else {
    pod.gpus.clear();
    pod.said = std::move(names);
  }
  resolve(pod);
}

/// The object says it once, before there are containers: what is written there later is somebody's edit.
void Users::changed(const model::Pod& pod) {
  Pod& mine = pods_[pod.uid];
  const bool is_late = std::exchange(mine.is_there, true) && mine.has_containers;
  auto allocation = allocationOf(pod);
  if (!is_late && !allocation.empty() && !std::exchange(mine.allocated, true)) {
    const bool by_uuid = std::none_of(allocation.begin(), allocation.end(), isId);
    auto before = by_uuid ? std::exchange(mine.gpus, {}) : std::set<std::string>{};
    give(mine, std::move(allocation));
    if (!mine.said.empty()) { mine.gpus.merge(before); }  // not all of them are there
  }
  if (pod.finished() && !std::exchange(mine.ended, true)) { end(mine); }
}

void Users::gone(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  if (!it->second.ended) { end(it->second); }
  it->second.is_there = false;
  const bool nobody_says = !has_looked_ && !it->second.seeded;
  if (nobody_says || pods_.size() > kMostPods) { pods_.erase(it); }
}

/// What the first look shows may have begun before the restart, whatever ids mean since.
void Users::giveAsBefore(Pod& pod, const std::set<std::string>& names) const {
  give(pod, {});
  for (const auto& name : names) {
    const auto was = before_.find(name);
    if (was == before_.end()) {
      pod.said.insert(name);
    } else if (!pod.seeded) {
      pod.gpus.insert(was->second);
    }
  }
  resolve(pod);
}

void Users::seen(const Containers& containers) {
  const bool is_first = !std::exchange(has_looked_, true);
  for (const auto& [uid, what] : containers.pods) {
    Pod& mine = pods_[uid];
    if (!what.visible || mine.allocated || std::exchange(mine.told, true)) { continue; }
    if (is_first) {
      giveAsBefore(mine, namedIn(*what.visible));
    } else {
      give(mine, namedIn(*what.visible));
    }
  }
  for (auto it = pods_.begin(); it != pods_.end();) {
    Pod& mine = it->second;
    const auto named = containers.pods.find(it->first);
    const bool is_named = named != containers.pods.end();
    mine.has_containers = is_named && (!named->second.sandbox_only || !mine.over());
    mine.looks_without = is_named || mine.is_there ? 0 : mine.looks_without + 1;
    it = mine.looks_without >= kLooks ? pods_.erase(it) : std::next(it);
  }
}

std::vector<model::Uid> Users::of(const Device& device) const {
  const std::string name = nameOf(device);
  std::vector<model::Uid> out;
  for (const auto& [uid, pod] : pods_) {
    if (pod.has_containers && pod.gpus.contains(name)) { out.push_back(uid); }
  }
  return out;
}

bool Users::draining() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const auto& entry) {
    const Pod& pod = entry.second;
    return pod.over() && pod.has_containers && pod.hasGpus();
  });
}

}  // namespace gs::agent
