#include "cacherim/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hash.h"

namespace gs::cacherim {
namespace {

constexpr mode_t kReadable = 0444;
constexpr mode_t kExecutable = 0555;
constexpr std::size_t kMostOfARecord = std::size_t{256} << 20;

mode_t modeOf(const StoredFile& file) { return file.executable ? kExecutable : kReadable; }

std::string recordName(const kcache::Digest& layer) { return std::string{layer.hex()} + ".json"; }

/// A pod's user, whoever that is, may make files beside those of the tree: in the pod's own layer above it
/// (nobody on this machine gets here, see trees/).
constexpr mode_t kAnybodys = 0777;

Result<Fd> treeFolder(const Disk& disk, int at, const std::string& name) {
  if (auto there = Disk::openFolder(at, name)) { return there; }
  Status made = disk.makeFolder(at, name);
  if (made) { made = disk.setMode(at, name, kAnybodys); }
  if (!made) { return because(made.error()); }
  return Disk::openFolder(at, name);
}

/// The folder of this path, "" or with '/' behind it, below `root`.
Result<Fd> folderBelow(int root, std::string_view path) {
  auto out = Disk::openFolder(root, ".");
  for (; out && !path.empty(); path.remove_prefix(path.find('/') + 1)) {
    out = Disk::openFolder(out->get(), std::string{path.substr(0, path.find('/'))});
  }
  return out;
}

/// The folder of `path` below `root`, made where it is missing, and the last part of it.
struct FolderOf {
  Fd folder;
  std::string name;
};
Result<FolderOf> folderOf(const Disk& disk, int root, const std::string& path) {
  auto folder = Disk::openFolder(root, ".");
  if (!folder) { return because(folder.error()); }
  FolderOf out{std::move(*folder), path};
  for (auto slash = out.name.find('/'); slash != std::string::npos; slash = out.name.find('/')) {
    auto next = treeFolder(disk, out.folder.get(), out.name.substr(0, slash));
    if (!next) { return because(next.error()); }
    out.folder = std::move(*next);
    out.name.erase(0, slash + 1);
  }
  return out;
}

}  // namespace

// ---- Drafts

Draft::Draft(Draft&& other) noexcept
    : store_{std::exchange(other.store_, nullptr)},
      name_{std::move(other.name_)},
      path_{std::move(other.path_)},
      folder_{std::move(other.folder_)} {}

Draft::~Draft() {
  // What stays after an error goes when the store is opened again.
  if (store_ != nullptr && !name_.empty()) {
    static_cast<void>(store_->disk_.removeAll(store_->at_.tmp.get(), name_));
  }
}

Result<Draft> Store::draft() {
  const std::string name = newName();
  auto folder = disk_.folder(at_.tmp.get(), name);
  if (!folder) { return because(folder.error()); }
  return Draft{*this, name, root_ + "/tmp/" + name, std::move(*folder)};
}

// ---- Opening

Store::Store(std::string root, Disk disk, Folders folders)
    : root_{std::move(root)}, disk_{std::move(disk)}, at_{std::move(folders)} {}

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
  const std::pair<const char*, Fd*> all[] = {{"tmp", &out.tmp},
                                             {"files", &out.files},
                                             {"layers", &out.layers},
                                             {"trees", &out.trees},
                                             {"caches", &out.caches}};
  for (const auto& [name, fd] : all) {
    auto folder = disk.folder(out.root.get(), name);
    if (!folder) { return because(folder.error()); }
    *fd = std::move(*folder);
  }
  if (Status closed = disk.setMode(out.root.get(), "trees", 0700); !closed) {
    return because(closed.error());
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

Result<Fd> Store::filesFolder(const std::string& key) const {
  return disk_.folder(at_.files.get(), key.substr(0, 2));
}

void Store::note(const Files& files) {
  for (const auto& [path, file] : files) { ++files_.at(file.key()).records; }
}

Status Store::dropFile(const std::string& key) {
  const auto it = files_.find(key);
  if (it == files_.end() || it->second.records > 0) { return {}; }
  const auto folder = filesFolder(key);
  if (!folder) { return because(folder.error()); }
  if (Status out = disk_.remove(folder->get(), key); !out) { return out; }
  bytes_ -= it->second.size;
  files_.erase(it);
  return {};
}

/// One record less names these.
Status Store::forget(const Files& files) {
  for (const auto& [path, file] : files) { --files_.at(file.key()).records; }
  for (const auto& [path, file] : files) {
    if (Status out = dropFile(file.key()); !out) { return out; }
  }
  return {};
}

/// Takes `name`, whose content `file` says, out of its folder.
Status Store::keep(int folder, const std::string& name, const StoredFile& file) {
  const std::string key = file.key();
  if (files_.contains(key)) {
    counters_.bytes_shared += file.size;
    return disk_.remove(folder, name);
  }
  const auto to = filesFolder(key);
  if (!to) { return because(to.error()); }
  if (Status out = disk_.setMode(folder, name, modeOf(file)); !out) { return out; }
  if (Status out = disk_.rename(folder, name, to->get(), key); !out) { return out; }
  files_.emplace(key, Known{.size = file.size});
  bytes_ += file.size;
  counters_.bytes_new += file.size;
  return {};
}

Status Store::keepBytes(const std::string& bytes, StoredFile& out) {
  out = {sha256Hex(bytes), false, bytes.size()};
  if (files_.contains(out.key())) { return {}; }
  const std::string name = newName();
  if (Status wrote = disk_.writeFile(at_.tmp.get(), name, bytes, kReadable); !wrote) {
    static_cast<void>(disk_.remove(at_.tmp.get(), name));
    return wrote;
  }
  return keep(at_.tmp.get(), name, out);
}

Status Store::writeRecord(int folder, const std::string& name, const std::string& text, Wall now) {
  if (text.size() > kMostOfARecord) {  // it could not be read again
    return fail(Code::Invalid, fmt::format("{} would have {} bytes: it has too many files of too long names",
                                           name, text.size()));
  }
  const std::string beside = newName();
  Status out = disk_.writeFile(at_.tmp.get(), beside, text, 0644);
  if (out) { out = disk_.setTime(at_.tmp.get(), beside, now); }
  if (out) { out = disk_.rename(at_.tmp.get(), beside, folder, name); }
  if (!out) { static_cast<void>(disk_.remove(at_.tmp.get(), beside)); }
  return out;
}

// ---- Layers

Status Store::keepLayer(const Draft& draft, const LayerRecord& record) {
  Status out;
  Fd at;
  std::string last = "/";  // the folder that `at` is
  for (auto it = record.files.begin(); out && it != record.files.end(); ++it) {
    const auto& [path, file] = *it;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (folder != last) {
      auto open = folderBelow(draft.folder(), folder);
      if (open) { at = std::move(*open); }
      last = folder;
      out = open ? Status{} : because(open.error());
    }
    if (out) { out = keep(at.get(), path.substr(folder.size()), file); }
  }
  if (!out) {
    for (const auto& [path, file] : record.files) { static_cast<void>(dropFile(file.key())); }
    return out;
  }
  note(record.files);
  return {};
}

Status Store::finishLayer(const LayerRecord& record, Wall now) {
  if (hasLayer(record.layer)) { return forget(record.files); }  // somebody was faster
  Status out = writeRecord(at_.layers.get(), recordName(record.layer), printLayer(record), now);
  if (!out) {
    dropKept(record);
    return out;
  }
  layers_.emplace(record.layer, now);
  return {};
}

void Store::dropKept(const LayerRecord& record) { static_cast<void>(forget(record.files)); }

Status Store::publishLayer(Draft draft, const kcache::Digest& layer, Wall now) {
  if (hasLayer(layer)) { return {}; }
  const auto record = draft.read(layer);
  if (!record) { return because(record.error()); }
  return cacherim::publishLayer(draft, *record, now, [this](const StoreStep& step) { return step(*this); });
}

Result<LayerRecord> Store::layer(const kcache::Digest& layer) const {
  const auto text = Disk::readAll(at_.layers.get(), recordName(layer), kMostOfARecord);
  if (!text) { return because(text.error()); }
  auto out = parseLayer(*text);
  if (out && out->layer != layer) {
    return fail(Code::Invalid, recordName(layer) + " is the record of another layer");
  }
  return out;
}

Result<std::string> Store::read(const StoredFile& file, std::size_t max_bytes) const {
  const auto folder = filesFolder(file.key());
  if (!folder) { return because(folder.error()); }
  return Disk::readAll(folder->get(), file.key(), max_bytes);
}

// ---- Trees

Status Store::linkFile(int folder, const std::string& name, const StoredFile& file) {
  const std::string key = file.key();
  const auto from = filesFolder(key);
  if (!from) { return because(from.error()); }
  Status out = disk_.hardLink(from->get(), key, folder, name);
  if (!out && Disk::isTooManyLinks(out.error())) {
    counters_.bytes_copied += file.size;
    return disk_.copy(from->get(), key, folder, name, modeOf(file));
  }
  ++counters_.links;
  return out;
}

Status Store::buildTree(int root, const std::vector<LayerRecord>& layers, const Files& files) {
  for (const LayerRecord& layer : layers) {
    for (const std::string& folder : layer.folders) {
      const auto made = folderOf(disk_, root, folder + "/.");
      if (!made) { return because(made.error()); }
    }
  }
  FolderOf at;
  std::string last = "/";  // the folder that `at` is
  for (const auto& [path, file] : files) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (folder != last) {
      auto parent = folderOf(disk_, root, path);
      if (!parent) { return because(parent.error()); }
      at = std::move(*parent);
      last = folder;
    }
    if (Status out = linkFile(at.folder.get(), path.substr(folder.size()), file); !out) { return out; }
  }
  return {};
}

Status Store::keepExtras(const Files& files, const TreeExtras& extras, Files& kept) {
  return extras(files, [&](const std::string& path, const std::string& bytes) {
    if (!isStorePath(path)) {
      return Status{fail(Code::Invalid, fmt::format("'{}' cannot be the path of a file", path))};
    }
    StoredFile file;
    Status out = keepBytes(bytes, file);
    if (out) { kept.insert_or_assign(path, std::move(file)); }
    return out;
  });
}

/// What is to be a tree.
Result<Draft> Store::draftOfTree(const TreeRecord& tree, const std::vector<LayerRecord>& layers,
                                 const Files& files, Wall now) {
  auto draft = this->draft();
  if (!draft) { return draft; }
  Status out = disk_.makeFolder(draft->folder(), "root");
  if (out) {
    const auto root = Disk::openFolder(draft->folder(), "root");
    out = root ? buildTree(root->get(), layers, files) : because(root.error());
  }
  if (out) { out = writeRecord(draft->folder(), "record.json", printTree(tree), now); }
  if (!out) { return because(out.error()); }
  return draft;
}

Result<NewTree> Store::makeTree(const kcache::Digest& image, const std::vector<kcache::Digest>& layers,
                                const TreeExtras& extras, Wall now, const std::string& summary) {
  std::vector<LayerRecord> records;
  TreeRecord tree{image, layers, {}, 0, 0, summary};
  Files files;
  for (const kcache::Digest& one : layers) {
    auto record = layer(one);
    if (!record) { return because(record.error()); }
    for (const auto& [path, file] : record->files) { files.insert_or_assign(path, file); }
    records.push_back(std::move(*record));
  }
  const auto refuse = [&](const Error& error) -> Result<NewTree> {
    for (const auto& [path, file] : tree.extras) { static_cast<void>(dropFile(file.key())); }
    return because(error);
  };
  if (Status kept = keepExtras(files, extras, tree.extras); !kept) { return refuse(kept.error()); }
  for (const auto& [path, file] : tree.extras) { files.insert_or_assign(path, file); }
  for (const auto& [path, file] : files) { tree.bytes += file.size; }
  tree.files = files.size();
  auto draft = draftOfTree(tree, records, files, now);
  if (!draft) { return refuse(draft.error()); }
  note(tree.extras);
  return NewTree{std::move(tree), std::move(*draft)};
}

Status Store::finishTree(NewTree& tree, Wall now) {
  const kcache::Digest& image = tree.record.image;
  if (hasTree(image)) {  // somebody was faster
    dropNew(tree);
    return touch(image, now);
  }
  Status out = disk_.rename(at_.tmp.get(), tree.draft.name_, at_.trees.get(), std::string{image.hex()});
  if (!out) {
    dropNew(tree);
    return out;
  }
  tree.draft.name_.clear();
  trees_.emplace(image, now);
  return {};
}

void Store::dropNew(const NewTree& tree) { static_cast<void>(forget(tree.record.extras)); }

Status Store::publishTree(const kcache::Digest& image, const std::vector<kcache::Digest>& layers,
                          const std::map<std::string, std::string>& extras, Wall now,
                          const std::string& summary) {
  if (hasTree(image)) { return touch(image, now); }
  const TreeExtras put_all = [&](const Files& /*files*/, const PutExtra& put) {
    Status out;
    for (auto it = extras.begin(); out && it != extras.end(); ++it) { out = put(it->first, it->second); }
    return out;
  };
  return cacherim::publishTree(
      [&](Store& store) { return store.makeTree(image, layers, put_all, now, summary); }, now,
      [this](const StoreStep& step) { return step(*this); });
}

std::string Store::treeRoot(const kcache::Digest& image) const { return treeRootBelow(root_, image); }

Result<TreeRecord> Store::tree(const kcache::Digest& image) const {
  if (!hasTree(image)) {
    return fail(Code::NotFound, fmt::format("the store has no tree of {}", image.text()));
  }
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!folder) { return because(folder.error()); }
  const auto text = Disk::readAll(folder->get(), "record.json", kMostOfARecord);
  if (!text) { return because(text.error()); }
  return parseTree(*text);
}

Status Store::touch(const kcache::Digest& image, Wall now) {
  const auto it = trees_.find(image);
  if (it == trees_.end()) {
    return fail(Code::NotFound, fmt::format("the store has no tree of {}", image.text()));
  }
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!folder) { return because(folder.error()); }
  Status out = disk_.setTime(folder->get(), "record.json", now);
  if (out) { it->second = now; }
  return out;
}

}  // namespace gs::cacherim
