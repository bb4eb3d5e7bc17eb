#include "cacherim/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/mutant.h"

namespace gs::cacherim {
// ---- Drafts

Draft::Draft(const Store& store, std::string name, std::string path, Fd folder)
    : store_{&store}, name_{std::move(name)}, path_{std::move(path)}, folder_{std::move(folder)} {}

Draft::Draft(Draft&& other) noexcept
    : store_{std::exchange(other.store_, nullptr)},
      name_{std::move(other.name_)},
      path_{std::move(other.path_)},
      folder_{std::move(other.folder_)},
      is_kept_{std::exchange(other.is_kept_, false)} {}

Draft::~Draft() {
  if (store_ == nullptr) { return; }
  // What stays after an error goes when the store is opened again.
  if (!name_.empty()) { static_cast<void>(store_->disk_.removeAll(store_->at_.tmp.get(), name_)); }
  if (is_kept_) { --*store_->kept_drafts_; }
}

Result<Draft> Store::draft() {
  if (Status whole = healFolders(); !whole) { return because(whole.error()); }
  const std::string name = newName();
  auto folder = disk_.folder(at_.tmp.get(), name);
  if (!folder) { return because(folder.error()); }
  return Draft{*this, name, root_ + "/tmp/" + name, std::move(*folder)};
}

// ---- Opening

Store::Store(std::string root, Disk disk, Folders folders)
    : root_{std::move(root)}, disk_{std::move(disk)}, at_{std::move(folders)} {}

std::array<std::pair<const char*, Fd*>, 5> Store::Folders::below() {
  return {{{"tmp", &tmp}, {"files", &files}, {"layers", &layers}, {"trees", &trees}, {"caches", &caches}}};
}

/// Made if it is not there, or a file is. (A link is an error: somebody may have put it there who wanted the
/// folder elsewhere.) In tmp/ and trees/ are files that anybody may change who gets to them.
Result<Fd> Store::openOwn(const Disk& disk, int root, const std::string& name) {
  const auto there = Disk::look(root, name);
  auto out = there && there->isFile() ? disk.ownFolder(root, name) : disk.folder(root, name);
  if (!out || (name != "tmp" && name != "trees")) { return out; }
  Status closed = disk.setMode(root, name, 0700);
  return closed ? std::move(out) : because(closed.error());
}

Result<Store::Folders> Store::openFolders(const std::string& root, const Disk& disk) {
  if (!root.starts_with('/')) {
    return fail(Code::Invalid, fmt::format("the store's folder '{}' is no absolute path", root));
  }
  Folders out;
  std::error_code error;  // said by the open
  std::filesystem::create_directories(root, error);
  out.root =
      Fd{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};  // may be a link: who gave it knows
  if (!out.root.valid()) {
    return fail(Code::Unavailable, fmt::format("cannot open {}: {}", root, std::strerror(errno)));
  }
  for (const auto& [name, fd] : out.below()) {
    auto folder = openOwn(disk, out.root.get(), name);
    if (!folder) { return because(folder.error()); }
    *fd = std::move(*folder);
  }
  out.lock = Fd{::openat(out.root.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!out.lock.valid()) {
    return fail(Code::Unavailable, fmt::format("cannot write {}/lock: {}", root, std::strerror(errno)));
  }
  if (::flock(out.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::Conflict,
                fmt::format("{} belongs to another agent that runs (it holds {}/lock)", root, root));
  }
  return out;
}

Result<Store> Store::open(const std::string& root, Disk disk) {
  auto folders = openFolders(root, disk);
  if (!folders) { return because(folders.error()); }
  Store out{root, std::move(disk), std::move(*folders)};
  if (Status repaired = out.repair(); !repaired) { return because(repaired.error()); }
  return out;
}

// ---- Files

/// Opened each time: who takes it away does not keep the next one away.
Result<Fd> Store::filesFolder(const std::string& key) const {
  return Disk::openFolder(at_.files.get(), key.substr(0, 2));
}

Result<Disk::Entry> Store::lookAtFile(const StoredFile& file) const {
  const auto folder = filesFolder(file.key());
  return folder ? Disk::look(folder->get(), file.key()) : because(folder.error());
}

void Store::note(const StoredFiles& files) {
  for (const auto& [path, file] : files) { ++files_.at(file.key()).records; }
}

Status Store::dropFile(const std::string& key) {
  const auto it = files_.find(key);
  if (it == files_.end() || it->second.records > 0) { return {}; }
  if (const auto folder = filesFolder(key)) {
    if (Status out = disk_.removeAll(folder->get(), key); !out) { return out; }
  } else if (folder.error().code != Code::NotFound) {
    return because(folder.error());
  }
  bytes_ -= it->second.size;
  damaged_files_.erase(key);
  files_.erase(it);
  return {};
}

/// One record less names these.
Status Store::forget(const StoredFiles& files, StoredFiles::const_iterator end) {
  for (auto it = files.begin(); it != end; ++it) {
    const auto known = files_.find(it->second.key());
    if (known != files_.end() && known->second.records > 0) { --known->second.records; }
  }
  for (auto it = files.begin(); it != end; ++it) {
    if (Status out = dropFile(it->second.key()); !out) { return out; }
  }
  return {};
}

/// Takes it out of a draft's folder, unless there is a good one like it.
Status Store::keep(int folder, const StoredFile& file) {
  const std::string key = file.key();
  const bool is_there = files_.contains(key);
  if (is_there && (!damaged_files_.contains(key) || GS_MUTANT(KeepsDamage))) {
    counters_.bytes_shared += file.size;
    return disk_.remove(folder, key);
  }
  const auto to = disk_.ownFolder(at_.files.get(), key.substr(0, 2));
  if (!to) { return because(to.error()); }
  if (Status out = disk_.takePlace(folder, key, to->get(), key); !out) { return out; }
  damaged_files_.erase(key);
  counters_.bytes_new += file.size;
  if (is_there) { return {}; }
  files_.emplace(key, Known{.size = file.size});
  bytes_ += file.size;
  return {};
}

// ---- Layers

/// Each counts at once: whoever has the next turn may take others away.
Status Store::keepSome(const Draft& draft, const StoredFiles& files, StoredFiles::const_iterator& next) {
  if (!std::exchange(draft.is_kept_, true)) { ++*kept_drafts_; }
  for (std::size_t left = kMostAtOnce; left > 0 && next != files.end(); --left, ++next) {
    if (Status out = keep(draft.folder(), next->second); !out) { return out; }
    ++files_.at(next->second.key()).records;
  }
  return {};
}

Status Store::finishLayer(const LayerRecord& record, const Draft& draft, Wall now) {
  // Over one that is there: somebody was faster, or something of it was damaged, its record perhaps.
  Status out = disk_.takePlace(draft.folder(), kLayerRecord, at_.layers.get(), layerRecordName(record.layer));
  const bool is_new = out && layers_.emplace(record.layer, now).second;
  if (!is_new) { dropKept(record.files, record.files.end()); }
  return out;
}

void Store::dropKept(const StoredFiles& files, StoredFiles::const_iterator end) {
  static_cast<void>(forget(files, end));
}

Status Store::publishLayer(const Draft& draft, const LayerRecord& record, Wall now) {
  if (hasLayer(record.layer) && !areDamaged(record.files)) { return {}; }
  return cacherim::publishLayer(draft, record, now, [this](const StoreStep& step) { return step(*this); });
}

Result<LayerRecord> Store::layer(const kcache::Digest& layer) const {
  const auto text = disk_.readAll(at_.layers.get(), layerRecordName(layer), kMostOfARecord);
  if (!text) { return because(text.error()); }
  auto out = parseLayer(*text);
  if (out && out->layer != layer) {
    return fail(Code::Invalid, layerRecordName(layer) + " is the record of another layer");
  }
  return out;
}

// ---- Trees

Status Store::finishTree(const NewTree& tree, Draft& draft, Wall now) {
  const kcache::Digest& image = tree.record.image;
  const auto drop = [&] { dropKept(tree.record.extras, tree.record.extras.end()); };
  if (hasTree(image)) {  // somebody was faster, or it was damaged
    const bool is_better = tree.is_mended || (tree.is_instead && damaged_trees_.contains(image));
    const Status ended = is_better ? endMend(tree, draft) : Status{};
    drop();
    return ended ? touch(image, now) : ended;
  }
  if (tree.is_mended) {  // and then taken away, with what was put into it
    drop();
    static_cast<void>(disk_.removeAll(at_.trees.get(), std::string{image.hex()}));
    return fail(Code::Unavailable, image.text() + " was taken away while it was mended");
  }
  Status out = disk_.rename(at_.tmp.get(), draft.name_, at_.trees.get(), std::string{image.hex()});
  if (!out) {
    drop();
    return out;
  }
  draft.name_.clear();
  trees_.emplace(image, KnownTree{now, tree.record.folders, true, tree.record.layers});
  tree_folders_ += tree.record.folders;
  counters_.links += tree.links;
  counters_.bytes_copied += tree.bytes_copied;
  return {};
}

Status Store::publishTree(const TreePlan& plan, const TreeExtras& extras, Wall now) {
  if (hasTree(plan.image) && !damaged_trees_.contains(plan.image)) { return touch(plan.image, now); }
  return cacherim::publishTree(plan, extras, now, [this](const StoreStep& step) { return step(*this); });
}

std::uint64_t Store::inodes() const {
  constexpr std::uint64_t kOfATree = 3;  // its folder, its root, its record
  return files_.size() + layers_.size() + kOfATree * trees_.size() + tree_folders_;
}

std::string Store::treeRoot(const kcache::Digest& image) const { return treeRootBelow(root_, image); }

Result<TreeRecord> Store::tree(const kcache::Digest& image) const {
  if (hasTree(image)) { return readTree(image); }
  return fail(Code::NotFound, fmt::format("the store has no tree of {}", image.text()));
}

/// From the disk alone.
Result<TreeRecord> Store::readTree(const kcache::Digest& image) const {
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!folder) { return because(folder.error()); }
  const auto text = disk_.readAll(folder->get(), kTreeRecord, kMostOfARecord);
  if (!text) { return because(text.error()); }
  auto out = parseTree(*text);
  if (out && out->image != image) { return fail(Code::Invalid, "the record is that of another image"); }
  return out;
}

Status Store::touch(const kcache::Digest& image, Wall now) {
  const auto it = trees_.find(image);
  if (it == trees_.end()) {
    return fail(Code::NotFound, fmt::format("the store has no tree of {}", image.text()));
  }
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!folder) { return because(folder.error()); }
  Status out = disk_.setTime(folder->get(), kTreeRecord, now);
  if (out) { it->second.used = now; }
  return out;
}

}  // namespace gs::cacherim
