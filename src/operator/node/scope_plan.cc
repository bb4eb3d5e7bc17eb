#include "operator/node/scope_plan.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "kcache/content/compat.h"
#include "kcache/kinds/names.h"

namespace gs::gkm {
namespace {

using kcache::CacheEntry;
using kcache::CacheNode;
using kcache::HasImage;
using kcache::State;

/// What an entry says beside its times.
struct Said {
  State state = State::Pending;
  std::string cause{};
};

/// Pods that have it mounted count first, and what is wrong with it is said beside that: they have a damaged
/// file, say.
Said saidOf(const HasImage& has, bool is_present) {
  if (!has.pods.empty()) { return {is_present ? State::Running : State::Outdated, has.cause}; }
  if (!has.unload_error.empty()) { return {State::UnloadError, has.unload_error}; }
  switch (has.what) {
    case HasImage::What::Here: return {State::Extracted};
    case HasImage::What::Failed: return {State::Error, has.cause};
    case HasImage::What::Coming:  // again, while its last failure is what there is to say
      return has.cause.empty() ? Said{} : Said{State::Error, has.cause};
    default: return {};
  }
}

/// `before`: what stands there; nullptr: nothing.
CacheEntry entryOf(const HasImage& has, bool is_present, const NodeFacts& facts, const CacheEntry* before,
                   Wall now) {
  CacheEntry out;
  auto [state, cause] = saidOf(has, is_present);
  out.condition = kcache::Condition{state, kcache::messageOf(state, cause), now};
  if (has.targets) {
    auto match = kcache::match(*has.targets, facts.gpus);
    out.compatible_gpus = std::move(match.matched);
    out.incompatible_gpus = std::move(match.unmatched);
  }
  out.size = has.size;
  if (has.what == HasImage::What::Coming) { out.progress = has.progress; }
  out.pods = has.pods;
  out.last_updated = now;
  if (before == nullptr) { return out; }
  if (before->condition && before->condition->state == state) {
    out.condition->since = before->condition->since;
  }
  CacheEntry same = out;
  same.last_updated = before->last_updated;
  return same == *before ? same : out;
}

CacheEntry errorEntry(const std::string& cause, const CacheEntry* before, Wall now) {
  HasImage has;
  has.what = HasImage::What::Failed;
  has.cause = cause;
  return entryOf(has, true, {}, before, now);
}

const CacheEntry* entryIn(const CacheNode* object, const std::string& cache, const std::string& digest) {
  if (object == nullptr) { return nullptr; }
  const auto it = object->caches.find(cache);
  if (it == object->caches.end()) { return nullptr; }
  const auto entry = it->second.find(digest);
  return entry == it->second.end() ? nullptr : &entry->second;
}

/// GPUs alike are one group; sorted.
std::vector<kcache::GpuGroup> groupsOf(const std::vector<kcache::CacheGpu>& gpus) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> ids;
  for (const auto& gpu : gpus) { ids[{gpu.product, gpu.driver_version}].push_back(gpu.id); }
  std::vector<kcache::GpuGroup> out;
  for (auto& [name, of] : ids) {
    std::sort(of.begin(), of.end());
    out.push_back({name.first, name.second, std::move(of)});
  }
  if (out.empty()) { out.push_back({kcache::kNoGpu, "", {}}); }
  return out;
}

/// Names of caches that need a finalizer.
std::set<std::string> heldNames(const NodeScope& scope) {
  std::set<std::string> out;
  for (const auto& [name, images] : scope.has) { out.insert(name); }
  for (const auto& [name, cache] : scope.caches) {
    const auto wanted = wantedOf(*cache);
    if (wanted && *wanted) { out.insert(name); }
  }
  return out;
}

bool isOurs(const std::string& finalizer) { return !kcache::handleIn(finalizer).empty(); }

bool isSameStatus(const CacheNode& a, const CacheNode& b) {
  return a.node == b.node && a.counts == b.counts && a.gpus == b.gpus && a.caches == b.caches;
}

bool isComing(const CacheEntry& entry) {
  return entry.progress || (entry.condition && entry.condition->state == State::Pending);
}

bool saysTheSame(const CacheEntry& a, const CacheEntry& b) {
  return a.condition && b.condition && a.condition->state == b.condition->state &&
         a.condition->message == b.condition->message;
}

/// Nothing differs but how far images are that come.
bool differsInComingOnly(CacheNode status, CacheNode object) {
  for (auto it = status.caches.begin(); it != status.caches.end();) {
    auto& [name, entries] = *it;
    std::erase_if(entries, [&, &cache = name](const auto& one) {
      const CacheEntry* before = entryIn(&object, cache, one.first);
      const bool drops = isComing(one.second) &&
                         (before == nullptr || isComing(*before) || saysTheSame(*before, one.second));
      if (drops && before != nullptr) { object.caches.at(cache).erase(one.first); }
      return drops;
    });
    const auto before = object.caches.find(name);
    if (before != object.caches.end() && before->second.empty()) { object.caches.erase(before); }
    it = entries.empty() ? status.caches.erase(it) : std::next(it);
  }
  const bool is_first = object.counts.nodes == 0 && status.caches.empty();  // we say one each time
  return is_first || isSameStatus(status, object);
}

/// What its finalizers have to be; those of ours that are in the way stay while `status` has their cache.
std::vector<std::string> finalizersOf(const CacheNode& object, const std::set<std::string>& names) {
  std::set<std::string> keep;
  for (const std::string& name : names) { keep.insert(kcache::nodeFinalizer(name)); }
  for (const auto& [name, entries] : object.caches) { keep.insert(kcache::nodeFinalizer(name)); }
  std::vector<std::string> out;
  for (const std::string& finalizer : object.finalizers.names) {
    if (!isOurs(finalizer) || keep.contains(finalizer)) { out.push_back(finalizer); }
    keep.erase(finalizer);
  }
  // Of what the status alone has there is nothing to guard any more.
  for (const std::string& name : names) {
    if (auto finalizer = kcache::nodeFinalizer(name); keep.contains(finalizer)) {
      out.push_back(std::move(finalizer));
    }
  }
  return out;
}

std::vector<std::string> foreignOf(const CacheNode& object) {
  std::vector<std::string> out;
  for (const std::string& finalizer : object.finalizers.names) {
    if (!isOurs(finalizer)) { out.push_back(finalizer); }
  }
  return out;
}

bool hasAll(const CacheNode& object, const std::set<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const auto& name) { return object.finalizers.has(kcache::nodeFinalizer(name)); });
}

ScopePlan planWithout(const NodeScope& scope, const std::set<std::string>& names, const NodeFacts& facts,
                      Wall now) {
  if (names.empty() && statusOf(scope, facts, now).caches.empty()) { return {}; }
  ScopePlan out{.act = NodeAct::Create};
  for (const std::string& name : names) { out.finalizers.push_back(kcache::nodeFinalizer(name)); }
  return out;
}

}  // namespace

std::optional<Result<kcache::WantedImage>> wantedOf(const kcache::Cache& cache) {
  if (cache.is_deleting || cache.digest.empty()) { return std::nullopt; }
  if (!cache.finalizers.has(kcache::finalizerOf(cache.key))) { return std::nullopt; }
  const auto digest = kcache::Digest::parse(cache.digest);
  if (!digest) { return fail(Code::Invalid, "annotation gkm.io/resolvedDigest: " + digest.error().message); }
  const auto image = kcache::parseReference(cache.image);
  if (!image) { return fail(Code::Invalid, "spec.image: " + image.error().message); }
  return kcache::WantedImage{
      .written = cache.image, .image = image->pinned(*digest), .pull_secrets = cache.pull_secrets};
}

bool mayFetch(const NodeScope& scope, const std::string& cache) {
  return scope.object != nullptr && !scope.object->is_deleting &&
         scope.object->finalizers.has(kcache::nodeFinalizer(cache));
}

CacheNode statusOf(const NodeScope& scope, const NodeFacts& facts, Wall now) {
  CacheNode out;
  const CacheNode* before = scope.object.get();
  if (before != nullptr) { out = *before; }
  out.node = facts.node;
  out.gpus = groupsOf(facts.gpus);
  out.caches.clear();
  for (const auto& [name, images] : scope.has) {
    const auto cache = scope.caches.find(name);
    for (const auto& [digest, has] : images) {
      const bool is_present = cache == scope.caches.end() || cache->second->digest == digest;
      out.caches[name].insert_or_assign(digest,
                                        entryOf(has, is_present, facts, entryIn(before, name, digest), now));
    }
  }
  for (const auto& [name, cache] : scope.caches) {
    const auto wanted = wantedOf(*cache);
    if (!wanted || *wanted || !kcache::Digest::parse(cache->digest)) { continue; }
    out.caches[name].insert_or_assign(
        cache->digest, errorEntry((*wanted).error().message, entryIn(before, name, cache->digest), now));
  }
  out.counts = {};
  for (const auto& [name, entries] : out.caches) {
    const auto cache = scope.caches.find(name);
    const std::string present = cache == scope.caches.end() ? entries.rbegin()->first : cache->second->digest;
    out.counts += kcache::countsOf(entries, present);
  }
  out.counts.nodes = 1;
  return out;
}

ScopePlan planOf(const model::ObjectKey& key, const NodeScope& scope, const NodeFacts& facts, Wall now) {
  const std::set<std::string> names = heldNames(scope);
  if (scope.object == nullptr) {
    ScopePlan out = planWithout(scope, names, facts, now);
    out.object.key = key;
    return out;
  }
  const CacheNode& object = *scope.object;
  const auto finalizers = [&](std::vector<std::string> all) {
    return ScopePlan{.act = NodeAct::WriteFinalizers, .object = object, .finalizers = std::move(all)};
  };
  if (object.finalizers.are_cut) { return {}; }  // nobody may write the list
  if (object.is_deleting) {
    auto foreign = foreignOf(object);
    return foreign == object.finalizers.names ? ScopePlan{} : finalizers(std::move(foreign));
  }
  if (!hasAll(object, names)) { return finalizers(finalizersOf(object, names)); }
  CacheNode status = statusOf(scope, facts, now);
  const bool is_new = !isSameStatus(status, object);
  const bool can_wait = is_new && differsInComingOnly(status, object);
  const auto writing = [&] {
    return ScopePlan{
        .act = NodeAct::WriteStatus, .object = std::move(status), .finalizers = {}, .can_wait = can_wait};
  };
  if (is_new && !can_wait) { return writing(); }
  auto all = finalizersOf(object, names);
  if (all != object.finalizers.names) { return finalizers(std::move(all)); }
  const bool is_left = names.empty() && object.caches.empty() && all.empty();
  if (is_left) { return {.act = NodeAct::Delete, .object = object}; }
  return is_new ? writing() : ScopePlan{};
}

}  // namespace gs::gkm
