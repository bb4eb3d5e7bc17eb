// What takes long of publishing, and the order of the steps.
#include <fmt/format.h>

#include <utility>

#include "cacherim/store/store.h"

namespace gs::cacherim {
namespace {

/// `record` has it already if it was hashed.
Status hashFile(int folder, const Disk::Entry& entry, const std::string& path, LayerRecord& record) {
  const auto known = record.files.find(path);
  const bool is_known = known != record.files.end() && known->second.size == entry.size;
  if (is_known) { return {}; }
  auto hex = Disk::hash(folder, entry.name);
  if (!hex) { return because(hex.error()); }
  record.files.insert_or_assign(path, StoredFile{std::move(*hex), (entry.mode & 0111U) != 0, entry.size});
  return {};
}

/// All below an open folder of a draft; `path` is where it will be, "" at the root.
Status hashFolder(int folder, const std::string& path, LayerRecord& record) {
  const auto entries = Disk::list(folder);
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& entry : *entries) {
    const std::string below = path.empty() ? entry.name : path + '/' + entry.name;
    if (!isStorePath(below)) {
      return fail(Code::Invalid, fmt::format("{}: a name too long, or too deep", below));
    }
    if (entry.isFile()) {
      if (Status out = hashFile(folder, entry, below, record); !out) { return out; }
    } else if (entry.isFolder()) {
      record.folders.push_back(below);
      const auto next = Disk::openFolder(folder, entry.name);
      if (!next) { return because(next.error()); }
      if (Status out = hashFolder(next->get(), below, record); !out) { return out; }
    } else {
      return fail(Code::Invalid, fmt::format("{}: neither a file nor a folder", below));
    }
  }
  return {};
}

}  // namespace

Result<LayerRecord> Draft::read(const kcache::Digest& layer, std::map<std::string, StoredFile> hashed) const {
  LayerRecord out{layer, {}, std::move(hashed)};
  if (Status read = hashFolder(folder(), "", out); !read) { return because(read.error()); }
  return out;
}

Status Draft::sync() const { return store_->disk_.sync(store_->at_.tmp.get()); }

Status publishLayer(const Draft& draft, const LayerRecord& record, Wall now, const StoreTurn& turn) {
  if (Status safe = draft.sync(); !safe) { return safe; }
  if (Status kept = turn([&](Store& store) { return store.keepLayer(draft, record); }); !kept) {
    return kept;
  }
  Status safe = draft.sync();  // their names, before the record that counts on them
  Status done = turn([&](Store& store) {
    if (safe) { return store.finishLayer(record, now); }
    store.dropKept(record);
    return safe;
  });
  return done ? draft.sync() : done;
}

Status publishTree(const std::function<Result<NewTree>(Store& store)>& make, Wall now,
                   const StoreTurn& turn) {
  std::optional<NewTree> tree;
  Status made = turn([&](Store& store) {
    auto out = make(store);
    if (!out) { return Status{because(out.error())}; }
    tree.emplace(*std::move(out));
    return Status{};
  });
  if (!made) { return made; }
  Status safe = tree->draft.sync();
  const Draft& draft = tree->draft;
  Status done = turn([&](Store& store) {
    if (safe) { return store.finishTree(*tree, now); }
    store.dropNew(*tree);
    return safe;
  });
  return done ? draft.sync() : done;
}

}  // namespace gs::cacherim
