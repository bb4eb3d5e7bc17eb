// Store: files whose bytes are not what they should be.
#include <algorithm>

#include "base/log.h"
#include "base/mutant.h"
#include "cacherim/store/store.h"

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

/// Files of the tree that are not those of the new one take their place, one by one, under the pods that have
/// it mounted; its record last.
Status Store::mend(const NewTree& tree, const Draft& draft) {
  const kcache::Digest& image = tree.record.image;
  const auto old = readTree(image);
  const auto there = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  const auto from = Disk::openFolder(draft.folder(), "root");
  const auto to = there ? Disk::openFolder(there->get(), "root") : because(there.error());
  for (const auto* root : {&from, &to}) {
    if (!*root) { return because(root->error()); }
  }
  for (const auto& [path, file] : tree.files) {
    const auto good = Disk::below(from->get(), path);
    const auto place = Disk::below(to->get(), path);
    for (const auto* one : {&good, &place}) {
      if (!*one) { return because(one->error()); }
    }
    const auto is = Disk::look(place->folder.get(), place->name);
    const auto should_be = Disk::look(good->folder.get(), good->name);
    if (!should_be) { return because(should_be.error()); }
    if (is && is->inode == should_be->inode) { continue; }
    if (Status out = disk_.rename(good->folder.get(), good->name, place->folder.get(), place->name); !out) {
      return out;
    }
  }
  if (Status out = disk_.rename(draft.folder(), "record.json", there->get(), "record.json"); !out) {
    return out;
  }
  if (old) { tree_folders_ += tree.record.folders - old->folders; }  // one of an older version has none
  note(tree.record.extras);  // the caller drops what the new one counted
  if (old) { static_cast<void>(forget(old->extras)); }
  damaged_trees_.erase(image);
  log::info("an image in the store is whole again", {{"image", image.text()}});
  return {};
}

}  // namespace gs::cacherim
