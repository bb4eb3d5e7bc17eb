// For tests only: a store in a folder that goes with the test, and what is filled into its drafts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {

/// Text by path; a path that ends in '/' is a folder, one that begins with '*' a file that may be executed.
using Content = std::map<std::string, std::string>;

inline Status fill(const std::string& folder, const Content& content) {
  for (const auto& [name, text] : content) {
    const std::string path = folder + '/' + (name.starts_with('*') ? name.substr(1) : name);
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    if (name.ends_with('/')) { continue; }
    std::ofstream{path} << text;
    if (name.starts_with('*')) { std::filesystem::permissions(path, std::filesystem::perms{0755}); }
  }
  return {};
}

/// All files below a folder, links to folders followed at the top only.
inline Content readFolder(const std::string& folder) {
  Content out;
  if (!std::filesystem::exists(folder)) { return out; }
  for (const auto& one : std::filesystem::recursive_directory_iterator{std::filesystem::canonical(folder)}) {
    const std::string path = one.path().lexically_relative(std::filesystem::canonical(folder));
    if (one.is_regular_file()) {
      const auto mode = one.status().permissions();
      const bool runs = (mode & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
      out[(runs ? "*" : "") + path] = *readFile(one.path());
    } else if (std::filesystem::is_empty(one.path())) {
      out[path + '/'] = "";
    }
  }
  return out;
}

inline const Content kOne{{"k/a.json", "aaaa"}, {"*k/b.so", "bbbbbb"}, {"empty/", ""}};
inline const Content kTwo{{"k/a.json", "AA"}, {"l/c", "cccc"}};

inline Status noExtras(const TreeEdit& /*edit*/) { return {}; }
inline TreeExtras extras(std::map<std::string, std::string> texts) {
  return [texts = std::move(texts)](const TreeEdit& edit) {
    Status out;
    for (auto it = texts.begin(); out && it != texts.end(); ++it) { out = edit.put(it->first, it->second); }
    return out;
  };
}

class StoreTest : public testing::Test {
 protected:
  static kcache::Digest digest(const std::string& name) { return kcache::Digest::of(name); }
  static CacheName cacheIn(const std::string& ns, const std::string& name) {
    return *CacheName::inNamespace(ns, name);
  }

  [[nodiscard]] std::string root() const { return folder_.path("store"); }
  Store& open(Disk::Fault fault = {}) {
    store_.reset();
    auto opened = Store::open(root(), Disk{std::move(fault), false});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    store_ = std::make_unique<Store>(std::move(*opened));
    return *store_;
  }
  /// The layer's files, in a draft; what the layer has.
  static Result<LayerRecord> fillDraft(const Draft& draft, const std::string& name, const Content& content) {
    LayerRecord out{digest(name), {}, {}};
    for (const auto& [path, text] : content) {
      const bool runs = path.starts_with('*');
      if (path.ends_with('/')) {
        out.folders.push_back(path.substr(0, path.size() - 1));
        continue;
      }
      auto file = draft.begin(runs);
      if (!file) { return because(file.error()); }
      if (Status written = draft.write(*file, text); !written) { return because(written.error()); }
      auto stored = draft.end(*file);
      if (!stored) { return because(stored.error()); }
      out.files.emplace(runs ? path.substr(1) : path, *std::move(stored));
    }
    return out;
  }
  static Status putLayer(Store& store, const std::string& name, const Content& content, Wall now) {
    const auto draft = store.draft();
    if (!draft) { return because(draft.error()); }
    const auto record = fillDraft(*draft, name, content);
    return record ? store.publishLayer(*draft, *record, now) : because(record.error());
  }
  void put(Store& store, const std::string& image, const std::vector<std::string>& layers) const {
    std::vector<kcache::Digest> digests;
    for (const std::string& one : layers) { digests.push_back(digest(one)); }
    const Status out = store.publishTree({digest(image), digests}, noExtras, now_);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
  }
  /// Bytes of all that lies in files/.
  [[nodiscard]] std::uint64_t bytesOnDisk() const {
    std::uint64_t out = 0;
    for (const auto& one : std::filesystem::recursive_directory_iterator{root() + "/files"}) {
      if (one.is_regular_file()) { out += one.file_size(); }
    }
    return out;
  }

  const TempFolder folder_;
  std::unique_ptr<Store> store_;
  Wall now_{std::chrono::seconds{1'750'000'000}};
};

}  // namespace gs::cacherim
