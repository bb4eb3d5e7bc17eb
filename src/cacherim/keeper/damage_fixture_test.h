// For tests only: a store in which anything may be damaged, by name of the kind of damage.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cacherim/keeper/reconciler_fixture_test.h"

namespace gs::cacherim {

class DamageTest : public ReconcilerTest {
 protected:
  using Path = std::filesystem::path;
  struct Kind {
    const char* name;
    Path (DamageTest::*damage)();  // where; "": there was nothing
  };
  static const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {"FileFlipped", &DamageTest::flipFile},
        {"FileCut", &DamageTest::cutFile},
        {"FileGone", &DamageTest::removeFile},
        {"FileUnreadable", &DamageTest::breakFile},
        {"FileIsAFolder", &DamageTest::folderAtFile},
        {"FileIsALink", &DamageTest::linkAtFile},
        {"FileIsAnother", &DamageTest::anotherAtFile},
        {"FolderGone", &DamageTest::removeFolder},
        {"FolderIsAFile", &DamageTest::fileAtFolder},
        {"EmptyFolderGone", &DamageTest::removeEmptyFolder},
        {"RootIsAFile", &DamageTest::fileAtRoot},
        {"TreeGone", &DamageTest::removeTree},
        {"TreeIsAFile", &DamageTest::fileAtTree},
        {"TreeRecordFlipped", &DamageTest::flipTreeRecord},
        {"TreeRecordGone", &DamageTest::removeTreeRecord},
        {"TreeRecordUnreadable", &DamageTest::breakTreeRecord},
        {"TreeRecordIsAFolder", &DamageTest::folderAtTreeRecord},
        {"LayerRecordFlipped", &DamageTest::flipLayerRecord},
        {"LayerRecordGone", &DamageTest::removeLayerRecord},
        {"LayerRecordUnreadable", &DamageTest::breakLayerRecord},
        {"LayerRecordIsAFolder", &DamageTest::folderAtLayerRecord},
        {"ContentFlipped", &DamageTest::flipContent},
        {"ContentGone", &DamageTest::removeContent},
        {"ContentHasOtherBytes", &DamageTest::otherContent},
        {"ContentUnreadable", &DamageTest::breakContent},
        {"ContentIsAFolder", &DamageTest::folderAtContent},
        {"ContentIsALink", &DamageTest::linkAtContent},
        {"ContentIsAnother", &DamageTest::anotherAtContent},
        {"FolderOfContentsGone", &DamageTest::removeContents},
        {"FolderOfContentsIsAFile", &DamageTest::fileAtContents},
        {"FolderOfTheStoreGone", &DamageTest::removeOwnFolder},
    };
    return all;
  }

  DamageTest() {
    read_fault_ = [this](std::string_view call, std::uint64_t inode) {
      const auto it = unreadable_.find(inode);
      return it == unreadable_.end() || it->second.call != call ? 0 : it->second.error;
    };
  }

  /// An image; a path that ends with '/' is a folder.
  kcache::Reference made(const std::vector<std::map<std::string, std::string>>& layers) {
    const auto out = images_.make(layers);
    for (const auto& layer : layers) {
      for (const auto& [path, text] : layer) { content_[*out.digest].insert_or_assign(path, text); }
    }
    return out;
  }
  /// As who has that folder mounted sees it.
  void expectWhole(const kcache::Reference& image, int root, const std::string& when) {
    for (const auto& [path, text] : content_.at(*image.digest)) {
      if (path.ends_with('/')) {
        EXPECT_TRUE(Disk::below(root, path + '.')) << when << path;
        continue;
      }
      const auto place = Disk::below(root, path);
      const auto has = place ? disk_.readAll(place->folder.get(), place->name, 1 << 20)
                             : Result<std::string>{because(place.error())};
      EXPECT_TRUE(has && *has == text) << when << path;
    }
  }

  Rng rng_{4711};
  std::map<kcache::Digest, std::map<std::string, std::string>> content_;
  bool is_root_lost_ = false;  // the folder that pods have mounted is the store's no more

 private:
  struct Unreadable {
    std::string call;
    int error = 0;
    Fd keeps;  // so that no other file gets its inode
  };

  // ---- one of them

  [[nodiscard]] Path anyBelow(const std::string& folder, const std::function<bool(const Path&)>& is) {
    std::vector<Path> all;
    std::error_code none;  // there is none, or a file in its place
    for (const auto& one : std::filesystem::recursive_directory_iterator{root() + '/' + folder, none}) {
      if (is(one.path())) { all.push_back(one.path()); }
    }
    std::sort(all.begin(), all.end());
    return all.empty() ? Path{} : all[rng_.below(all.size())];
  }
  [[nodiscard]] static bool isInRoot(const Path& path) {
    const auto has = [&](const char* part) {
      return std::find(path.begin(), path.end(), part) != path.end();
    };
    return has("root") && path.filename() != "root" && !has("in");  // that is what a kind has put there
  }
  [[nodiscard]] static bool isFile(const Path& path) {
    return std::filesystem::is_regular_file(std::filesystem::symlink_status(path));
  }
  [[nodiscard]] static bool isFolder(const Path& path) {
    return std::filesystem::is_directory(std::filesystem::symlink_status(path));
  }
  Path anyFile() {
    return anyBelow("trees", [](const Path& path) { return isInRoot(path) && isFile(path); });
  }
  Path anyFolder() {
    return anyBelow("trees", [](const Path& path) { return isInRoot(path) && isFolder(path); });
  }
  Path anyTree() {
    return anyBelow("trees", [](const Path& path) { return path.parent_path().filename() == "trees"; });
  }
  Path anyRecord(const char* of) {
    return anyBelow(
        of, [](const Path& path) { return !isInRoot(path) && path.extension() == ".json" && isFile(path); });
  }
  /// One that will be needed: a tree has not its file, or not always.
  Path anyContent() {
    const Path out = anyBelow(
        "files", [](const Path& path) { return isFile(path) && path.filename().string().size() > 2; });
    if (out.empty() || rng_.chance(50)) { return out; }
    gone(anyBelow("trees", [&](const Path& path) { return isFile(path) && inodeOf(path) == inodeOf(out); }));
    return out;
  }
  Path anyContents() {
    const Path content = anyContent();
    return content.empty() ? content : content.parent_path();
  }

  // ---- what is done to it

  [[nodiscard]] static std::uint64_t inodeOf(const Path& path) {
    struct stat is {};
    return ::lstat(path.c_str(), &is) == 0 ? is.st_ino : 0;
  }
  /// In place, as a disk does it.
  Path flip(const Path& path) {
    const auto text = readFile(path);
    if (!text || text->empty()) { return {}; }
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    const auto at = rng_.below(text->size());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>((*text)[at] ^ (1 + static_cast<int>(rng_.below(7)))));
    return path;
  }
  Path gone(const Path& path) {
    if (!path.empty()) { std::filesystem::remove_all(path); }
    return path;
  }
  Path unreadable(const Path& path) {
    if (path.empty()) { return path; }
    constexpr int kErrors[] = {EIO, EUCLEAN, EBADMSG};
    auto keeps = Disk{}.openFile(AT_FDCWD, path.string());
    if (!keeps) { return {}; }
    unreadable_.insert_or_assign(
        inodeOf(path), Unreadable{rng_.chance(50) ? "open" : "read", kErrors[rng_.below(std::size(kErrors))],
                                  *std::move(keeps)});
    return path;
  }
  Path folderAt(const Path& path) {
    if (!path.empty()) { std::filesystem::create_directories(gone(path) / "in" / "the way"); }
    return path;
  }
  Path fileAt(const Path& path) {
    if (!path.empty()) { std::ofstream{gone(path)} << "in the way"; }
    return path;
  }
  Path linkAt(const Path& path) {
    if (!path.empty()) { std::filesystem::create_symlink("/etc", gone(path)); }
    return path;
  }
  /// As `ln -f` does it.
  Path anotherAt(const Path& path, const Path& other) {
    if (path.empty() || other.empty() || inodeOf(path) == inodeOf(other)) { return {}; }
    std::filesystem::create_hard_link(other, gone(path));
    return path;
  }
  Path losesRoot(const Path& path) {
    is_root_lost_ = is_root_lost_ || !path.empty();
    return path;
  }

  // ---- kinds

  Path flipFile() { return flip(anyFile()); }
  Path cutFile() {
    const Path path = anyFile();
    if (path.empty()) { return path; }
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    return path;
  }
  Path removeFile() { return gone(anyFile()); }
  Path breakFile() { return unreadable(anyFile()); }
  Path folderAtFile() { return folderAt(anyFile()); }
  Path linkAtFile() { return linkAt(anyFile()); }
  Path anotherAtFile() { return anotherAt(anyFile(), anyFile()); }
  Path removeFolder() { return gone(anyFolder()); }
  Path fileAtFolder() { return fileAt(anyFolder()); }
  Path removeEmptyFolder() {
    return gone(anyBelow("trees", [](const Path& path) {
      return isInRoot(path) && isFolder(path) && std::filesystem::is_empty(path);
    }));
  }
  Path fileAtRoot() {
    const Path tree = anyTree();
    return tree.empty() || !isFolder(tree) ? Path{} : losesRoot(fileAt(tree / "root"));
  }
  Path removeTree() { return losesRoot(gone(anyTree())); }
  Path fileAtTree() { return losesRoot(fileAt(anyTree())); }
  Path flipTreeRecord() { return flip(anyRecord("trees")); }
  Path removeTreeRecord() { return gone(anyRecord("trees")); }
  Path breakTreeRecord() { return unreadable(anyRecord("trees")); }
  Path folderAtTreeRecord() { return folderAt(anyRecord("trees")); }
  Path flipLayerRecord() { return flip(anyRecord("layers")); }
  Path removeLayerRecord() { return gone(anyRecord("layers")); }
  Path breakLayerRecord() { return unreadable(anyRecord("layers")); }
  Path folderAtLayerRecord() { return folderAt(anyRecord("layers")); }
  Path flipContent() { return flip(anyContent()); }
  Path removeContent() { return gone(anyContent()); }
  Path otherContent() {
    const Path path = anyContent();
    if (!path.empty()) { std::ofstream{gone(path)} << "other bytes"; }
    return path;
  }
  Path breakContent() { return unreadable(anyContent()); }
  Path folderAtContent() { return folderAt(anyContent()); }
  Path linkAtContent() { return linkAt(anyContent()); }
  Path anotherAtContent() { return anotherAt(anyContent(), anyContent()); }
  Path removeContents() { return gone(anyContents()); }
  Path fileAtContents() { return fileAt(anyContents()); }
  Path removeOwnFolder() {
    constexpr const char* kOwn[] = {"files", "layers", "trees", "tmp"};
    const std::string name = kOwn[rng_.below(std::size(kOwn))];
    const Path path = gone(root() + '/' + name);
    const Path place = rng_.chance(50) ? fileAt(path) : path;
    return name == "trees" ? losesRoot(place) : place;
  }

  std::map<std::uint64_t, Unreadable> unreadable_;  // by inode
};

}  // namespace gs::cacherim
