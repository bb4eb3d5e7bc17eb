// What takes long of publishing, and the order of the steps.
#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "cacherim/store/store.h"
#include "cacherim/store/tree_folders.h"

namespace gs::cacherim {
namespace {

constexpr const char* kBeingWritten = "new";  // no key is that

}  // namespace

Result<Draft::NewFile> Draft::begin(bool executable) const {
  NewFile out;
  out.executable_ = executable;
  auto fd = store_->disk_.create(folder(), kBeingWritten, StoredFile{"", executable}.mode());
  if (!fd) { return because(fd.error()); }
  out.fd_ = *std::move(fd);
  return out;
}

Status Draft::write(NewFile& file, std::string_view bytes) const {
  file.hash_.update(bytes);
  file.size_ += bytes.size();
  return store_->disk_.write(file.fd_.get(), bytes);
}

Result<StoredFile> Draft::end(NewFile& file) const {
  StoredFile out{file.hash_.hex(), file.executable_, file.size_};
  file.fd_ = Fd{};
  if (Status named = store_->disk_.rename(folder(), kBeingWritten, folder(), out.key()); !named) {
    return because(named.error());
  }
  return out;
}

Result<LayerRecord> Draft::layer(const kcache::Digest& layer) const { return store_->layer(layer); }

Result<TreeContent> Draft::contentOf(const kcache::Digest& image) const {
  auto tree = store_->readTree(image);
  if (!tree) { return because(tree.error()); }
  auto planned = plan({image, tree->layers});
  if (!planned) { return because(planned.error()); }
  TreeContent out{.files = std::move(planned->files), .folders = {}};
  for (const auto& [path, file] : tree->extras) { out.files.insert_or_assign(path, file); }
  for (LayerRecord& layer : planned->layers) {
    out.folders.insert(std::make_move_iterator(layer.folders.begin()),
                       std::make_move_iterator(layer.folders.end()));
  }
  return out;
}

Result<Fd> Draft::rootOf(const kcache::Digest& image) const {
  const auto tree = Disk::openFolder(store_->at_.trees.get(), std::string{image.hex()});
  if (!tree) { return because(tree.error()); }
  return Disk::openFolder(tree->get(), "root");
}

Status Draft::writeRecord(const LayerRecord& record, Wall now) const {
  const std::string text = printLayer(record);
  if (text.size() > kMostOfARecord) { return recordTooLarge(record.layer.text(), text.size()); }
  Status out = store_->disk_.writeFile(folder(), kLayerRecord, text, 0644);
  return out ? store_->disk_.setTime(folder(), kLayerRecord, now) : out;
}

Result<NewTree> Draft::plan(const TreePlan& of) const {
  NewTree out{.record = {of.image, of.layers, {}, 0, 0, 0, of.summary}, .layers = {}, .files = {}};
  for (const kcache::Digest& one : of.layers) {
    auto record = store_->layer(one);
    if (!record) { return because(record.error()); }
    for (const auto& [path, file] : record->files) { out.files.insert_or_assign(path, file); }
    out.layers.push_back(*std::move(record));
  }
  return out;
}

Status Draft::putExtras(NewTree& tree, const TreeExtras& extras) const {
  StoredFiles& put = tree.record.extras;
  // What is made of them has a hash of its own: nobody would ever see that they were not what they should be.
  const auto read = [&](const StoredFile& file, std::size_t max_bytes) -> Result<std::string> {
    const auto folder = store_->filesFolder(file.key());
    if (!folder) { return because(folder.error()); }
    auto text = store_->disk_.readAll(folder->get(), file.key(), max_bytes);
    const bool is_damaged =
        text ? sha256Hex(*text) != file.hex : text.error().code == Code::Invalid && file.size <= max_bytes;
    if (!is_damaged) { return text; }
    tree.lost.insert(file.key());
    return fail(Code::NotFound, file.key() + " of the store is damaged: it comes again with the next try");
  };
  Status out = extras({tree.files, read,
                       [&](const std::string& path, const std::string& bytes) -> Status {
                         if (!isStorePath(path)) {
                           return fail(Code::Invalid, fmt::format("'{}' cannot be the path of a file", path));
                         }
                         auto file = begin(false);
                         if (!file) { return because(file.error()); }
                         if (Status out = write(*file, bytes); !out) { return out; }
                         auto stored = end(*file);
                         if (!stored) { return because(stored.error()); }
                         put.insert_or_assign(path, *std::move(stored));
                         return {};
                       },
                       [&](const std::string& path) { tree.record.paths[path]; }});
  for (const auto& [path, file] : put) { tree.files.insert_or_assign(path, file); }
  for (auto& [path, sum] : tree.record.paths) { sum = tree.files.at(path).hex; }
  return out;
}

Status Draft::link(NewTree& tree, int folder, const std::string& name, const StoredFile& file) const {
  const Disk& disk = store_->disk_;
  const std::string key = file.key();
  const auto from = store_->filesFolder(key);
  if (!from) { return because(from.error()); }
  Status out = disk.hardLink(from->get(), key, folder, name);
  if (!out && Disk::isTooManyLinks(out.error())) {
    tree.bytes_copied += file.size;
    return disk.copy(from->get(), key, folder, name, file.mode());
  }
  ++tree.links;
  return out;
}

Status Draft::linkAll(NewTree& tree, int root) const {
  for (const LayerRecord& layer : tree.layers) {
    for (const std::string& folder : layer.folders) {
      const auto made = makeBelow(store_->disk_, root, folder + "/.");
      if (!made) { return because(made.error()); }
    }
  }
  Disk::Below at;
  std::string last = "/";  // the folder that `at` is
  for (const auto& [path, file] : tree.files) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (folder != last) {
      auto parent = makeBelow(store_->disk_, root, path);
      if (!parent) { return because(parent.error()); }
      at = *std::move(parent);
      last = folder;
    }
    if (Status out = link(tree, at.folder.get(), path.substr(folder.size()), file); !out) { return out; }
  }
  return {};
}

Status Draft::build(NewTree& tree, Wall now) const {
  const Disk& disk = store_->disk_;
  for (const auto& [path, file] : tree.files) { tree.record.bytes += file.size; }
  tree.record.files = tree.files.size();
  std::set<std::string_view> folders;
  for (const LayerRecord& layer : tree.layers) { folders.insert(layer.folders.begin(), layer.folders.end()); }
  tree.record.folders = folders.size();
  const std::string name = kTreeRecord;
  const std::string text = printTree(tree.record);
  if (text.size() > kMostOfARecord) { return recordTooLarge(name, text.size()); }
  Status out = disk.makeFolder(folder(), "root");
  if (out) {
    const auto root = Disk::openFolder(folder(), "root");
    out = root ? linkAll(tree, root->get()) : because(root.error());
  }
  if (!out) { return out; }
  const auto file = disk.create(folder(), name, 0644);
  if (!file) { return because(file.error()); }
  out = disk.write(file->get(), text);
  return out ? disk.setTime(folder(), name, now) : out;
}

/// By a file of its own, opened before anything was written: so each is told of an error that the disk had
/// with its bytes, and not only who asks first.
Status Draft::sync() const { return store_->disk_.sync(folder()); }

namespace {

/// All of them, in turns that are short. `kept`: how far it came.
Status keepAll(const Draft& draft, const StoredFiles& files, StoredFiles::const_iterator& kept,
               const StoreTurn& turn) {
  Status out;
  for (kept = files.begin(); out && kept != files.end();) {
    out = turn([&](Store& store) { return store.keepSome(draft, files, kept); });
  }
  return out;
}

void noteLost(const std::set<std::string>& keys, const StoreTurn& turn) {
  static_cast<void>(turn([&](Store& store) {
    store.noteLost(keys);
    return Status{};
  }));
}

/// Of an image's tree. What is known to be lost by now is noted first.
bool isDamaged(const kcache::Digest& image, const StoreTurn& turn, const std::set<std::string>& lost = {}) {
  bool out = false;
  static_cast<void>(turn([&](Store& store) {
    store.noteLost(lost);
    out = store.damagedTrees().contains(image);
    return Status{};
  }));
  return out;
}

/// What layers have and is lost, once it is known that something is: where one file is damaged others may be.
/// So all are read, and come again together. Each would be found by a try of its own else.
std::set<std::string> lostOf(const NewTree& tree, const StoredFiles& of_layers, const Draft& draft) {
  std::set<std::string> out = tree.lost;
  out.merge(draft.lost(of_layers, Draft::Looks::AtSizes));
  if (!out.empty()) { out.merge(draft.lost(of_layers, Draft::Looks::AtBytes)); }
  return out;
}

/// Of a tree that is damaged, before it is made again of the same files.
Status readAll(const StoredFiles& of_layers, const Draft& draft, const StoreTurn& turn) {
  const auto lost = draft.lost(of_layers, Draft::Looks::AtBytes);
  noteLost(lost, turn);
  if (lost.empty()) { return {}; }
  return fail(Code::NotFound, fmt::format("{} files of the store are damaged, {} first: they come again",
                                          lost.size(), *lost.begin()));
}

}  // namespace

Status publishLayer(const Draft& draft, const LayerRecord& record, Wall now, const StoreTurn& turn) {
  StoredFiles::const_iterator kept;
  Status out = keepAll(draft, record.files, kept, turn);
  if (out) { out = draft.sync(); }  // the files and their names, before the record that counts on them
  if (out) { out = draft.writeRecord(record, now); }
  return turn([&](Store& store) {
    if (out) { return store.finishLayer(record, draft, now); }
    store.dropKept(record.files, kept);
    return out;
  });
}

Status publishTree(const TreePlan& plan, const TreeExtras& extras, Wall now, const StoreTurn& turn) {
  std::optional<Draft> beside;  // for the extras
  std::optional<Draft> draft;
  Status made = turn([&](Store& store) {
    for (auto* one : {&beside, &draft}) {
      auto opened = store.draft();
      if (!opened) { return Status{because(opened.error())}; }
      one->emplace(*std::move(opened));
    }
    return Status{};
  });
  if (!made) { return made; }
  auto tree = draft->plan(plan);
  if (!tree) { return because(tree.error()); }
  const StoredFiles of_layers = tree->files;
  StoredFiles::const_iterator kept;
  Status out = beside->putExtras(*tree, extras);
  // The store may have some already, of another tree. New ones take the place of those that are damaged.
  const auto old = out ? draft->lost(tree->record.extras, Draft::Looks::AtBytes) : std::set<std::string>{};
  const bool was_read = out && isDamaged(plan.image, turn, old);
  if (was_read) { out = readAll(of_layers, *draft, turn); }
  if (out) {
    out = keepAll(*beside, tree->record.extras, kept, turn);
  } else {
    kept = tree->record.extras.begin();
  }
  if (out) { out = draft->build(*tree, now); }
  if (out) { out = draft->sync(); }  // all of it, before its name says that it is complete
  if (out && isDamaged(plan.image, turn)) { out = draft->mend(*tree); }
  const auto lost = out || was_read ? std::set<std::string>{} : lostOf(*tree, of_layers, *draft);
  return turn([&](Store& store) {
    if (out) { return store.finishTree(*tree, *draft, now); }
    store.dropKept(tree->record.extras, kept);
    store.noteLost(lost);
    return out;
  });
}

}  // namespace gs::cacherim
