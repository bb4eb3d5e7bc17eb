// Store: where people and the ancestor look for a tree, and the trees that the ancestor left.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cacherim/store/store.h"

namespace gs::cacherim {
namespace {

std::string linkTargetOf(const kcache::Digest& image) {
  return fmt::format("../../../trees/{}/root", image.hex());
}

/// Of a path: what may be there.
using AllowedFiles = std::map<std::string, std::vector<StoredFile>>;

/// "": all is as it should be, and nothing is missing. Takes from `allowed` what was seen.
Result<std::string> compareFolder(const Disk& disk, int folder, const std::string& path,
                                  AllowedFiles& allowed) {
  const auto entries = Disk::list(folder);
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& one : *entries) {
    const std::string below = path.empty() ? one.name : path + '/' + one.name;
    if (!isStorePath(below)) { return below; }
    if (one.isFolder()) {
      const auto next = Disk::openFolder(folder, one.name);
      if (!next) { return because(next.error()); }
      auto different = compareFolder(disk, next->get(), below, allowed);
      if (!different || !different->empty()) { return different; }
      continue;
    }
    const auto it = allowed.find(below);
    if (!one.isFile() || it == allowed.end()) { return below; }
    const auto hex = disk.hash(folder, one.name);
    if (!hex) { return because(hex.error()); }
    const bool good = std::any_of(it->second.begin(), it->second.end(),
                                  [&](const StoredFile& file) { return file.hex == *hex; });
    if (!good) { return below; }
    allowed.erase(it);
  }
  return std::string{};
}

}  // namespace

Status Store::link(int cache_folder, const kcache::Digest& image) {
  const std::string beside = newName();
  Status out = disk_.symbolicLink(linkTargetOf(image), at_.tmp.get(), beside);
  if (out) { out = disk_.rename(at_.tmp.get(), beside, cache_folder, image.text()); }
  if (!out) { static_cast<void>(disk_.remove(at_.tmp.get(), beside)); }
  return out;
}

Result<Adopted> Store::place(const CacheName& cache, const kcache::Digest& image, Wall now) {
  if (Status used = touch(image, now); !used) { return because(used.error()); }
  const auto scope = disk_.folder(at_.caches.get(), cache.folder());
  if (!scope) { return because(scope.error()); }
  const auto folder = disk_.folder(scope->get(), cache.name());
  if (!folder) { return because(folder.error()); }
  const auto there = Disk::look(folder->get(), image.text());
  if (there && there->isFolder()) { return adopt({cache, image}); }
  if (there && there->isLink() && Disk::readLink(folder->get(), image.text()) == linkTargetOf(image)) {
    return Adopted{Adoption::Adopted, ""};
  }
  if (Status out = link(folder->get(), image); !out) { return because(out.error()); }
  return Adopted{Adoption::Adopted, ""};
}

Status Store::unplace(const CacheName& cache, const kcache::Digest& image) {
  const auto scope = Disk::openFolder(at_.caches.get(), cache.folder());
  const auto folder = scope ? Disk::openFolder(scope->get(), cache.name()) : because(scope.error());
  if (!folder) { return folder.error().code == Code::NotFound ? Status{} : because(folder.error()); }
  const auto there = Disk::look(folder->get(), image.text());
  if (there && there->isLink()) {
    if (Status out = disk_.remove(folder->get(), image.text()); !out) { return out; }
  }
  // Empty folders go; others have their reason to stay.
  if (disk_.removeFolder(scope->get(), cache.name())) {
    static_cast<void>(disk_.removeFolder(at_.caches.get(), cache.folder()));
  }
  return {};
}

Status Store::unplaceAll(const kcache::Digest& image) {
  const auto all = placed();
  if (!all) { return because(all.error()); }
  for (const auto& [cache, one] : *all) {
    if (one != image) { continue; }
    if (Status out = unplace(cache, image); !out) { return out; }
  }
  return {};
}

namespace {

/// Every entry of caches/<folder>/<name>/ that is named by a digest.
template <class Each>
Status forEachPlace(int caches, const Each& each) {
  const auto scopes = Disk::list(caches);
  if (!scopes) { return because(scopes.error()); }
  for (const Disk::Entry& scope : *scopes) {
    if (!scope.isFolder()) { continue; }
    const auto in_scope = Disk::openFolder(caches, scope.name);
    const auto names = in_scope ? Disk::list(in_scope->get()) : because(in_scope.error());
    if (!names) { return because(names.error()); }
    for (const Disk::Entry& name : *names) {
      const auto cache = CacheName::fromFolder(scope.name, name.name);
      if (!cache || !name.isFolder()) { continue; }
      const auto folder = Disk::openFolder(in_scope->get(), name.name);
      const auto entries = folder ? Disk::list(folder->get()) : because(folder.error());
      if (!entries) { return because(entries.error()); }
      for (const Disk::Entry& one : *entries) {
        if (const auto image = kcache::Digest::parse(one.name)) { each(*cache, *image, one); }
      }
    }
  }
  return {};
}

Result<std::vector<std::pair<CacheName, kcache::Digest>>> linksIn(int caches) {
  std::vector<std::pair<CacheName, kcache::Digest>> out;
  const Status read =
      forEachPlace(caches, [&](const CacheName& cache, const kcache::Digest& image, const Disk::Entry& one) {
        if (one.isLink()) { out.emplace_back(cache, image); }
      });
  if (!read) { return because(read.error()); }
  return out;
}

}  // namespace

Result<std::vector<std::pair<CacheName, kcache::Digest>>> Store::placed() const {
  return linksIn(at_.caches.get());
}

Result<std::vector<std::pair<CacheName, kcache::Digest>>> placedBelow(const std::string& root) {
  const Fd caches{::open((root + "/caches").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!caches.valid()) {
    return fail(Code::Unavailable, fmt::format("cannot open {}/caches: {}", root, std::strerror(errno)));
  }
  return linksIn(caches.get());
}

Result<std::vector<OldTree>> Store::oldTrees() const {
  std::vector<OldTree> out;
  const Status read = forEachPlace(
      at_.caches.get(), [&](const CacheName& cache, const kcache::Digest& image, const Disk::Entry& one) {
        if (one.isFolder()) { out.push_back({cache, image}); }
      });
  if (!read) { return because(read.error()); }
  return out;
}

/// What a layer has at a path may be there, and what the tree has.
Result<std::string> Store::firstDifference(int old_tree, const kcache::Digest& image) const {
  const auto record = tree(image);
  if (!record) { return because(record.error()); }
  AllowedFiles allowed;
  for (const kcache::Digest& one : record->layers) {
    const auto layer = this->layer(one);
    if (!layer) { return because(layer.error()); }
    for (const auto& [path, file] : layer->files) { allowed[path] = {file}; }
  }
  for (const auto& [path, file] : record->extras) { allowed[path].push_back(file); }
  auto different = compareFolder(disk_, old_tree, "", allowed);
  if (different && different->empty() && !allowed.empty()) { return allowed.begin()->first; }
  return different;
}

Status Store::replaceOld(int cache_folder, const kcache::Digest& image) {
  const std::string aside = newName();
  Status out = disk_.rename(cache_folder, image.text(), at_.tmp.get(), aside);
  if (out) { out = link(cache_folder, image); }
  if (out) { out = disk_.removeAll(at_.tmp.get(), aside); }
  return out;
}

Result<Adopted> Store::adopt(const OldTree& old) {
  if (!hasTree(old.image)) { return Adopted{Adoption::Unknown, ""}; }
  const auto scope = Disk::openFolder(at_.caches.get(), old.cache.folder());
  const auto folder = scope ? Disk::openFolder(scope->get(), old.cache.name()) : because(scope.error());
  const auto tree = folder ? Disk::openFolder(folder->get(), old.image.text()) : because(folder.error());
  if (!tree) { return because(tree.error()); }
  auto different = firstDifference(tree->get(), old.image);
  if (!different) { return because(different.error()); }
  if (!different->empty()) { return Adopted{Adoption::Different, std::move(*different)}; }
  if (Status out = replaceOld(folder->get(), old.image); !out) { return because(out.error()); }
  return Adopted{Adoption::Adopted, ""};
}

Status Store::verify(const kcache::Digest& image) const {
  const auto folder = Disk::openFolder(at_.trees.get(), std::string{image.hex()});
  const auto root = folder ? Disk::openFolder(folder->get(), "root") : because(folder.error());
  if (!root) { return because(root.error()); }
  const auto different = firstDifference(root->get(), image);
  if (!different) { return because(different.error()); }
  if (different->empty()) { return {}; }
  return fail(Code::Invalid,
              fmt::format("the tree of {}: {} is not what it should be", image.text(), *different));
}

}  // namespace gs::cacherim
