// Store: files whose bytes are not what they should be.
#include <algorithm>

#include "base/log.h"
#include "base/mutant.h"
#include "cacherim/store/store.h"
#include "cacherim/store/tree_folders.h"

namespace gs::cacherim {

std::optional<kcache::Digest> Store::treeAfter(const std::optional<kcache::Digest>& image) const {
  const auto next = image ? trees_.upper_bound(*image) : trees_.begin();
  return next == trees_.end() ? std::nullopt : std::optional{next->first};
}

void Store::noteDamage(const kcache::Digest& image, const std::string& path, const StoredFile& file,
                       std::uint64_t inode) {
  if (!hasTree(image) || GS_MUTANT(ForgetsDamage)) { return; }
  noteDamage(image, path);
  const auto content = Disk::look(filesFolder(file), file.key());
  // The tree's own copy may be damaged alone, where a file has too many links.
  if (files_.contains(file.key()) && (!content || content->inode == inode)) {
    damaged_files_.insert(file.key());
  }
}

void Store::noteDamage(const kcache::Digest& image, const std::string& what) {
  if (!hasTree(image) || !damaged_trees_.emplace(image, what).second) { return; }
  log::warn("an image in the store is damaged: it is fetched again",
            {{"image", image.text()}, {"file", what}});
}

bool Store::areDamaged(const StoredFiles& files) const {
  return !damaged_files_.empty() && std::any_of(files.begin(), files.end(), [&](const auto& one) {
    return damaged_files_.contains(one.second.key());
  });
}

void Store::noteLost(const std::set<std::string>& keys) {
  for (const std::string& key : keys) {
    if (files_.contains(key)) { damaged_files_.insert(key); }
  }
}

bool Store::isWhole(const StoredFiles& files) const { return hasAll(files) && !areDamaged(files); }

std::set<std::string> Draft::lost(const StoredFiles& files) const {
  std::set<std::string> out;
  for (const auto& [path, file] : files) {
    const auto is = Disk::look(store_->filesFolder(file), file.key());
    if (!is && is.error().code == Code::NotFound) { out.insert(file.key()); }
  }
  return out;
}

/// Files of the tree that are not those of the new one take their place, one by one, under the pods that have
/// it mounted. What stands in the way of a file or a folder goes.
Status Draft::mend(NewTree& tree) const {
  const Disk& disk = store_->disk_;
  const auto there = disk.folder(store_->at_.trees.get(), std::string{tree.record.image.hex()});
  const auto to = there ? disk.folder(there->get(), "root") : because(there.error());
  const auto from = Disk::openFolder(folder(), "root");
  for (const auto* root : {&from, &to}) {
    if (!*root) { return because(root->error()); }
  }
  tree.is_mended = true;
  for (const LayerRecord& layer : tree.layers) {
    for (const std::string& one : layer.folders) {
      const auto made = makeBelow(disk, to->get(), one + "/.", InTheWay::Goes);
      if (!made) { return because(made.error()); }
    }
  }
  for (const auto& [path, file] : tree.files) {
    if (Status out = mendFile(from->get(), to->get(), path); !out) { return out; }
  }
  return {};
}

Status Draft::mendFile(int from, int to, const std::string& path) const {
  const Disk& disk = store_->disk_;
  const auto good = Disk::below(from, path);
  const auto place = makeBelow(disk, to, path, InTheWay::Goes);
  for (const auto* one : {&good, &place}) {
    if (!*one) { return because(one->error()); }
  }
  const auto should_be = Disk::look(good->folder.get(), good->name);
  if (!should_be) { return because(should_be.error()); }
  const auto is = Disk::look(place->folder.get(), place->name);
  if (is && is->inode == should_be->inode) { return {}; }
  if (is && is->isFolder()) {
    if (Status gone = disk.removeAll(place->folder.get(), place->name); !gone) { return gone; }
  }
  return disk.rename(good->folder.get(), good->name, place->folder.get(), place->name);
}

/// Its files are good: its record, and what is known of it.
Status Store::endMend(const NewTree& tree, const Draft& draft) {
  const kcache::Digest& image = tree.record.image;
  KnownTree& known = trees_.at(image);
  const auto old = known.counts ? readTree(image) : fail(Code::NotFound, "nothing of it counts");
  const auto there = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!there) { return because(there.error()); }
  if (Status out = disk_.rename(draft.folder(), "record.json", there->get(), "record.json"); !out) {
    return out;
  }
  tree_folders_ += tree.record.folders - known.folders;
  known.folders = tree.record.folders;
  known.counts = true;
  note(tree.record.extras);  // the caller drops what the new one counted
  if (old) { static_cast<void>(forget(old->extras)); }
  damaged_trees_.erase(image);
  log::info("an image in the store is whole again", {{"image", image.text()}});
  return {};
}

}  // namespace gs::cacherim
