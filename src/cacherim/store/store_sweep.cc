// Store: what goes when nobody needs it.
#include <algorithm>

#include "cacherim/store/store.h"

namespace gs::cacherim {
namespace {

/// By time, oldest first.
std::vector<std::pair<Wall, kcache::Digest>> byAge(const std::map<kcache::Digest, Wall>& all,
                                                   const std::set<kcache::Digest>& but) {
  std::vector<std::pair<Wall, kcache::Digest>> out;
  for (const auto& [digest, time] : all) {
    if (!but.contains(digest)) { out.emplace_back(time, digest); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

/// First nobody finds it, then it is not complete, then it is gone.
Status Store::dropTree(const kcache::Digest& image, Swept& swept) {
  const auto record = tree(image);
  if (!record) { return because(record.error()); }
  if (Status out = unplaceAll(image); !out) { return out; }
  const std::string aside = newName();
  if (Status out = disk_.rename(at_.trees.get(), std::string{image.hex()}, at_.tmp.get(), aside); !out) {
    return out;
  }
  trees_.erase(image);
  swept.trees.push_back(image);
  if (Status out = disk_.removeAll(at_.tmp.get(), aside); !out) { return out; }
  return forget(record->extras);
}

Status Store::dropLayer(const kcache::Digest& layer, Swept& swept) {
  const auto record = this->layer(layer);
  if (!record) { return because(record.error()); }
  if (Status out = disk_.remove(at_.layers.get(), std::string{layer.hex()} + ".json"); !out) { return out; }
  layers_.erase(layer);
  swept.layers.push_back(layer);
  return forget(record->files);
}

Result<Swept> Store::sweep(const std::set<kcache::Digest>& in_use, const SweepTerms& terms, Wall now) {
  Swept out;
  const std::uint64_t before = bytes_;
  const auto isOver = [&] { return terms.quota > 0 && bytes_ > terms.quota; };
  // Layers that are needed, and how often: a tree that goes takes those with it that no other has.
  std::map<kcache::Digest, int> needed;
  for (const auto& [image, used] : trees_) {
    const auto record = tree(image);
    if (!record) { return because(record.error()); }
    for (const kcache::Digest& layer : record->layers) { ++needed[layer]; }
  }
  for (const auto& [published, layer] : byAge(layers_, in_use)) {
    if (needed[layer] > 0 || published + terms.layer_grace > now) { continue; }
    if (Status dropped = dropLayer(layer, out); !dropped) { return because(dropped.error()); }
  }
  for (const auto& [used, image] : byAge(trees_, in_use)) {
    const bool old = terms.most_age > Duration::zero() && used + terms.most_age < now;
    if (!old && !isOver()) { continue; }
    const auto record = tree(image);
    if (!record) { return because(record.error()); }
    if (Status dropped = dropTree(image, out); !dropped) { return because(dropped.error()); }
    for (const kcache::Digest& layer : record->layers) {
      if (--needed[layer] > 0 || in_use.contains(layer)) { continue; }
      if (Status dropped = dropLayer(layer, out); !dropped) { return because(dropped.error()); }
    }
  }
  out.bytes_freed = before - bytes_;
  out.over_quota = isOver();
  return out;
}

}  // namespace gs::cacherim
