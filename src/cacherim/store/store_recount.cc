// Store: how often each file is named, where a record that nobody can read any more was counted.
#include "cacherim/store/store.h"

namespace gs::cacherim {

/// What all records name, and those that cannot say it any more; nullopt: the disk does not give one now.
std::optional<Store::Named> Store::named() const {
  Named out;
  const auto count = [&](const StoredFiles& files) {
    for (const auto& [path, file] : files) { ++out.files[file.key()]; }
  };
  for (const auto& [digest, published] : layers_) {
    const auto record = layer(digest);
    if (mayBeRead(record)) { return std::nullopt; }
    if (record) {
      count(record->files);
    } else {
      out.spoilt_layers.push_back(digest);
    }
  }
  for (const auto& [image, known] : trees_) {
    if (!known.counts) { continue; }
    const auto record = readTree(image);
    if (mayBeRead(record)) { return std::nullopt; }
    if (record) {
      count(record->extras);
    } else {
      out.spoilt_trees.push_back(image);
    }
  }
  return out;
}

/// Files that no record names go. A layer whose record is spoilt is none any more; of such a tree nothing
/// counts until it is mended. What lies in a draft may be counted, and no record names it yet: so there must
/// be none.
Status Store::recount() {
  if (!must_recount_ || *kept_drafts_ > 0) { return {}; }
  const auto now = named();
  if (!now) { return {}; }
  for (const kcache::Digest& digest : now->spoilt_layers) {
    if (Status out = disk_.removeAll(at_.layers.get(), layerRecordName(digest)); !out) { return out; }
    layers_.erase(digest);
  }
  for (const kcache::Digest& image : now->spoilt_trees) { trees_.at(image).counts = false; }
  for (auto& [key, known] : files_) {
    const auto count = now->files.find(key);
    known.records = count == now->files.end() ? 0 : count->second;
  }
  must_recount_ = false;
  return dropUnneeded();
}

}  // namespace gs::cacherim
