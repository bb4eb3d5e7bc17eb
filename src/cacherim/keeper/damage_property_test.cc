// Whatever is damaged in a store, alone or together with others, before a restart or after one: it is found,
// said, and whole again after one attempt, also in the folders that pods have mounted. (Each further attempt
// would wait longer.)
#include <fcntl.h>

#include <filesystem>

#include "cacherim/keeper/damage_fixture_test.h"
#include "cacherim/keeper/verifier.h"

namespace gs::cacherim {
namespace {

using kcache::HasImage;

class DamageProperty : public DamageTest {
 protected:
  static constexpr int kMostAttempts = 1;

  void SetUp() override {
    const std::map<std::string, std::string> base{{"K/deep/er/base", std::string(3'000, 'x')}, {"K/b", "bb"}};
    const std::string group = R"({"child_paths":{"a.cubin":"/old/place/K/a.cubin"}})";
    caches_.emplace(kOne, made({base, {{"A/a", "a"}, {"A/b", std::string(500, 'y')}}}));
    caches_.emplace(kTwo, made({base, {{"B/b", "b"}, {"E/mpty/", ""}}}));
    caches_.emplace(kWide, made({{{"G/__grp__a.json", group}, {"G/a.cubin", "cubin"}}}));
    want(caches_);
    settle();
    content_[*caches_.at(kWide).digest]["G/__grp__a.json"] =
        mountedText(caches_.at(kWide), "G/__grp__a.json");
    for (const auto& [cache, image] : caches_) {
      use(image, "v-" + cache.name);
      mount(cache);
    }
    ASSERT_TRUE(isWhole());
  }
  /// A new pod.
  void mount(const model::ObjectKey& cache) {
    auto folder =
        Disk::openFolder(AT_FDCWD, fmt::format("{}/trees/{}/root", root(), caches_.at(cache).digest->hex()));
    ASSERT_TRUE(folder);
    mounted_.insert_or_assign(cache, *std::move(folder));
  }
  [[nodiscard]] bool isWhole() {
    Verifier verifier{*shared_};
    for (int steps = 0; verifier.step(10'000) > 0; ++steps) { EXPECT_LT(steps, 1'000); }
    const MutexLock lock{shared_->mutex};
    return shared_->store.damagedTrees().empty();
  }
  /// By attempts, as the agent asks for them.
  void heal(const std::string& when) {
    want(caches_);
    for (int attempts = 0; attempts < kMostAttempts && !isWhole(); ++attempts) {
      turn();
      ++attempt_;
      want(caches_);
      settle();
    }
    EXPECT_TRUE(isWhole()) << when;
  }
  void expectAllWhole(const std::string& when) {
    want(caches_);
    const auto has = settle();
    for (const auto& [cache, image] : caches_) {
      EXPECT_EQ(of(has, cache, image).what, HasImage::What::Here) << when << of(has, cache, image).cause;
      if (is_root_lost_) { mount(cache); }
      expectWhole(image, mounted_.at(cache).get(), when);
    }
    is_root_lost_ = false;
  }
  void verifyStore(const std::string& when) {
    const MutexLock lock{shared_->mutex};
    for (const auto& [cache, image] : caches_) {
      const Status good = shared_->store.verify(*image.digest);
      EXPECT_TRUE(good) << when << good.error().message;
    }
  }
  void play(int rounds, const std::function<std::string()>& damage) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      std::string when = fmt::format("round {}: {}", round, damage());
      if (rng_.chance(30)) {
        when += "started anew, ";
        open();
        if (HasFatalFailure()) { return; }
      }
      heal(when);
      expectAllWhole(when);
      if (HasFailure() || !rng_.chance(20)) { continue; }
      open();  // content that no tree was made of since shows then
      if (HasFatalFailure()) { return; }
      heal(when + "and started anew, ");
      verifyStore(when);
    }
  }
  static std::string said(const Kind& kind, const Path& where) {
    return fmt::format("{} {}, ", kind.name, where.string());
  }
  /// Nothing of it counts for ever, also without a start.
  void expectAllGoes() {
    want({});
    ASSERT_TRUE(usage_->sayComplete());
    for (const auto& [cache, image] : caches_) { ASSERT_TRUE(usage_->remove("v-" + cache.name)); }
    for (int i = 0; i < 3; ++i) {
      settle();
      clock_.advance(std::chrono::hours{3});
    }
    const MutexLock lock{shared_->mutex};
    EXPECT_EQ(shared_->store.bytes(), 0U);
    EXPECT_EQ(shared_->store.inodes(), 0U);
    for (const char* folder : {"layers", "trees", "tmp"}) {
      EXPECT_TRUE(std::filesystem::is_empty(root() + '/' + folder)) << folder;
    }
  }

  std::map<model::ObjectKey, kcache::Reference> caches_;
  std::map<model::ObjectKey, Fd> mounted_;
};

TEST_F(DamageProperty, WhateverIsDamagedIsWholeAgain) {
  play(200, [&] {
    std::string out;
    for (std::uint64_t i = 1 + rng_.below(4); i > 0; --i) {
      const Kind& kind = kinds()[rng_.below(kinds().size())];
      out += said(kind, (this->*kind.damage)());
    }
    return out;
  });
  if (!HasFailure()) { expectAllGoes(); }
}

class DamageOfAKind : public DamageProperty, public testing::WithParamInterface<std::size_t> {
 public:
  static std::string nameOf(std::size_t kind) { return kinds()[kind].name; }
  static std::size_t count() { return kinds().size(); }
};

TEST_P(DamageOfAKind, IsWholeAgain) {
  const Kind& kind = kinds()[GetParam()];
  play(10, [&] { return said(kind, (this->*kind.damage)()); });
  if (!HasFailure()) { expectAllGoes(); }
}
INSTANTIATE_TEST_SUITE_P(Each, DamageOfAKind, testing::Range(std::size_t{0}, DamageOfAKind::count()),
                         [](const auto& info) { return DamageOfAKind::nameOf(info.param); });

}  // namespace
}  // namespace gs::cacherim
