#include "scheduler/caches/cache_index.h"

#include <algorithm>
#include <utility>

namespace gs::scheduler {

CacheIndex::Id CacheIndex::join(const model::ObjectKey& cache) {
  const auto [it, fresh] = caches_.try_emplace(cache);
  ++it->second.nodes;
  if (!fresh) { return it->second.id; }
  if (vacant_.empty()) {
    it->second.id = static_cast<Id>(by_id_.size());
    by_id_.push_back(cache);
  } else {
    it->second.id = vacant_.back();
    vacant_.pop_back();
    by_id_[it->second.id] = cache;
  }
  return it->second.id;
}

bool CacheIndex::put(const model::ObjectKey& object, const std::vector<std::string>& names) {
  std::vector<Id> now;
  now.reserve(names.size());
  for (const auto& name : names) { now.push_back(join({object.ns, name})); }
  std::sort(now.begin(), now.end());
  const auto it = objects_.find(object);
  const std::vector<Id> before = it == objects_.end() ? std::vector<Id>{} : std::move(it->second);
  for (const Id id : before) {  // after they joined: what stays keeps its number
    const auto known = caches_.find(by_id_[id]);
    if (--known->second.nodes > 0) { continue; }
    caches_.erase(known);
    by_id_[id] = {};
    vacant_.push_back(id);
  }
  const bool is_other = before != now;
  if (now.empty()) {
    objects_.erase(object);
  } else {
    objects_.insert_or_assign(object, std::move(now));
  }
  return is_other;
}

bool CacheIndex::has(const model::NodeName& node, const model::ObjectKey& cache) const {
  const auto known = caches_.find(cache);
  if (known == caches_.end()) { return false; }
  const auto object = objects_.find({cache.ns, node.text});
  return object != objects_.end() &&
         std::binary_search(object->second.begin(), object->second.end(), known->second.id);
}

std::size_t CacheIndex::nodesWith(const model::ObjectKey& cache) const {
  const auto known = caches_.find(cache);
  return known == caches_.end() ? 0 : known->second.nodes;
}

}  // namespace gs::scheduler
