#include "dra/pools.h"

#include <fmt/core.h>

#include <algorithm>

namespace gs::dra {
namespace {

/// The nodes that have a device of this slice.
NodeNames nodesOf(const model::ResourceSlice& slice) {
  NodeNames out;
  if (!slice.node.empty()) { out.insert(slice.node); }
  for (const auto& device : slice.devices) {
    if (!device.node.empty()) { out.insert(device.node); }
  }
  return out;
}

const model::NodeName& nodeOf(const model::ResourceSlice& slice, const model::SliceDevice& device) {
  return slice.node.empty() ? device.node : slice.node;
}

/// Changes a count by one; a zero is not kept.
template <class Counts, class Key>
void bump(Counts& counts, const Key& key, bool add) {
  auto& count = counts[key];
  count = add ? count + 1 : count - 1;
  if (count == 0) { counts.erase(key); }
}

}  // namespace

NodeNames Pools::put(const model::Ptr<model::ResourceSlice>& slice) {
  const Id id{slice->driver, slice->pool};
  model::Ptr<model::ResourceSlice> before;
  const auto known = pool_of_.find(slice->key);
  if (known != pool_of_.end()) {
    before = pools_.at(known->second).slices.at(slice->key);
    if (before->revision >= slice->revision && before->uid == slice->uid) { return {}; }
  }
  if (before != nullptr && known->second != id) {
    // The API server lets nobody change driver or pool: it is another object of that name.
    NodeNames touched = remove(slice->key);
    touched.merge(change(id, nullptr, slice));
    return touched;
  }
  return change(id, before, slice);
}

NodeNames Pools::remove(const model::ObjectKey& key) {
  const auto known = pool_of_.find(key);
  if (known == pool_of_.end()) { return {}; }
  const Id id = known->second;
  const auto before = pools_.at(id).slices.at(key);
  return change(id, before, nullptr);
}

NodeNames Pools::change(const Id& id, const model::Ptr<model::ResourceSlice>& before,
                        const model::Ptr<model::ResourceSlice>& after) {
  Pool& pool = pools_[id];
  const std::int64_t newest = pool.generations.empty() ? 0 : pool.generations.rbegin()->first;
  const bool was_whole = troubleOf(id, pool).empty();
  NodeNames touched;
  if (before != nullptr) {
    touched.merge(nodesOf(*before));
    index(id, before, false);
    pool.slices.erase(before->key);
    pool_of_.erase(before->key);
    count(pool, *before, false);
  }
  if (after != nullptr) {
    touched.merge(nodesOf(*after));
    pool.slices.insert_or_assign(after->key, after);
    pool_of_.insert_or_assign(after->key, id);
    index(id, after, true);
    count(pool, *after, true);
  }
  const bool another = !pool.generations.empty() && pool.generations.rbegin()->first != newest;
  if (another || troubleOf(id, pool).empty() != was_whole) {
    for (const auto& [key, slice] : pool.slices) { touched.merge(nodesOf(*slice)); }
  }
  if (pool.slices.empty()) { pools_.erase(id); }
  return touched;
}

void Pools::index(const Id& id, const model::Ptr<model::ResourceSlice>& slice, bool add) {
  for (const auto& node : nodesOf(*slice)) {
    auto& pools = by_node_[node];
    Slices& slices = pools[id];
    if (add) {
      slices.insert_or_assign(slice->key, slice);
    } else {
      slices.erase(slice->key);
    }
    if (slices.empty()) { pools.erase(id); }
    if (pools.empty()) { by_node_.erase(node); }
  }
}

void Pools::count(Pool& pool, const model::ResourceSlice& slice, bool add) {
  const std::int64_t newest = pool.generations.empty() ? slice.generation : pool.generations.rbegin()->first;
  bump(pool.generations, slice.generation, add);
  if (!pool.generations.empty() && pool.generations.rbegin()->first == newest) {
    if (slice.generation == newest) { countNewest(pool, slice, add); }
    return;
  }
  countAnew(pool);
}

void Pools::countNewest(Pool& pool, const model::ResourceSlice& slice, bool add) {
  bump(pool.declared, slice.slices, add);
  for (const auto& device : slice.devices) {
    int& times = pool.names[device.name];
    if (add && ++times == 2) { ++pool.repeated; }
    if (!add && --times == 1) { --pool.repeated; }
    if (times == 0) { pool.names.erase(device.name); }
  }
}

/// Another generation is the newest one.
void Pools::countAnew(Pool& pool) {
  pool.declared.clear();
  pool.names.clear();
  pool.repeated = 0;
  if (pool.generations.empty()) { return; }
  for (const auto& [key, slice] : pool.slices) {
    if (slice->generation == pool.generations.rbegin()->first) { countNewest(pool, *slice, true); }
  }
}

std::string Pools::troubleOf(const Id& id, const Pool& pool) {
  if (pool.generations.empty()) { return "no slices"; }
  const auto [generation, there] = *pool.generations.rbegin();
  if (pool.declared.size() != 1 || pool.declared.begin()->first != static_cast<std::int64_t>(there)) {
    return fmt::format("generation {} of pool {} of {} has {} of {} slices", generation, id.second, id.first,
                       there, pool.declared.empty() ? 0 : pool.declared.rbegin()->first);
  }
  if (pool.repeated == 0) { return ""; }
  const auto twice =
      std::find_if(pool.names.begin(), pool.names.end(), [](const auto& n) { return n.second > 1; });
  return fmt::format("pool {} of {} has two devices {}", id.second, id.first, twice->first);
}

std::vector<Pools::OnNode> Pools::of(const model::NodeName& node) const {
  std::vector<OnNode> out;
  const auto pools = by_node_.find(node);
  if (pools == by_node_.end()) { return out; }
  for (const auto& [id, slices] : pools->second) {
    const Pool& pool = pools_.at(id);
    OnNode& here = out.emplace_back(OnNode{id.first, id.second, {}, troubleOf(id, pool)});
    for (const auto& [key, slice] : slices) {
      if (slice->generation != pool.generations.rbegin()->first) { continue; }
      for (const auto& device : slice->devices) {
        if (nodeOf(*slice, device) == node) { here.devices.push_back(&device); }
      }
    }
    std::sort(here.devices.begin(), here.devices.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
  }
  return out;
}

NodeNames Pools::nodes() const {
  NodeNames out;
  for (const auto& [node, pools] : by_node_) { out.insert(node); }
  return out;
}

}  // namespace gs::dra
