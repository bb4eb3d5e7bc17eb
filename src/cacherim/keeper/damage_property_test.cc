// Whatever is damaged in a store, alone or together with others, before a restart or after one: it is found,
// said, and whole again after some attempts, also in the folders that pods have mounted.
#include <fcntl.h>

#include <fstream>
#include <functional>

#include "base/random.h"
#include "cacherim/keeper/keeping_fixture_test.h"
#include "cacherim/keeper/verifier.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;
using kcache::HasImage;

class DamageProperty : public KeepingTest {
 protected:
  static constexpr int kMostAttempts = 5;

  /// All of a kind below a folder of the store, in their order.
  [[nodiscard]] std::vector<fs::path> below(const std::string& folder,
                                            const std::function<bool(const fs::path&)>& is) const {
    std::vector<fs::path> out;
    for (const auto& one : fs::recursive_directory_iterator{root() + '/' + folder}) {
      if (is(one.path())) { out.push_back(one.path()); }
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] static bool isInRoot(const fs::path& path) {
    const auto has = [&](const char* part) {
      return std::find(path.begin(), path.end(), part) != path.end();
    };
    return has("root") && path.filename() != "root" && !has("in");  // that damage() has put there
  }
  fs::path any(const std::vector<fs::path>& of) {
    return of.empty() ? fs::path{} : of[rng_.below(of.size())];
  }
  fs::path anyFile() {
    return any(below("trees", [](const fs::path& p) { return isInRoot(p) && fs::is_regular_file(p); }));
  }
  fs::path anyFolder() {
    return any(below("trees", [](const fs::path& p) { return isInRoot(p) && fs::is_directory(p); }));
  }
  fs::path anyRecord(const char* of) {
    return any(below(of, [](const fs::path& p) { return !isInRoot(p) && p.extension() == ".json"; }));
  }
  fs::path anyContent() {
    return any(below("files", [](const fs::path& p) { return fs::is_regular_file(p); }));
  }

  /// In place, as a disk does it.
  void flip(const fs::path& path) {
    const auto text = readFile(path);
    if (!text || text->empty()) { return; }
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    const auto at = rng_.below(text->size());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>((*text)[at] ^ (1 + static_cast<int>(rng_.below(7)))));
  }
  static void cut(const fs::path& path) {
    if (path.empty()) { return; }
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    fs::resize_file(path, fs::file_size(path) / 2);
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream{path} << text; }

  std::string damage() {
    const auto at = [](const char* what, const fs::path& path) { return what + (' ' + path.string()); };
    fs::path path;
    switch (rng_.below(14)) {
      case 0: flip(path = anyFile()); return at("flipped", path);
      case 1: fs::remove(path = anyFile()); return at("removed", path);
      case 2: fs::remove_all(path = anyFolder()); return at("removed", path);
      case 3:
        fs::remove(path = anyFile());
        fs::create_directories(path / "in" / "the way");
        return at("a folder at", path);
      case 4:
        fs::remove_all(path = anyFolder());
        write(path, "in the way");
        return at("a file at", path);
      case 5:
        fs::remove(path = anyFile());
        fs::create_symlink("/etc", path);
        return at("a link at", path);
      case 6: cut(path = anyFile()); return at("cut", path);
      case 7: flip(path = anyRecord("trees")); return at("flipped", path);
      case 8: fs::remove(path = anyRecord("trees")); return at("removed", path);
      case 9: flip(path = anyRecord("layers")); return at("flipped", path);
      case 10: fs::remove(path = anyRecord("layers")); return at("removed", path);
      case 11: fs::remove(path = anyContent()); return at("removed", path);
      case 12: flip(path = anyContent()); return at("flipped", path);
      default:
        fs::remove(path = anyContent());
        write(path, "other bytes");
        return at("other bytes at", path);
    }
  }
  void verifyAll() {
    Verifier verifier{*shared_};
    for (int steps = 0; verifier.step(10'000) > 0; ++steps) { ASSERT_LT(steps, 1'000); }
  }
  [[nodiscard]] bool isWhole() {
    verifyAll();
    const MutexLock lock{shared_->mutex};
    return shared_->store.damagedTrees().empty();
  }
  /// By attempts, as the agent asks for them.
  void heal(const std::map<model::ObjectKey, kcache::Reference>& images, const std::string& when) {
    want(images);
    int attempts = 0;
    for (; attempts < kMostAttempts && !isWhole(); ++attempts) {
      turn();
      ++attempt_;
      want(images);
      settle();
    }
    EXPECT_LT(attempts, kMostAttempts) << when;
  }
  /// As pods have it mounted.
  void expectMounted(const kcache::Reference& image, int root, const std::string& when) {
    for (const auto& [path, text] : content_.at(*image.digest)) {
      const auto place = Disk::below(root, path);
      const auto has = place ? Disk::readAll(place->folder.get(), place->name, 1 << 20)
                             : Result<std::string>{because(place.error())};
      EXPECT_TRUE(has && *has == text) << when << path;
    }
  }
  kcache::Reference made(const std::vector<std::map<std::string, std::string>>& layers) {
    const auto out = images_.make(layers);
    for (const auto& layer : layers) {
      for (const auto& [path, text] : layer) { content_[*out.digest].insert_or_assign(path, text); }
    }
    return out;
  }

  Rng rng_{4711};
  std::map<kcache::Digest, std::map<std::string, std::string>> content_;
};

TEST_F(DamageProperty, WhateverIsDamagedIsWholeAgain) {
  const std::map<std::string, std::string> base{{"K/deep/er/base", std::string(3'000, 'x')}, {"K/b", "bb"}};
  const std::string group = R"({"child_paths":{"a.cubin":"/old/place/K/a.cubin"}})";
  const std::map<model::ObjectKey, kcache::Reference> images{
      {kOne, made({base, {{"A/a", "a"}, {"A/b", std::string(500, 'y')}}})},
      {kTwo, made({base, {{"B/b", "b"}}})},
      {kWide, made({{{"G/__grp__a.json", group}, {"G/a.cubin", "cubin"}}})}};
  content_[*images.at(kWide).digest]["G/__grp__a.json"] = R"({"child_paths":{"a.cubin":"/cache/K/a.cubin"}})";
  want(images);
  settle();
  ASSERT_TRUE(isWhole());
  content_[*images.at(kWide).digest]["G/__grp__a.json"] = mountedText(images.at(kWide), "G/__grp__a.json");
  std::map<model::ObjectKey, Fd> mounted;
  for (const auto& [cache, image] : images) {
    auto folder = Disk::openFolder(AT_FDCWD, fmt::format("{}/trees/{}/root", root(), image.digest->hex()));
    ASSERT_TRUE(folder);
    mounted.emplace(cache, *std::move(folder));
    use(image, "v-" + cache.name);
  }
  for (int round = 0; round < 300; ++round) {
    std::string when = fmt::format("round {}: ", round);
    for (std::uint64_t i = 1 + rng_.below(4); i > 0; --i) { when += damage() + ", "; }
    if (rng_.chance(30)) {
      when += "started anew, ";
      open();
    }
    heal(images, when);
    want(images);
    const auto has = settle();
    for (const auto& [cache, image] : images) {
      EXPECT_EQ(of(has, cache, image).what, HasImage::What::Here) << when << of(has, cache, image).cause;
      expectMounted(image, mounted.at(cache).get(), when);
    }
    if (HasFailure()) { return; }
    if (rng_.chance(20)) {  // content that no tree was made of since shows then
      open();
      heal(images, when + "and started anew, ");
      const MutexLock lock{shared_->mutex};
      for (const auto& [cache, image] : images) { EXPECT_TRUE(shared_->store.verify(*image.digest)) << when; }
    }
  }
  // Nothing of it counts for ever.
  want({});
  ASSERT_TRUE(usage_->sayComplete());
  for (const auto& [cache, image] : images) { ASSERT_TRUE(usage_->remove("v-" + cache.name)); }
  settle();
  open();
  want({});
  clock_.advance(std::chrono::hours{3});
  settle();
  clock_.advance(std::chrono::hours{3});
  settle();
  const MutexLock lock{shared_->mutex};
  EXPECT_EQ(shared_->store.bytes(), 0U);
  EXPECT_EQ(shared_->store.inodes(), 0U);
}

}  // namespace
}  // namespace gs::cacherim
