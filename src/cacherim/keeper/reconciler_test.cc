#include "cacherim/keeper/reconciler.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "cacherim/keeper/reconciler_fixture_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;
using kcache::HasImage;

TEST_F(ReconcilerTest, WhatIsWantedComesAndIsShownToPods) {
  want({{kOne, first_}, {kWide, first_}});
  EXPECT_EQ(work(), 2);
  const auto has = settle();
  EXPECT_EQ(has.trouble, "");
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(of(has, kOne, first_).size, 3);
  EXPECT_EQ(of(has, kOne, first_).targets, (kcache::Targets{{"cuda", "90", 32}}));
  EXPECT_EQ(presentOfOne(), first_.digest->text());
  EXPECT_EQ(present(*CacheName::ofCluster("wide")), first_.digest->text());
  EXPECT_TRUE(isPlaced("ns", "one", first_));
  EXPECT_TRUE(isPlaced("cluster-scoped", "wide", first_));
  EXPECT_EQ(mountedText(first_, "K/a.json"), "one");
  EXPECT_EQ(work(), 0);
}

TEST_F(ReconcilerTest, ASecondCacheOfTheSameLayersCostsNoByte) {
  const auto base = std::map<std::string, std::string>{{"K/base", std::string(5000, 'x')}};
  const auto a = images_.make({base, {{"A/a", "a"}}});
  const auto b = images_.make({base, {{"B/b", "b"}}});
  want({{kOne, a}});
  settle();
  const auto before = images_.bytes();
  want({{kOne, a}, {kTwo, b}});
  settle();
  EXPECT_LT(images_.bytes() - before, 1000);  // the second layer and the config
  const auto same = images_.bytes();
  want({{kOne, a}, {kTwo, b}, {kWide, b}});
  const auto has = settle();
  EXPECT_EQ(images_.bytes(), same);
  EXPECT_EQ(of(has, kWide, b).what, HasImage::What::Here);
  const MutexLock lock{shared_->mutex};
  EXPECT_EQ(shared_->store.counters().bytes_copied, 0U);
}

TEST_F(ReconcilerTest, PathsAreThoseOfWherePodsMountIt) {
  const auto image = images_.make(
      {{{"K/__grp__add.json", R"({"child_paths":{"add.ttir":"/home/me/.triton/cache/K/add.ttir"}})"},
        {"K/add.ttir", "x"}}});
  want({{kOne, image}});
  settle();
  const std::string text = R"({"child_paths":{"add.ttir":"/cache/K/add.ttir"}})";
  EXPECT_EQ(mountedText(image, "K/__grp__add.json"), text);
  EXPECT_EQ(*pathsOfTree(root(), *image.digest),
            (std::map<std::string, std::string>{{"K/__grp__add.json", sha256Hex(text)}}))
      << "so that a mount elsewhere can have its own";
}

TEST_F(ReconcilerTest, FilesThatNameOthersAreFewBytes) {
  most_paths_text_ = 100;
  const std::string group = R"({"child_paths":{"a":"/x/K/a"}})";
  const auto few = images_.make({{{"K/__grp__a.json", group}, {"K/__grp__b.json", group}}});
  const auto many = images_.make(
      {{{"K/__grp__a.json", group}, {"K/__grp__b.json", group}, {"K/__grp__c.json", group}, {"K/d", "d"}},
       {{"K/__grp__d.json", group}}});
  want({{kOne, few}, {kTwo, many}});
  const auto has = settle();
  EXPECT_EQ(of(has, kOne, few).what, HasImage::What::Here);
  EXPECT_EQ(of(has, kTwo, many).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kTwo, many).cause,
            "the image has over 100 bytes of files that name others by their paths (__grp__*.json, "
            "vllm_compile_cache.py)");
  const MutexLock lock{shared_->mutex};
  EXPECT_FALSE(shared_->store.hasTree(*many.digest));
}

TEST_F(ReconcilerTest, AFailedImageSaysWhyAndIsTriedAgainWithTheNextAttemptOnly) {
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, first_}});
  auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kOne, first_).cause, "the registry is away");
  EXPECT_EQ(presentOfOne(), "");
  EXPECT_EQ(work(), 0);
  images_.fate = [](const kcache::Digest&) { return Status{}; };
  attempt_ = 1;
  want({{kOne, first_}});
  has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
}

TEST_F(ReconcilerTest, WhatIsFetchedAgainSaysWhyItFailedBefore) {
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, first_}});
  settle();
  attempt_ = 1;
  want({{kOne, first_}});
  const auto again = reconciler_->takeJobs();
  ASSERT_EQ(again.size(), 1U);
  auto has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Coming);
  EXPECT_EQ(of(has, kOne, first_).cause, "the registry is away");
  reconciler_->finished(again[0], fail(Code::Unavailable, "it is slow"));
  has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kOne, first_).cause, "it is slow");
  want({{kOne, second_}});
  ASSERT_EQ(reconciler_->takeJobs().size(), 1U);
  has = turn();
  EXPECT_EQ(of(has, kOne, second_).cause, "") << "that was another image";
}

TEST_F(ReconcilerTest, ACacheThatMayNotHaveAnImageDoesNotGetItThoughItIsThere) {
  want({{kOne, first_}});
  settle();
  admit_ = [](const KeeperJob& job) -> Status {
    if (job.cache == kWide) { return fail(Code::Conflict, "not signed"); }
    return {};
  };
  want({{kOne, first_}, {kWide, first_}});
  const auto has = settle();
  EXPECT_EQ(of(has, kWide, first_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kWide, first_).cause, "not signed");
  EXPECT_EQ(present(*CacheName::ofCluster("wide")), "");
  EXPECT_FALSE(isPlaced("cluster-scoped", "wide", first_));
}

// A digest names bytes, and nobody's right to them: who has it from elsewhere must not get it under a name
// that policies trust.
TEST_F(ReconcilerTest, WhatTheNodeHasIsGivenOnlyByTheRegistryThatACacheNames) {
  const auto foreign = at("evil.example/play/a", first_);
  const auto trusted = at("registry.internal/trusted/x", first_);
  want({{kOne, foreign}});
  settle();
  EXPECT_EQ(presentOfOne(), first_.digest->text());
  have({"registry.internal/trusted/x"});
  want({{kOne, foreign}, {kTwo, trusted}});
  auto has = settle();
  EXPECT_EQ(of(has, kTwo, first_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kTwo, first_).cause, "registry.internal/trusted/x: there is none");
  EXPECT_EQ(present(*CacheName::inNamespace("ns", "two")), "");
  EXPECT_FALSE(isPlaced("ns", "two", first_));
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  attempt_ = 1;
  want({{kOne, foreign}, {kTwo, trusted}});
  has = settle();
  EXPECT_EQ(of(has, kTwo, first_).what, HasImage::What::Failed) << "it does not come by itself either";
  have({});
  attempt_ = 2;
  want({{kOne, foreign}, {kTwo, trusted}});
  has = settle();
  EXPECT_EQ(of(has, kTwo, first_).what, HasImage::What::Here);
}

TEST_F(ReconcilerTest, WhoMayNotHaveAnImageDoesNotKeepItOnTheNode) {
  want({{kOne, first_}});
  settle();
  have({"registry.internal/trusted/x"});
  want({{kTwo, at("registry.internal/trusted/x", first_)}});
  settle();
  clock_.advance(std::chrono::hours{2});
  settle();
  EXPECT_FALSE(hasTree(first_));
}

TEST_F(ReconcilerTest, ByTheNameOfAnotherRepositoryACacheIsGivenItsImageAnew) {
  want({{kOne, first_}});
  settle();
  have({"evil.example/play/a"});
  want({{kOne, at("evil.example/play/a", first_)}});
  auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Failed);
  EXPECT_EQ(presentOfOne(), first_.digest->text()) << "new pods get the last image that was given";
  have({"quay.io/gkm/a", "evil.example/play/a"});
  want({{kOne, first_}});
  EXPECT_EQ(work(), 0) << "that one gave it already";
  has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
}

TEST_F(ReconcilerTest, AfterARestartACacheKeepsWhatItWasGiven) {
  want({{kOne, first_}});
  settle();
  have({"quay.io/gkm/a", "quay.io/gkm/other"});
  open();
  want({{kOne, first_}});
  EXPECT_EQ(work(), 0) << "its registry need not be there";
  EXPECT_EQ(of(turn(), kOne, first_).what, HasImage::What::Here);
  want({{kOne, at("quay.io/gkm/other", first_)}});
  EXPECT_EQ(of(settle(), kOne, first_).what, HasImage::What::Failed);
}

TEST_F(ReconcilerTest, ACacheThatIsOverGivesNewPodsNothingAndStaysForThoseThatHaveIt) {
  want({{kOne, first_}});
  settle();
  use(first_, "v1");
  want({});
  auto has = settle();
  EXPECT_EQ(presentOfOne(), "");
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(of(has, kOne, first_).pods, (std::vector<kcache::PodUse>{{"ns", "pod-v1", "v1"}}));
  clock_.advance(std::chrono::hours{5});
  has = settle();
  EXPECT_TRUE(hasTree(first_));
  ASSERT_TRUE(usage_->remove("v1"));
  has = settle();
  EXPECT_TRUE(has.caches.empty());
  EXPECT_FALSE(isPlaced("ns", "one", first_));
  clock_.advance(std::chrono::minutes{2});
  settle();
  EXPECT_TRUE(hasTree(first_));  // until it is too old: it was of use until now
  clock_.advance(std::chrono::hours{5});
  settle();
  EXPECT_FALSE(hasTree(first_));
}

TEST_F(ReconcilerTest, AnotherImageTakesThePlaceWhenItIsThere) {
  want({{kOne, first_}});
  settle();
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, second_}});
  auto has = settle();
  EXPECT_EQ(presentOfOne(), first_.digest->text());  // better than nothing
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(of(has, kOne, second_).what, HasImage::What::Failed);
  images_.fate = [](const kcache::Digest&) { return Status{}; };
  attempt_ = 1;
  want({{kOne, second_}});
  has = settle();
  EXPECT_EQ(presentOfOne(), second_.digest->text());
  EXPECT_EQ(has.caches.at(kOne).size(), 1U);
}

TEST_F(ReconcilerTest, AnOlderImageStaysWhilePodsHaveIt) {
  want({{kOne, first_}});
  settle();
  use(first_, "v1");
  want({{kOne, second_}});
  auto has = settle();
  EXPECT_EQ(has.caches.at(kOne).size(), 2U);
  clock_.advance(std::chrono::hours{5});
  settle();
  EXPECT_TRUE(hasTree(first_));
  ASSERT_TRUE(usage_->remove("v1"));
  has = settle();
  EXPECT_EQ(has.caches.at(kOne).size(), 1U);
}

TEST_F(ReconcilerTest, WhileUsesCannotBeReadNothingGoes) {
  want({{kOne, first_}});
  settle();
  use(first_, "v1");
  auto before = settle();
  std::ofstream{usageFolder() + "/volumes/" + std::string(64, 'f') + ".json"} << "torn";
  want({});
  clock_.advance(std::chrono::hours{5});
  auto has = settle();
  EXPECT_NE(has.trouble, "");
  EXPECT_EQ(has.caches, before.caches);
  EXPECT_TRUE(isPlaced("ns", "one", first_));
  EXPECT_TRUE(hasTree(first_));
}

TEST_F(ReconcilerTest, WhileNobodyHasSaidWhatIsMountedNothingGoesAndNoPodIsForgotten) {
  want({{kOne, first_}});
  settle();
  use(first_, "v1");
  const auto before = settle();
  fs::remove_all(usageFolder());  // by somebody, under running pods
  want({});
  clock_.advance(std::chrono::hours{5});
  auto has = settle();
  EXPECT_EQ(has.caches, before.caches);
  EXPECT_EQ(presentOfOne(), "");  // new pods get nothing, all the same
  EXPECT_TRUE(isPlaced("ns", "one", first_));
  EXPECT_TRUE(hasTree(first_));
  use(first_, "v1");
  ASSERT_TRUE(usage_->sayComplete());
  has = settle();
  EXPECT_EQ(has.caches, before.caches);
  ASSERT_TRUE(usage_->remove("v1"));
  EXPECT_TRUE(settle().caches.empty());
}

TEST_F(ReconcilerTest, WhatIsThereIsNotKnownBeforeUsesWereRead) {
  fs::create_directories(usageFolder() + "/volumes");
  std::ofstream{usageFolder() + "/volumes/" + std::string(64, 'f') + ".json"} << "torn";
  open();
  EXPECT_FALSE(turn().is_known);
  fs::remove(usageFolder() + "/volumes/" + std::string(64, 'f') + ".json");
  EXPECT_TRUE(turn().is_known);
}

TEST_F(ReconcilerTest, WhatPodsAreToldWithoutAPlaceOfOursGoes) {
  for (const char* name : {"one", "gone"}) {
    const std::string folder = root() + "/caches/ns/" + name;
    fs::create_directories(folder);
    std::ofstream{folder + "/cache.json"} << R"({"resolvedDigest":")" << first_.digest->text()
                                          << R"(","image":"quay.io/gkm/a:b","sizes":{}})";
  }
  admit_ = [](const KeeperJob& job) -> Status {
    if (job.cache == kOne) { return fail(Code::Conflict, "not signed"); }
    return {};
  };
  open();
  want({{kOne, first_}, {kTwo, first_}});
  settle();
  EXPECT_TRUE(hasTree(first_));
  EXPECT_EQ(presentOfOne(), "");
  EXPECT_EQ(present(*CacheName::inNamespace("ns", "gone")), "");
  EXPECT_EQ(present(*CacheName::inNamespace("ns", "two")), first_.digest->text());
}

TEST_F(ReconcilerTest, WhatNewPodsCannotBeToldIsNoSuccess) {
  want({{kOne, first_}});
  work();
  fs::create_directories(root() + "/caches/ns/one/cache.json/in the way");
  auto has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Failed);
  EXPECT_NE(of(has, kOne, first_).cause.find("new pods cannot be told of it"), std::string::npos);
  fs::remove_all(root() + "/caches/ns/one/cache.json");
  has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
}

/// The disk was full while the cache had another tag of the same image.
TEST_F(ReconcilerTest, WhatIsWrittenAlreadyIsNoFailureAnyMore) {
  want({{kOne, first_}});
  settle();
  const std::string tag = std::exchange(written_, "quay.io/gkm/a:c");
  const std::string beside = root() + "/caches/ns/one/cache.json.new";
  fs::create_directories(beside + "/in the way");
  want({{kOne, first_}});
  EXPECT_EQ(of(turn(), kOne, first_).what, HasImage::What::Failed);
  fs::remove_all(beside);
  written_ = tag;
  want({{kOne, first_}});
  EXPECT_EQ(of(turn(), kOne, first_).what, HasImage::What::Here);
}

TEST_F(ReconcilerTest, WhileSomebodyMountsNothingGoes) {
  want({{kOne, first_}});
  settle();
  const auto lock = usage_->lock(Usage::Hold::Shared, std::chrono::seconds{1});
  ASSERT_TRUE(lock);
  reconciler_ = std::make_unique<Reconciler>(
      Reconciler::Options{
          .root = root(), .usage_folder = usageFolder(), .lock_limit = std::chrono::milliseconds{1}},
      *shared_, claims_, *shares_, *usage_, disk_);
  ASSERT_TRUE(reconciler_->begin());
  want({});
  settle();
  EXPECT_EQ(presentOfOne(), first_.digest->text());
  EXPECT_TRUE(isPlaced("ns", "one", first_));
}

TEST_F(ReconcilerTest, WhatCannotBeRemovedSaysWhyUntilItIs) {
  want({{kOne, first_}});
  settle();
  use(first_, "v1");
  want({});
  settle();
  ASSERT_TRUE(usage_->remove("v1"));
  fault_ = [](std::string_view call) { return call == "unlink" ? EROFS : 0; };
  const auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_NE(of(has, kOne, first_).unload_error.find("Read-only file system"), std::string::npos)
      << of(has, kOne, first_).unload_error;
  fault_ = {};
  EXPECT_TRUE(settle().caches.empty());
}

TEST_F(ReconcilerTest, WhatNobodyCanSayYetStays) {
  want({{kOne, first_}});
  settle();
  want({}, {kOne});
  clock_.advance(std::chrono::hours{5});
  const auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(presentOfOne(), first_.digest->text());
}

TEST_F(ReconcilerTest, BeforeAnythingIsWantedNothingIsChanged) {
  want({{kOne, first_}});
  settle();
  open();
  clock_.advance(std::chrono::hours{5});
  EXPECT_EQ(work(), 0);
  const auto has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(presentOfOne(), first_.digest->text());
  EXPECT_TRUE(hasTree(first_));
}

TEST_F(ReconcilerTest, AfterARestartNothingIsFetchedAgain) {
  want({{kOne, first_}});
  settle();
  open();
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, first_}});
  const auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
}

TEST_F(ReconcilerTest, PodsAreToldWhichGpusCanUseIt) {
  gpus_ = {{0, "H100", "550", {"cuda", "90", 32}}, {1, "A100", "550", {"cuda", "80", 32}}};
  want({{kOne, first_}});
  settle();
  auto read = readPresent(root(), *CacheName::inNamespace("ns", "one"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->compatible_gpus, std::vector<int>{0});
  EXPECT_EQ(read->incompatible_gpus, std::vector<int>{1});
  gpus_.pop_back();
  want({{kOne, first_}});
  settle();
  read = readPresent(root(), *CacheName::inNamespace("ns", "one"));
  EXPECT_TRUE(read->incompatible_gpus.empty());
}

TEST_F(ReconcilerTest, AnOldTreeInUseIsNotReplacedUnderItsPods) {
  const std::string old = fmt::format("{}/caches/ns/one/{}", root(), first_.digest->text());
  fs::create_directories(old + "/K");
  std::ofstream{old + "/K/a.json"} << "one";
  fs::remove_all(usageFolder());
  is_said_ = false;  // its pods run, and the new driver has not looked yet
  open();
  want({{kOne, first_}});
  settle();
  EXPECT_FALSE(fs::is_symlink(old));
  EXPECT_EQ(presentOfOne(), first_.digest->text());  // new pods get the new tree
  use(first_, "v1");
  ASSERT_TRUE(usage_->sayComplete());
  settle();
  EXPECT_FALSE(fs::is_symlink(old));
  ASSERT_TRUE(usage_->remove("v1"));
  settle();
  EXPECT_TRUE(fs::is_symlink(old));
}

TEST_F(ReconcilerTest, AnImageWithoutFilesLeavesNothing) {
  const auto empty = images_.make({{}});
  want({{kOne, empty}});
  auto has = settle();
  EXPECT_EQ(of(has, kOne, empty).what, HasImage::What::Failed);
  EXPECT_FALSE(hasTree(empty));
  attempt_ = 1;
  want({{kOne, empty}});
  has = settle();
  EXPECT_EQ(of(has, kOne, empty).what, HasImage::What::Failed);
}

TEST_F(ReconcilerTest, MoreThanTheQuotaGoesOldestFirst) {
  terms_ = {.quota = 4};
  open();
  want({{kOne, first_}});
  settle();
  clock_.advance(std::chrono::minutes{2});
  want({{kOne, second_}});
  settle();
  clock_.advance(std::chrono::minutes{2});
  settle();
  EXPECT_FALSE(hasTree(first_));
  EXPECT_TRUE(hasTree(second_));
}

}  // namespace
}  // namespace gs::cacherim
