// What is due of kernel caches on each machine, for the law of cache_arrivals.h.
#include <fmt/format.h>

#include <algorithm>

#include "kcache/kinds/kinds.h"
#include "test/sim/cache_side.h"

namespace gs::sim {
namespace {

constexpr const char* kNodeObjects = "gkm.io/gkmcachenodes";
constexpr const char* kClusterNodeObjects = "gkm.io/clustergkmcachenodes";

}  // namespace

void CacheSide::apiIsAway(Duration lasts) {
  away_until_ = world_.now().mono + lasts;
  noteHindrance();
}

void CacheSide::noteHindrance() {
  const Mono now = world_.now().mono;
  if (now < faults_until_ || now < away_until_ || registry_.fails()) { hindered_ = now; }
}

void CacheSide::lookAtArrivals() {
  noteHindrance();
  if (std::string late = arrivals_.look(world_.now().mono, dues()); !late.empty()) { wrong(std::move(late)); }
}

/// What a cache names is to be there; of what else is mounted and damaged it is to be said.
std::vector<CacheArrivals::Due> CacheSide::dues() {
  std::vector<CacheArrivals::Due> out;
  std::set<std::pair<model::ObjectKey, std::string>> named;
  const auto all = machines();
  for (const auto& key : cachesThere()) {
    const auto cache = kcache::decodeCache(*cacheObject(key));
    if (cache.is_deleting) { continue; }
    named.emplace(key, cache.digest);
    for (const auto& [node, machine] : all) {
      const auto placed = machine->placed();
      const bool is_there = std::binary_search(placed.begin(), placed.end(), std::pair{key, cache.digest});
      const auto image = kcache::Digest::parse(cache.digest);
      const bool is_whole = image && machine->damagedFileOf(*image).empty();
      out.push_back({node, key, cache.uid.text + cache.digest, is_there ? "whole" : "there",
                     is_there && is_whole, std::max(hindered_, machine->hinderedAt())});
    }
  }
  for (const auto& [node, machine] : all) {
    for (const auto& mount : machine->mounted()) {
      if (named.contains({mount.cache, mount.image.text()}) || machine->damagedFileOf(mount.image).empty()) {
        continue;
      }
      out.push_back({node, mount.cache, mount.image.text(), "said to be damaged", isSaidDamaged(node, mount),
                     std::max(hindered_, machine->hinderedAt())});
    }
  }
  return out;
}

/// "" or what is due yet.
std::string CacheSide::notDone() {
  for (const auto& due : dues()) {
    if (!due.is_so) { return fmt::format("{} is not {} on {}", due.cache.text(), due.what, due.node); }
  }
  return "";
}

/// By the object of its node.
bool CacheSide::isSaidDamaged(const std::string& node, const Machine::Mounted& mount) const {
  const char* resource = mount.cache.ns.empty() ? kClusterNodeObjects : kNodeObjects;
  const auto* there = world_.api().store().find({resource, mount.cache.ns, node});
  if (there == nullptr) { return false; }
  const auto said = kcache::decodeCacheNode(*there->object);
  const auto entries = said.caches.find(mount.cache.name);
  if (entries == said.caches.end()) { return false; }
  const auto entry = entries->second.find(mount.image.text());
  return entry != entries->second.end() && entry->second.condition &&
         entry->second.condition->message.find("damaged") != std::string::npos;
}

}  // namespace gs::sim
