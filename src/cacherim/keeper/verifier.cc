#include "cacherim/keeper/verifier.h"

#include <algorithm>
#include <utility>

namespace gs::cacherim {
namespace {

Disk diskOfStore(SharedStore& shared) {
  const MutexLock lock{shared.mutex};
  return shared.store.disk();
}

}  // namespace

Verifier::Verifier(SharedStore& store) : store_{store}, disk_{diskOfStore(store)} {}

std::uint64_t Verifier::step(std::uint64_t bytes) {
  std::uint64_t read = 0;
  if (std::exchange(is_over_, false)) { return 0; }
  while (read < bytes) {
    if (!tree_) {
      if (!nextTree()) {
        is_over_ = read > 0;
        return read;
      }
      read += kEntry * (tree_->content.files.size() + tree_->content.folders.size());
    }
    if (tree_->next_folder != tree_->content.folders.end()) {
      read += kLook;
      lookAtFolder();
      ++tree_->next_folder;
      continue;
    }
    if (tree_->next == tree_->content.files.end()) {
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
      read_.clear();
      return false;
    }
    auto made = store_.store.draft();
    if (!made) { return false; }  // the disk says no: another time
    draft.emplace(*std::move(made));
  }
  auto content = draft->contentOf(*last_);
  auto root = draft->rootOf(*last_);
  if (content && root) {
    takeTree(*std::move(root), *std::move(content));
    return true;
  }
  const Error why = content ? root.error() : content.error();
  takeTree({}, {});
  const MutexLock lock{store_.mutex};
  // One that went meanwhile is not noted; what the disk does not give now may be given later.
  if (why.code != Code::Unavailable) { store_.store.noteDamage(*last_, "its record: " + why.message); }
  return true;
}

void Verifier::takeTree(Fd root, TreeContent content) {
  tree_.emplace(Tree{*last_, std::move(root), std::move(content), {}, {}});
  tree_->next_folder = tree_->content.folders.begin();
  tree_->next = tree_->content.files.begin();
}

void Verifier::lookAtFolder() {
  const std::string& path = *tree_->next_folder;
  const auto place = Disk::below(tree_->root.get(), path);
  const auto is = place ? Disk::look(place->folder.get(), place->name) : because(place.error());
  if (is ? is->isFolder() : is.error().code == Code::Unavailable) { return; }
  const MutexLock lock{store_.mutex};
  store_.store.noteDamage(tree_->image, path);
}

bool Verifier::beginFile() {
  const std::string& path = tree_->next->first;
  const auto place = Disk::below(tree_->root.get(), path);
  const auto is = place ? Disk::look(place->folder.get(), place->name) : because(place.error());
  if (is) {
    const auto known = read_.find(is->inode);
    if (known != read_.end() && known->second == halfOf(tree_->next->second.hex)) { return false; }
  }
  auto fd = is ? disk_.openFile(place->folder.get(), place->name) : because(is.error());
  const auto opened = fd ? Disk::lookAt(fd->get(), path) : because(fd.error());
  if (!opened) {
    if (opened.error().code != Code::Unavailable) { damaged(is ? is->inode : 0); }
    return false;
  }
  is_broken_ = false;
  file_.emplace(File{*std::move(fd), opened->inode, opened->size, {}});
  return true;
}

std::uint64_t Verifier::readSome() {
  const auto some = disk_.readSome(file_->fd.get(), tree_->next->first, piece_);
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
    read_.insert_or_assign(inode, halfOf(should_be.hex));
  } else {
    damaged(inode);
  }
}

Verifier::Half Verifier::halfOf(const std::string& hex) {
  Half out{};
  std::copy_n(hex.begin(), std::min(hex.size(), out.size()), out.begin());
  return out;
}

void Verifier::damaged(std::uint64_t inode) {
  const MutexLock lock{store_.mutex};
  store_.store.noteDamage(tree_->image, tree_->next->first, tree_->next->second, inode);
}

}  // namespace gs::cacherim
