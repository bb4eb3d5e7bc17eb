// Store: putting in order what a crash left.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {
namespace {

constexpr std::string_view kJsonEnd = ".json";

std::optional<kcache::Digest> digestOfHex(std::string_view hex) {
  const auto out = kcache::Digest::parse(std::string{kcache::Digest::kPrefix} + std::string{hex});
  return out ? std::optional{*out} : std::nullopt;
}

/// StoredFile::key()
bool isFileKey(std::string_view name) {
  if (name.ends_with('x')) { name.remove_suffix(1); }
  return digestOfHex(name).has_value();
}

}  // namespace

Status Store::repair() {
  const auto left = Disk::list(at_.tmp.get());
  if (!left) { return because(left.error()); }
  for (const Disk::Entry& one : *left) {
    if (Status out = disk_.removeAll(at_.tmp.get(), one.name); !out) { return out; }
  }
  if (Status out = scanFiles(); !out) { return out; }
  if (Status out = repairLayers(); !out) { return out; }
  if (Status out = repairTrees(); !out) { return out; }
  for (const Fd* records : {&at_.layers, &at_.trees}) {
    if (Status out = disk_.syncFolder(records->get()); !out) { return out; }
  }
  if (Status out = dropUnneeded(); !out) { return out; }
  return repairPlaces();
}

Status Store::scanFiles() {
  const auto folders = Disk::list(at_.files.get());
  if (!folders) { return because(folders.error()); }
  for (const Disk::Entry& folder : *folders) {
    if (!folder.isFolder()) { continue; }  // it goes when its place is needed
    const auto open = Disk::openFolder(at_.files.get(), folder.name);
    if (!open) { return because(open.error()); }
    const auto entries = Disk::list(open->get());
    if (!entries) { return because(entries.error()); }
    for (const Disk::Entry& one : *entries) {
      if (!isFileKey(one.name) || one.name.substr(0, 2) != folder.name) { continue; }
      if (!one.isFile()) {
        log::warn("what has a file's name in the store and is none is taken away", {{"name", one.name}});
        if (Status out = disk_.removeAll(open->get(), one.name); !out) { return out; }
        continue;
      }
      files_.emplace(one.name, Known{.size = one.size});
      bytes_ += one.size;
    }
  }
  return {};
}

bool Store::hasAll(const StoredFiles& files) const {
  return std::all_of(files.begin(), files.end(), [&](const auto& one) {
    const auto it = files_.find(one.second.key());
    return it != files_.end() && it->second.size == one.second.size;
  });
}

/// A layer whose record or files are not all there is none.
Status Store::repairLayers() {
  const auto entries = Disk::list(at_.layers.get());
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& one : *entries) {
    const bool named = std::string_view{one.name}.ends_with(kJsonEnd);
    const auto digest =
        named ? digestOfHex(one.name.substr(0, one.name.size() - kJsonEnd.size())) : std::nullopt;
    const auto record = digest ? layer(*digest) : fail(Code::Invalid, "no record");
    if (record && hasAll(record->files)) {
      note(record->files);
      layers_.emplace(*digest, one.changed);
      continue;
    }
    if (mayBeRead(record)) { return because(record.error()); }
    log::warn("a layer in the store is not whole: it will be pulled again", {{"record", one.name}});
    if (Status out = disk_.removeAll(at_.layers.get(), one.name); !out) { return out; }
  }
  return {};
}

Status Store::repairTrees() {
  const auto entries = Disk::list(at_.trees.get());
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& one : *entries) {
    const auto digest = one.isFolder() ? digestOfHex(one.name) : std::nullopt;
    Status out;
    if (digest) {
      out = repairTree(*digest, one.changed);
    } else {
      log::warn("what lies among the store's trees and is none is taken away", {{"name", one.name}});
      out = disk_.removeAll(at_.trees.get(), one.name);
    }
    if (!out) { return out; }
  }
  return {};
}

/// One that is not as it was stays: pods may have it mounted. It is damaged, and so it is made whole, or goes
/// once nobody needs it.
Status Store::repairTree(const kcache::Digest& image, Wall changed) {
  const auto record = readTree(image);
  if (mayBeRead(record)) { return because(record.error()); }
  KnownTree& known = trees_[image] = {changed, record ? record->folders : 0, false, {}};
  tree_folders_ += known.folders;
  if (!record) {
    noteDamage(image, std::string{kOfItsRecord} + record.error().message);
    return {};
  }
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  if (!folder) { return because(folder.error()); }
  const auto marker = Disk::look(folder->get(), kTreeRecord);
  if (!marker) { return because(marker.error()); }
  known.used = marker->changed;
  const auto lost = std::find_if_not(record->layers.begin(), record->layers.end(),
                                     [&](const kcache::Digest& layer) { return hasLayer(layer); });
  if (lost != record->layers.end()) {
    noteDamage(image, "its layer " + lost->text());
  } else if (!hasAll(record->extras)) {
    noteDamage(image, "a file of its own");
  } else {
    note(record->extras);
    known.counts = true;
  }
  return {};
}

Status Store::dropUnneeded() {
  std::vector<std::string> keys;
  for (const auto& [key, known] : files_) {
    if (known.records == 0) { keys.push_back(key); }
  }
  for (const std::string& key : keys) {
    if (Status out = dropFile(key); !out) { return out; }
  }
  return {};
}

/// Links to trees that are gone go too.
Status Store::repairPlaces() {
  const auto all = placed();
  if (!all) { return because(all.error()); }
  for (const auto& [cache, image] : *all) {
    if (hasTree(image)) { continue; }
    if (Status out = unplace(cache, image); !out) { return out; }
  }
  return {};
}

}  // namespace gs::cacherim
