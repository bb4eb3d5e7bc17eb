// Store: files whose bytes are not what they should be.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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
  const auto content = lookAtFile(file);
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

bool Store::isLost(const StoredFile& file, bool by_bytes) const {
  const auto is = lookAtFile(file);
  if (!is) { return is.error().code == Code::NotFound; }
  if (!is->isFile() || is->size != file.size) { return true; }
  if (!by_bytes) { return false; }
  const auto folder = filesFolder(file.key());
  const auto hex = folder ? disk_.hash(folder->get(), file.key()) : because(folder.error());
  return hex ? *hex != file.hex : hex.error().code != Code::Unavailable;
}

std::set<std::string> Draft::lost(const StoredFiles& files, Looks looks) const {
  std::set<std::string> out;
  std::set<std::string> looked_at;
  for (const auto& [path, file] : files) {
    const bool is_new = looked_at.insert(file.key()).second;
    if (is_new && store_->isLost(file, looks == Looks::AtBytes)) { out.insert(file.key()); }
  }
  return out;
}

/// Files of the tree that are not those of the new one take their place, one by one, under the pods that have
/// it mounted. What stands in the way of a file or a folder goes.
Status Draft::mend(NewTree& tree) const {
  const Disk& disk = store_->disk_;
  const auto there = Disk::openFolder(store_->at_.trees.get(), std::string{tree.record.image.hex()});
  tree.is_instead = !there && there.error().code == Code::NotFound;
  if (tree.is_instead) { return {}; }
  const auto to = there ? disk.ownFolder(there->get(), "root") : because(there.error());
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
  return disk.takePlace(good->folder.get(), good->name, place->folder.get(), place->name);
}

/// Its files are good: its record, or all of it, and what is known of it.
Status Store::endMend(const NewTree& tree, Draft& draft) {
  const kcache::Digest& image = tree.record.image;
  const std::string name{image.hex()};
  KnownTree& known = trees_.at(image);
  const auto old = known.counts ? readTree(image) : fail(Code::NotFound, "nothing of it counts");
  if (tree.is_instead) {
    if (Status out = disk_.takePlace(at_.tmp.get(), draft.name_, at_.trees.get(), name); !out) { return out; }
    draft.name_.clear();
  } else {
    const auto there = Disk::openFolder(at_.trees.get(), name);
    if (!there) { return because(there.error()); }
    Status out = disk_.takePlace(draft.folder(), kTreeRecord, there->get(), kTreeRecord);
    if (!out) { return out; }
  }
  must_recount_ = must_recount_ || (known.counts && !old);
  tree_folders_ += tree.record.folders - known.folders;
  known.folders = tree.record.folders;
  known.layers = tree.record.layers;
  known.counts = true;
  note(tree.record.extras);  // the caller drops what the new one counted
  if (old) { static_cast<void>(forget(old->extras)); }
  damaged_trees_.erase(image);
  log::info("an image in the store is whole again", {{"image", image.text()}});
  return {};
}

/// One that somebody took away, or put elsewhere, is made again. It keeps its descriptor: who is at a draft,
/// without a turn, uses the one or the other.
Status Store::healFolders() {
  for (const auto& [name, fd] : at_.below()) {
    const auto named = Disk::look(at_.root.get(), name);
    const auto open = Disk::lookAt(fd->get(), name);
    if (!open) { return because(open.error()); }
    if (named && named->isFolder() && named->inode == open->inode) { continue; }
    log::warn("a folder of the store is not there any more: it is made again", {{"folder", name}});
    const auto made = openOwn(disk_, at_.root.get(), name);
    if (!made) { return because(made.error()); }
    if (::dup3(made->get(), fd->get(), O_CLOEXEC) < 0) {
      return fail(Code::Unavailable, fmt::format("dup3 {}: {}", name, std::strerror(errno)));
    }
  }
  return {};
}

}  // namespace gs::cacherim
