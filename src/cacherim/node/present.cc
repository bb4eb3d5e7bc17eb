#include "cacherim/node/present.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr const char* kPresentFile = "cache.json";
constexpr const char* kPresentBeside = "cache.json.new";
constexpr std::size_t kMostOfAPresent = std::size_t{1} << 20;
constexpr std::int64_t kOurStore = 1;

json::Value idsValue(const std::vector<int>& ids) {
  json::Array out;
  for (const int id : ids) { out.emplace_back(id); }
  return out;
}

/// False: one is no number that a GPU can have.
bool readIds(const json::Value& value, std::vector<int>& out) {
  for (const json::Value& one : value.items()) {
    const auto id = one.integer();
    if (!id || *id < 0 || *id > std::numeric_limits<int>::max()) { return false; }
    out.push_back(static_cast<int>(*id));
  }
  return value.isArray() || value.isNull();
}

Result<Fd> openStore(const std::string& root) {
  Fd store{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};  // may be a link
  if (!store.valid()) {
    return fail(Code::Unavailable, fmt::format("cannot open {}: {}", root, std::strerror(errno)));
  }
  return store;
}

/// NotFound says that there is nothing: what is there and no folder is a Conflict.
Result<Fd> openStep(const Fd& at, const std::string& name) {
  auto out = Disk::openFolder(at.get(), name);
  if (!out && out.error().code != Code::Unavailable && Disk::look(at.get(), name)) {
    return fail(Code::Conflict, name + " is no folder, or a link");
  }
  return out;
}

/// caches/<folder>/<name>/ below the store.
Result<Fd> folderOfCache(const std::string& root, const CacheName& cache) {
  const auto store = openStore(root);
  const auto caches = store ? Disk::openFolder(store->get(), "caches") : because(store.error());
  const auto scope = caches ? Disk::openFolder(caches->get(), cache.folder()) : because(caches.error());
  return scope ? Disk::openFolder(scope->get(), cache.name()) : because(scope.error());
}

/// The link that Store::place() makes, or a folder of the ancestor's that stays under its pods.
bool isPlaced(int folder, const kcache::Digest& image) {
  const auto there = Disk::look(folder, image.text());
  if (!there || there->isFolder()) { return there.has_value(); }
  return there->isLink() && Disk::readLink(folder, image.text()) == treeRootBelow("../../..", image);
}

tl::unexpected<Error> aboutPresent(const CacheName& cache, const Error& error) {
  return fail(error.code,
              fmt::format("caches/{}/{}/{}: {}", cache.folder(), cache.name(), kPresentFile, error.message));
}

}  // namespace

std::string printPresent(const Present& present) {
  json::Object sizes;
  sizes.append(present.image.text(), static_cast<std::int64_t>(present.bytes));
  json::Object out{{"resolvedDigest", present.image.text()},
                   {"image", present.reference},
                   {"sizes", std::move(sizes)},
                   {"compatibleGPUs", idsValue(present.compatible_gpus)},
                   {"incompatibleGPUs", idsValue(present.incompatible_gpus)}};
  if (present.is_ours) { out.append("store", kOurStore); }
  return json::print(std::move(out));
}

Result<Present> parsePresent(std::string_view text) {
  const auto value = json::parse(text, kMostOfAPresent);
  if (!value) { return fail(Code::Invalid, "no JSON: " + value.error().message); }
  auto image = kcache::Digest::parse((*value)["resolvedDigest"].str());
  if (!image) { return fail(Code::Invalid, "resolvedDigest: " + image.error().message); }
  Present out{*std::move(image), std::string{(*value)["image"].str()}, 0, {}, {}};
  out.is_ours = (*value)["store"].intOr(0) == kOurStore;
  const std::int64_t bytes = (*value)["sizes"][out.image.text()].intOr(0);
  if (bytes < 0) { return fail(Code::Invalid, "sizes: a size below 0"); }
  out.bytes = static_cast<std::uint64_t>(bytes);
  if (!readIds((*value)["compatibleGPUs"], out.compatible_gpus) ||
      !readIds((*value)["incompatibleGPUs"], out.incompatible_gpus)) {
    return fail(Code::Invalid, "compatibleGPUs and incompatibleGPUs are lists of numbers from 0 on");
  }
  return out;
}

Result<Present> readPresent(const std::string& root, const CacheName& cache) {
  const auto folder = folderOfCache(root, cache);
  const auto text = folder ? Disk{}.readAll(folder->get(), kPresentFile, kMostOfAPresent)
                           : Result<std::string>{because(folder.error())};
  auto out = text ? parsePresent(*text) : Result<Present>{because(text.error())};
  if (!out) { return aboutPresent(cache, out.error()); }
  if (!out->is_ours) { return aboutPresent(cache, {Code::NotFound, "GKM wrote it, not this agent"}); }
  if (!isPlaced(folder->get(), out->image)) {
    return aboutPresent(cache, {Code::NotFound, "the link of its image is not beside it"});
  }
  return out;
}

Status writePresent(const std::string& root, const CacheName& cache, const Present& present,
                    const Disk& disk) {
  const auto folder = folderOfCache(root, cache);
  if (!folder) { return aboutPresent(cache, {Code::Unavailable, folder.error().message}); }
  Status out = disk.remove(folder->get(), kPresentBeside);  // of a crash
  if (out) { out = disk.writeFile(folder->get(), kPresentBeside, printPresent(present), 0644); }
  if (out) { out = disk.rename(folder->get(), kPresentBeside, folder->get(), kPresentFile); }
  if (out) { out = disk.sync(folder->get()); }
  if (!out) { return aboutPresent(cache, out.error()); }
  return {};
}

Status removePresent(const std::string& root, const CacheName& cache, const Disk& disk) {
  const auto folder = folderOfCache(root, cache);
  if (!folder) {
    return folder.error().code == Code::NotFound ? Status{} : aboutPresent(cache, folder.error());
  }
  Status out = disk.remove(folder->get(), kPresentFile);
  if (out) { out = disk.remove(folder->get(), kPresentBeside); }
  if (out) { out = disk.sync(folder->get()); }
  if (!out) { return aboutPresent(cache, out.error()); }
  return {};
}

Result<Fd> completeTree(const std::string& root, const kcache::Digest& image) {
  const auto store = openStore(root);
  const auto trees = store ? openStep(*store, "trees") : because(store.error());
  const auto tree = trees ? openStep(*trees, std::string{image.hex()}) : because(trees.error());
  const auto record = tree ? Disk::look(tree->get(), "record.json") : because(tree.error());
  auto out = record ? openStep(*tree, "root") : Result<Fd>{because(record.error())};
  if (!out) {
    return fail(out.error().code, fmt::format("the tree of {}: {}", image.text(), out.error().message));
  }
  return out;
}

Result<std::map<std::string, std::string>> pathsOfTree(const std::string& root, const kcache::Digest& image) {
  constexpr std::size_t kMostRead = std::size_t{64} << 20;
  const auto store = openStore(root);
  const auto trees = store ? openStep(*store, "trees") : because(store.error());
  const auto tree = trees ? openStep(*trees, std::string{image.hex()}) : because(trees.error());
  const auto text = tree ? Disk{}.readAll(tree->get(), "record.json", kMostRead)
                         : Result<std::string>{because(tree.error())};
  auto record = text ? parseTree(*text) : Result<TreeRecord>{because(text.error())};
  if (record) { return std::move(record->paths); }
  return fail(record.error().code, fmt::format("the tree of {}: {}", image.text(), record.error().message));
}

}  // namespace gs::cacherim
