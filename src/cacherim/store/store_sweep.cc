// Store: what goes when nobody needs it.
#include <algorithm>
#include <optional>

#include "base/log.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {
namespace {

/// By time, oldest first. `when` of one that all has.
template <class All, class When>
std::vector<std::pair<Wall, kcache::Digest>> byAge(const All& all, const std::set<kcache::Digest>& but,
                                                   const When& when) {
  std::vector<std::pair<Wall, kcache::Digest>> out;
  for (const auto& [digest, one] : all) {
    if (!but.contains(digest)) { out.emplace_back(when(one), digest); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// It stays, and keeps no other from going.
template <class Record>
bool mustWait(const Result<Record>& record, const kcache::Digest& which) {
  if (!mayBeRead(record)) { return false; }
  log::warn("the store cannot read what it has, and leaves it",
            {{"digest", which.text()}, {"why", record.error().message}});
  return true;
}

}  // namespace

/// First nobody finds it, then it is not complete, then it is gone. What a spoilt record named counts until
/// recount().
Status Store::dropTree(const kcache::Digest& image, const Result<TreeRecord>& record, Swept& swept) {
  if (Status out = unplaceAll(image); !out) { return out; }
  const std::string aside = newName();
  Status moved = disk_.rename(at_.trees.get(), std::string{image.hex()}, at_.tmp.get(), aside);
  if (!moved && moved.error().code != Code::NotFound) { return moved; }
  const KnownTree known = trees_.at(image);
  trees_.erase(image);
  tree_folders_ -= known.folders;
  damaged_trees_.erase(image);
  swept.trees.push_back(image);
  if (Status safe = disk_.syncFolder(at_.trees.get()); !safe) { return safe; }
  const Status removed = disk_.removeAll(at_.tmp.get(), aside);  // else it goes when the store is opened
  must_recount_ = must_recount_ || (known.counts && !record);
  const Status forgot = record && known.counts ? forget(record->extras) : Status{};
  return removed ? forgot : removed;
}

Status Store::dropLayer(const kcache::Digest& layer, Swept& swept) {
  const auto record = this->layer(layer);
  if (mustWait(record, layer)) { return {}; }
  if (Status out = disk_.removeAll(at_.layers.get(), layerRecordName(layer)); !out) { return out; }
  layers_.erase(layer);
  swept.layers.push_back(layer);
  // Before its files go: a record that a power failure brings back must not find others under their names.
  if (Status safe = disk_.syncFolder(at_.layers.get()); !safe) { return safe; }
  must_recount_ = must_recount_ || !record;
  return record ? forget(record->files) : Status{};
}

/// Layers that trees need, and how often; nullopt: not all trees say it now. One that cannot say it any more
/// is damaged, and needs what it needed when it could.
Store::LayerNeeds Store::neededLayers() {
  std::map<kcache::Digest, int> out;
  for (auto& [image, known] : trees_) {
    const auto record = tree(image);
    if (mustWait(record, image)) { return std::nullopt; }
    if (record) {
      known.layers = record->layers;
    } else {
      noteDamage(image, std::string{kOfItsRecord} + record.error().message);
    }
    for (const kcache::Digest& layer : known.layers) { ++out[layer]; }
  }
  return out;
}

bool Store::isOver(const SweepTerms& terms) const {
  return (terms.quota > 0 && bytes_ > terms.quota) || (terms.inode_quota > 0 && inodes() > terms.inode_quota);
}

Status Store::sweepLayers(const std::set<kcache::Digest>& in_use, const SweepTerms& terms, Wall now,
                          LayerNeeds& needed, Swept& swept) {
  for (const auto& [published, layer] : byAge(layers_, in_use, [](Wall at) { return at; })) {
    const bool waits = published + terms.layer_grace > now && !isOver(terms);
    if (!needed || (*needed)[layer] > 0 || waits) { continue; }
    if (Status dropped = dropLayer(layer, swept); !dropped) { return dropped; }
  }
  return {};
}

/// A tree that goes takes those layers with it that no other has.
Status Store::sweepTrees(const std::set<kcache::Digest>& in_use, LayerNeeds& needed, Swept& swept,
                         const std::function<bool(const kcache::Digest& image, Wall used)>& goes) {
  for (const auto& [used, image] : byAge(trees_, in_use, [](const KnownTree& one) { return one.used; })) {
    if (!goes(image, used)) { continue; }
    const auto record = tree(image);
    if (mustWait(record, image)) { continue; }
    const std::vector<kcache::Digest> layers = trees_.at(image).layers;  // as neededLayers() counted them
    if (Status dropped = dropTree(image, record, swept); !dropped) { return dropped; }
    if (!needed) { continue; }
    for (const kcache::Digest& layer : layers) {
      if (--(*needed)[layer] > 0 || in_use.contains(layer)) { continue; }
      if (Status dropped = dropLayer(layer, swept); !dropped) { return dropped; }
    }
  }
  return {};
}

/// What goes in any case goes first, and what it leaves is counted, so that it pushes no other out.
Result<Swept> Store::sweep(const std::set<kcache::Digest>& in_use, const SweepTerms& terms, Wall now) {
  Swept out;
  const std::uint64_t bytes_before = bytes_;
  // Nobody needs it: it is fetched again whole. What cannot be read for the first time may be read the next,
  // and goes before others where something has to.
  const std::map<kcache::Digest, std::string> before = damaged_trees_;
  const auto goes_anyway = [&](const kcache::Digest& image, Wall used) {
    const auto known = damaged_trees_.find(image);
    const bool is_unread = known != damaged_trees_.end() && known->second.starts_with(kOfItsRecord);
    const bool is_damaged =
        is_unread ? !tree(image) && (before.contains(image) || isOver(terms)) : known != damaged_trees_.end();
    return is_damaged || (terms.most_age > Duration::zero() && used + terms.most_age < now);
  };
  Status done = healFolders();
  auto needed = neededLayers();
  if (done) { done = sweepLayers(in_use, terms, now, needed, out); }
  if (done) { done = sweepTrees(in_use, needed, out, goes_anyway); }
  if (done) { done = recount(); }
  const auto isTooMuch = [&](const kcache::Digest& /*image*/, Wall /*used*/) { return isOver(terms); };
  if (done) { done = sweepTrees(in_use, needed, out, isTooMuch); }
  if (done) { done = recount(); }
  if (!done) { return because(done.error()); }
  out.bytes_freed = bytes_before - bytes_;
  out.over_quota = isOver(terms);
  return out;
}

}  // namespace gs::cacherim
