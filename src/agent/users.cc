#include "agent/users.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

constexpr std::size_t kLooks = 2;
/// Between its creation and the moment in which it is given its GPUs.
constexpr Duration kStarts = std::chrono::seconds{10};
/// A clock that runs so much faster or slower between two looks was set.
constexpr Duration kSlack = std::chrono::seconds{1};
/// Of containers that may come: after all that are there.
constexpr Wall kToCome = Wall::max();
/// While the runtime is silent, what was known of pods that are gone is kept up to here.
constexpr std::size_t kMostPods = 4096;
/// The most that a pod may name.
constexpr std::size_t kMostNamed = model::kMaxDeviceId + 1;

std::set<std::string> namedIn(std::string_view text) {
  std::set<std::string> out;
  for (const auto& name : commaList(text)) {
    if (out.size() < kMostNamed) { out.emplace(name); }
  }
  return out;
}

bool saysUuids(std::string_view visible) {
  return visible.find("GPU-") != std::string_view::npos || visible.find("MIG-") != std::string_view::npos;
}

/// What its containers are told, if that is UUIDs; else the ids that they are told, and those that the pod
/// was given, if that is on `node` (empty: whatever it is). Both say the same unless somebody edited one of
/// them, and nobody knows which: of a pod that names its GPUs itself the containers never read what they are
/// told.
std::set<std::string> namesOf(const std::string* visible, const std::string* allocated,
                              const model::NodeName& node) {
  if (visible != nullptr && saysUuids(*visible)) { return namedIn(*visible); }
  std::set<std::string> out;
  if (visible != nullptr) {
    for (const auto& name : namedIn(*visible)) {
      if (isGpuId(name)) { out.insert(name); }
    }
  }
  const auto read = allocated == nullptr ? fail(Code::Invalid, "") : model::parseAllocation(*allocated);
  const bool of_another = read && !read->node.empty() && !node.empty() && read->node != node;
  if (!read || of_another) { return out; }
  for (const int id : read->ids) { out.insert(std::to_string(id)); }
  return out;
}

}  // namespace

PodContainers containersWith(const std::map<std::string, std::string>& annotations) {
  const auto value_of = [&](const char* key) {
    const auto it = annotations.find(key);
    return it == annotations.end() ? nullptr : &it->second;
  };
  const auto names = namesOf(value_of(model::kVisibleDevicesKey), value_of(model::kAllocatedKey), {});
  if (names.empty()) { return {}; }
  return {fmt::format("{}", fmt::join(names, ","))};
}

std::set<std::string> annotationsThatSay() { return {model::kVisibleDevicesKey, model::kAllocatedKey}; }

bool Users::Pod::has(const std::string& gpu) const {
  return seeded.contains(gpu) || std::any_of(containers.begin(), containers.end(), [&](const auto& entry) {
           return entry.second.gpus.contains(gpu);
         });
}

void Users::number(const std::vector<Device>& devices, Now now) {
  if (!numberings_.looked(devices, now.mono)) { return; }
  for (auto& [uid, pod] : pods_) { resolve(pod); }
}

// ---- what containers have

/// Adds to what they have; numbers that nobody knows any more stay what they were.
void Users::resolve(Pod& pod) const {
  for (auto& [created, container] : pod.containers) {
    const bool is_of_seed = container.is_old && created <= seeded_at_;
    for (const auto& name : pod.said) {
      if (is_of_seed && ids_before_.contains(name)) { continue; }
      container.gpus.merge(numberings_.meant(name, container.created));
    }
  }
  if (isSeedBeaten(pod)) { pod.seeded.clear(); }
}

void Users::say(Pod& pod, std::set<std::string> names) const {
  pod.said = std::move(names);
  for (auto& [created, container] : pod.containers) { container.gpus.clear(); }
  resolve(pod);
}

/// By an object that says UUIDs, all of GPUs that are known.
bool Users::isSeedBeaten(const Pod& pod) const {
  return pod.allocated && std::none_of(pod.said.begin(), pod.said.end(), [this](const auto& name) {
           return isGpuId(name) || numberings_.meant(name, {}).empty();
         });
}

void Users::seed(const std::vector<Device>& devices, Wall when, bool is_this_boot) {
  seeded_at_ = when;
  is_this_boot_ = is_this_boot;
  if (is_this_boot) { numberings_.published(devices); }
  for (const Device& device : devices) { ids_before_.insert(std::to_string(device.id)); }
  if (hasLooked() && !is_this_boot) { return; }
  for (const Device& device : devices) {
    for (const auto& uid : device.in_use_by) {
      if (hasLooked() && !pods_.contains(uid)) { continue; }
      Pod& mine = pods_[uid];
      mine.seeded.insert(nameOf(device));
      mine.has_containers |= !hasLooked();
      for (auto& [created, container] : mine.containers) { container.is_old = true; }
    }
  }
  for (auto& [uid, pod] : pods_) { say(pod, std::move(pod.said)); }
}

/// The object says it once, before there are containers: what is written there later is somebody's edit.
void Users::changed(const model::Pod& pod) {
  Pod& mine = pods_[pod.uid];
  const bool is_late = std::exchange(mine.is_there, true) && mine.has_containers;
  auto allocation =
      namesOf(pod.annotation(model::kVisibleDevicesKey), pod.annotation(model::kAllocatedKey), pod.node);
  if (!is_late && !allocation.empty() && !std::exchange(mine.allocated, true)) {
    say(mine, std::move(allocation));
  }
  if (pod.finished() && !std::exchange(mine.ended, true)) { end(mine); }
}

void Users::gone(const model::Uid& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  if (!it->second.ended) { end(it->second); }
  it->second.is_there = false;
  const bool nobody_says = !hasLooked() && it->second.seeded.empty();
  if (nobody_says || pods_.size() > kMostPods) { pods_.erase(it); }
}

/// The wall clock, since the look that creations are told from.
bool Users::wasSet(Now now) const {
  return std::any_of(looks_.begin(), looks_.end(), [&](const Now& look) {
    const Duration by = (now.wall - look.wall) - (now.mono - look.mono);
    return by > kSlack || by < -kSlack;
  });
}

/// Of a container that is seen for the first time: not before the last look but one, which may have begun
/// before the one ahead of it ended.
Numberings::Span Users::createdWithin(Wall created, Now now) const {
  const Mono not_before = looks_.size() < kLooks ? Mono::min() : looks_.front().mono;
  const Duration age = now.wall - created;
  if (created == Wall{} || wasSet(now) || age < -kSlack) { return {not_before, now.mono}; }
  const Mono at = now.mono - age - kSlack;
  if (at + kSlack < not_before) { return {at, now.mono}; }  // one of both is wrong
  return {at, std::min(now.mono, at + kSlack + kStarts)};
}

void Users::keepContainers(Pod& pod, const PodContainers& there, Now now) const {
  ContainersOfPod next;
  const bool may_be_old = looks_.empty() && is_this_boot_ && !pod.seeded.empty();
  bool is_new = false;
  const auto add = [&](Wall created, Numberings::Span when, bool is_old) {
    const auto known = pod.containers.find(created);
    const bool is_known = known != pod.containers.end();
    is_new |= !is_known;
    next[created] = is_known ? std::move(known->second) : Container{when, is_old, {}};
  };
  for (const Wall created : there.created) { add(created, createdWithin(created, now), may_be_old); }
  if (there.sandbox_only) {
    add(kToCome, {now.mono, Mono::max()}, false);
  } else if (there.created.empty()) {
    add(Wall{}, createdWithin(Wall{}, now), may_be_old);
  }
  pod.containers = std::move(next);
  const bool has_old = std::any_of(pod.containers.begin(), pod.containers.end(),
                                   [](const auto& entry) { return entry.second.is_old; });
  if (!has_old) { pod.seeded.clear(); }
  if (is_new) { resolve(pod); }
}

void Users::seen(const Containers& containers, Now now) {
  for (const auto& [uid, what] : containers.pods) {
    Pod& mine = pods_[uid];
    keepContainers(mine, what, now);
    if (!what.visible || mine.allocated || std::exchange(mine.told, true)) { continue; }
    say(mine, namedIn(*what.visible));
  }
  for (auto it = pods_.begin(); it != pods_.end();) {
    Pod& mine = it->second;
    const auto named = containers.pods.find(it->first);
    const bool is_named = named != containers.pods.end();
    mine.has_containers = is_named && (!named->second.sandbox_only || !mine.over());
    mine.looks_without = is_named || mine.is_there ? 0 : mine.looks_without + 1;
    it = mine.looks_without >= kLooks ? pods_.erase(it) : std::next(it);
  }
  if (looks_.size() == kLooks) { looks_.erase(looks_.begin()); }
  looks_.push_back(now);
}

std::vector<model::Uid> Users::of(const Device& device) const {
  const std::string name = nameOf(device);
  std::vector<model::Uid> out;
  for (const auto& [uid, pod] : pods_) {
    if (pod.has_containers && pod.has(name)) { out.push_back(uid); }
  }
  return out;
}

bool Users::draining() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const auto& entry) {
    const Pod& pod = entry.second;
    return pod.over() && pod.has_containers && pod.hasGpus();
  });
}

bool Users::hasContainers(const model::Uid& uid) const {
  const auto it = pods_.find(uid);
  return it != pods_.end() && it->second.has_containers;
}

bool Users::isTold(const Device& device) const {
  const auto means = [&, gpu = nameOf(device)](const std::string& name) {
    return isGpuId(name) ? std::stoi(name) >= device.id : name == gpu;
  };
  return std::any_of(pods_.begin(), pods_.end(), [&, gpu = nameOf(device)](const auto& entry) {
    const Pod& pod = entry.second;
    const bool is_told = !pod.over() && std::any_of(pod.said.begin(), pod.said.end(), means);
    return is_told || (pod.has_containers && pod.has(gpu));
  });
}

}  // namespace gs::agent
