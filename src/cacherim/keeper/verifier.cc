#include "cacherim/keeper/verifier.h"

#include <algorithm>
#include <utility>

namespace gs::cacherim {

std::uint64_t Verifier::step(std::uint64_t bytes) {
  std::uint64_t read = 0;
  if (std::exchange(is_over_, false)) { return 0; }
  while (read < bytes) {
    if (!tree_) {
      if (!nextTree()) {
        is_over_ = read > 0;
        return read;
      }
      read += kEntry * tree_->files.size();
    }
    if (tree_->next == tree_->files.end()) {
      tree_.reset();
      continue;
    }
    if (!file_) {
      read += kLook;
      if (!beginFile()) { ++tree_->next; }
      continue;
    }
    if (const std::uint64_t some = readSome(); some > 0) {
      read += some;
      verified_ += some;
      continue;
    }
    endFile();
    ++tree_->next;
  }
  return read;
}

/// False: none is left in this pass.
bool Verifier::nextTree() {
  std::optional<Draft> draft;  // of which only its way to the store is needed
  {
    const MutexLock lock{store_.mutex};
    last_ = store_.store.treeAfter(last_);
    if (!last_) {
      good_.clear();
      return false;
    }
    auto made = store_.store.draft();
    if (!made) { return false; }  // the disk says no: another time
    draft.emplace(*std::move(made));
  }
  auto files = draft->filesOf(*last_);
  auto root = draft->rootOf(*last_);
  if (files && root) {
    tree_.emplace(Tree{*last_, *std::move(root), *std::move(files), {}});
    tree_->next = tree_->files.begin();
    return true;
  }
  const Error& why = files ? root.error() : files.error();
  tree_.emplace(Tree{*last_, {}, {}, {}});
  tree_->next = tree_->files.end();
  const MutexLock lock{store_.mutex};
  // One that went meanwhile is not noted; what the disk does not give now may be given later.
  if (why.code != Code::Unavailable) { store_.store.noteDamage(*last_, "its record: " + why.message); }
  return true;
}

bool Verifier::beginFile() {
  const std::string& path = tree_->next->first;
  const auto place = Disk::below(tree_->root.get(), path);
  auto fd = place ? Disk::openFile(place->folder.get(), place->name) : because(place.error());
  const auto is = fd ? Disk::lookAt(fd->get(), path) : because(fd.error());
  if (!is) {
    if (is.error().code != Code::Unavailable) { damaged(0); }
    return false;
  }
  if (good_.contains(is->inode)) { return false; }
  is_broken_ = false;
  file_.emplace(File{*std::move(fd), is->inode, is->size, {}});
  return true;
}

std::uint64_t Verifier::readSome() {
  const auto some = Disk::readSome(file_->fd.get(), tree_->next->first, piece_);
  if (!some) {
    is_broken_ = true;
    return 0;
  }
  file_->hash.update(std::string_view{piece_}.substr(0, *some));
  return *some;
}

void Verifier::endFile() {
  const StoredFile& should_be = tree_->next->second;
  const bool is_good = !is_broken_ && file_->size == should_be.size && file_->hash.hex() == should_be.hex;
  const std::uint64_t inode = std::exchange(file_, std::nullopt)->inode;
  if (is_good) {
    good_.insert(inode);
  } else {
    damaged(inode);
  }
}

void Verifier::damaged(std::uint64_t inode) {
  const MutexLock lock{store_.mutex};
  store_.store.noteDamage(tree_->image, tree_->next->first, tree_->next->second, inode);
}

}  // namespace gs::cacherim
