#include "cacherim/keeper/keeping.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/keeper/images_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;
using kcache::HasImage;

const model::ObjectKey kTwo{"ns", "two"};
const model::ObjectKey kWide{"", "wide"};

/// A node's store with its jobs done by the test.
class KeepingTest : public ::testing::Test {
 protected:
  KeepingTest() { open(); }

  void open() {
    keeping_.reset();
    shared_.reset();
    auto store = Store::open(root(), disk_);
    ASSERT_TRUE(store) << store.error().message;
    shared_ = std::make_unique<SharedStore>(*std::move(store));
    auto usage = Usage::open(usageFolder(), disk_);
    ASSERT_TRUE(usage) << usage.error().message;
    usage_.emplace(*std::move(usage));
    if (is_said_) { ASSERT_TRUE(usage_->sayComplete()); }
    shares_ = std::make_unique<Shares>(quota_);
    keeping_ = std::make_unique<Keeping>(
        Keeping::Options{.root = root(), .usage_folder = usageFolder(), .sweep = terms_}, *shared_, claims_,
        *shares_, *usage_, disk_);
    ASSERT_TRUE(keeping_->begin());
  }
  [[nodiscard]] std::string root() const { return folder_.path("store"); }
  [[nodiscard]] std::string usageFolder() const { return folder_.path("usage"); }

  void want(std::map<model::ObjectKey, kcache::Reference> images, std::set<model::ObjectKey> undecided = {}) {
    kcache::Wanted wanted;
    for (auto& [cache, image] : images) {
      wanted.images.emplace(cache, kcache::WantedImage{"quay.io/gkm/a:b", std::move(image), attempt_});
    }
    wanted.undecided = std::move(undecided);
    wanted.gpus = gpus_;
    keeping_->want(std::make_shared<const kcache::Wanted>(std::move(wanted)));
  }
  /// All jobs are done; how many there were.
  int work() {
    int out = 0;
    for (auto& job : keeping_->takeJobs()) {
      ++out;
      Fetching how{.store = *shared_,
                   .claims = claims_,
                   .clock = clock_,
                   .coming = job.coming.get(),
                   .needed = job.needed};
      how.most_paths_text = most_paths_text_;
      const auto source = images_.source();
      const Status admitted = admit_(job);
      keeping_->finished(job, admitted ? fetchImage(how, *source, job.image.image, *job.progress) : admitted);
    }
    return out;
  }
  kcache::NodeHas turn() { return keeping_->turn(clock_.now()); }
  /// Everything that is wanted is done.
  kcache::NodeHas settle() {
    work();
    turn();
    return turn();
  }
  const HasImage& of(const kcache::NodeHas& has, const model::ObjectKey& cache,
                     const kcache::Reference& image) {
    return has.caches.at(cache).at(image.digest->text());
  }
  [[nodiscard]] std::string mountedText(const kcache::Reference& image, const std::string& path) const {
    return *readFile(fmt::format("{}/trees/{}/root/{}", root(), image.digest->hex(), path));
  }
  [[nodiscard]] bool hasTree(const kcache::Reference& image) const {
    return fs::exists(fmt::format("{}/trees/{}/root", root(), image.digest->hex()));
  }
  [[nodiscard]] bool isPlaced(const std::string& folder, const std::string& name,
                              const kcache::Reference& image) const {
    return fs::exists(fmt::format("{}/caches/{}/{}/{}", root(), folder, name, image.digest->text()));
  }
  std::string present(const CacheName& cache) {
    const auto read = readPresent(root(), cache);
    return read ? read->image.text() : "";
  }
  std::string presentOfOne() { return present(*CacheName::inNamespace("ns", "one")); }
  void use(const kcache::Reference& image, const std::string& volume) {
    ASSERT_TRUE(usage_->add({.volume_id = volume,
                             .target = "/t/" + volume,
                             .cache = *CacheName::inNamespace("ns", "one"),
                             .image = *image.digest,
                             .pod_ns = "ns",
                             .pod_name = "pod-" + volume,
                             .pod_uid = "u"}));
  }

  TempFolder folder_;
  ManualClock clock_;
  Disk::Fault fault_;
  const Disk disk_{[this](std::string_view call) { return fault_ ? fault_(call) : 0; }, false};
  ImagesOnPaper images_;
  LayerClaims claims_;
  std::uint64_t quota_ = 0;
  std::unique_ptr<Shares> shares_;
  SweepTerms terms_{.most_age = std::chrono::hours{1}};
  std::vector<kcache::CacheGpu> gpus_;
  std::int64_t attempt_ = 0;
  std::uint64_t most_paths_text_ = std::uint64_t{64} << 20;
  bool is_said_ = true;  // by the CSI driver, what is mounted
  std::function<Status(const KeeperJob&)> admit_ = [](const KeeperJob&) { return Status{}; };
  std::unique_ptr<SharedStore> shared_;
  std::optional<Usage> usage_;
  std::unique_ptr<Keeping> keeping_;
  const kcache::Reference first_ = images_.make({{{"K/a.json", "one"}}});
  const kcache::Reference second_ = images_.make({{{"K/a.json", "two"}}});
};

TEST_F(KeepingTest, WhatIsWantedComesAndIsShownToPods) {
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

TEST_F(KeepingTest, ASecondCacheOfTheSameLayersCostsNoByte) {
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

TEST_F(KeepingTest, PathsAreThoseOfWherePodsMountIt) {
  const auto image = images_.make(
      {{{"K/__grp__add.json", R"({"child_paths":{"add.ttir":"/home/me/.triton/cache/K/add.ttir"}})"},
        {"K/add.ttir", "x"}}});
  want({{kOne, image}});
  settle();
  EXPECT_EQ(mountedText(image, "K/__grp__add.json"), R"({"child_paths":{"add.ttir":"/cache/K/add.ttir"}})");
}

TEST_F(KeepingTest, FilesThatNameOthersAreFewBytes) {
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

TEST_F(KeepingTest, AFailedImageSaysWhyAndIsTriedAgainWithTheNextAttemptOnly) {
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

TEST_F(KeepingTest, WhatIsFetchedAgainSaysWhyItFailedBefore) {
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, first_}});
  settle();
  attempt_ = 1;
  want({{kOne, first_}});
  const auto again = keeping_->takeJobs();
  ASSERT_EQ(again.size(), 1U);
  auto has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Coming);
  EXPECT_EQ(of(has, kOne, first_).cause, "the registry is away");
  keeping_->finished(again[0], fail(Code::Unavailable, "it is slow"));
  has = turn();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kOne, first_).cause, "it is slow");
  want({{kOne, second_}});
  ASSERT_EQ(keeping_->takeJobs().size(), 1U);
  has = turn();
  EXPECT_EQ(of(has, kOne, second_).cause, "") << "that was another image";
}

TEST_F(KeepingTest, ACacheThatMayNotHaveAnImageDoesNotGetItThoughItIsThere) {
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

TEST_F(KeepingTest, ACacheThatIsOverGivesNewPodsNothingAndStaysForThoseThatHaveIt) {
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

TEST_F(KeepingTest, AnotherImageTakesThePlaceWhenItIsThere) {
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

TEST_F(KeepingTest, AnOlderImageStaysWhilePodsHaveIt) {
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

TEST_F(KeepingTest, WhileUsesCannotBeReadNothingGoes) {
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

TEST_F(KeepingTest, WhileNobodyHasSaidWhatIsMountedNothingGoesAndNoPodIsForgotten) {
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

TEST_F(KeepingTest, WhatIsThereIsNotKnownBeforeUsesWereRead) {
  fs::create_directories(usageFolder() + "/volumes");
  std::ofstream{usageFolder() + "/volumes/" + std::string(64, 'f') + ".json"} << "torn";
  open();
  EXPECT_FALSE(turn().is_known);
  fs::remove(usageFolder() + "/volumes/" + std::string(64, 'f') + ".json");
  EXPECT_TRUE(turn().is_known);
}

TEST_F(KeepingTest, WhatPodsAreToldWithoutAPlaceOfOursGoes) {
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

TEST_F(KeepingTest, WhatNewPodsCannotBeToldIsNoSuccess) {
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

TEST_F(KeepingTest, WhileSomebodyMountsNothingGoes) {
  want({{kOne, first_}});
  settle();
  const auto lock = usage_->lock(Usage::Hold::Shared, std::chrono::seconds{1});
  ASSERT_TRUE(lock);
  keeping_ = std::make_unique<Keeping>(
      Keeping::Options{
          .root = root(), .usage_folder = usageFolder(), .lock_limit = std::chrono::milliseconds{1}},
      *shared_, claims_, *shares_, *usage_, disk_);
  ASSERT_TRUE(keeping_->begin());
  want({});
  settle();
  EXPECT_EQ(presentOfOne(), first_.digest->text());
  EXPECT_TRUE(isPlaced("ns", "one", first_));
}

TEST_F(KeepingTest, WhatCannotBeRemovedSaysWhyUntilItIs) {
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

TEST_F(KeepingTest, WhatNobodyCanSayYetStays) {
  want({{kOne, first_}});
  settle();
  want({}, {kOne});
  clock_.advance(std::chrono::hours{5});
  const auto has = settle();
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
  EXPECT_EQ(presentOfOne(), first_.digest->text());
}

TEST_F(KeepingTest, BeforeAnythingIsWantedNothingIsChanged) {
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

TEST_F(KeepingTest, AfterARestartNothingIsFetchedAgain) {
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

TEST_F(KeepingTest, PodsAreToldWhichGpusCanUseIt) {
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

TEST_F(KeepingTest, AnOldTreeInUseIsNotReplacedUnderItsPods) {
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

TEST_F(KeepingTest, AnImageWithoutFilesLeavesNothing) {
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

/// Each with a folder, and files of so many bytes: counted are 4096 more for each.
class QuotaTest : public KeepingTest {
 protected:
  kcache::Reference image(char letter, std::size_t bytes = 100'000 - 2 * 4096) {
    return images_.make({{{"K/a.json", std::string(bytes, letter)}}});
  }
  bool failed(const kcache::NodeHas& has, const model::ObjectKey& cache, const kcache::Reference& of_it) {
    return of(has, cache, of_it).what == HasImage::What::Failed;
  }
  const kcache::Reference a_ = image('a');
  const kcache::Reference b_ = image('b');
  const kcache::Reference c_ = image('c');
  const model::ObjectKey three_{"ns", "three"};
  const model::ObjectKey small_{"other", "small"};
};

TEST_F(QuotaTest, OneNamespaceWithTooMuchKeepsNoOtherFromItsShare) {
  quota_ = 200'000;
  open();
  want({{kOne, a_}, {kTwo, b_}});
  settle();
  open();  // what is there counts from the first job on
  want({{kOne, a_}, {kTwo, b_}, {three_, c_}, {small_, first_}});
  const auto has = settle();
  EXPECT_EQ(of(has, small_, first_).what, HasImage::What::Here);
  ASSERT_TRUE(failed(has, three_, c_));
  EXPECT_NE(of(has, three_, c_).cause.find("the caches of namespace ns have 200000 bytes here"),
            std::string::npos)
      << of(has, three_, c_).cause;
}

TEST_F(QuotaTest, TwoThatComeSideBySideDoNotGetTheSameRoom) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}, {kTwo, b_}});
  const auto has = settle();
  EXPECT_EQ(failed(has, kOne, a_) + failed(has, kTwo, b_), 1);
}

TEST_F(QuotaTest, WhatJustCameCountsBeforeItIsPlaced) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}});
  work();
  want({{kOne, a_}, {kTwo, b_}});
  work();
  turn();
  EXPECT_TRUE(failed(turn(), kTwo, b_));
}

TEST_F(QuotaTest, WhatWasGivenUpOrWentCountsNoMore) {
  quota_ = 100'000;
  open();
  images_.fate = [](const kcache::Digest&) -> Status {
    return fail(Code::Unavailable, "the registry is away");
  };
  want({{kOne, a_}});
  EXPECT_TRUE(failed(settle(), kOne, a_));
  images_.fate = [](const kcache::Digest&) { return Status{}; };
  want({{kTwo, b_}});
  EXPECT_EQ(of(settle(), kTwo, b_).what, HasImage::What::Here);
  want({});
  settle();
  want({{three_, c_}});
  EXPECT_EQ(of(settle(), three_, c_).what, HasImage::What::Here);
}

TEST_F(QuotaTest, WhatPodsHaveMountedCountsThoughNoCacheNamesIt) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}});
  settle();
  use(a_, "v1");
  want({{kTwo, b_}});
  EXPECT_TRUE(failed(settle(), kTwo, b_));
}

TEST_F(QuotaTest, LayersThatTheNodeHasCountToo) {
  quota_ = 150'000;
  open();
  const std::map<std::string, std::string> same{{"K/a.json", std::string(80'000, 's')}};
  const auto first = images_.make({same});
  const auto second = images_.make({same, {{"K/b.json", std::string(60'000, 't')}}});
  want({{kOne, first}, {kTwo, second}});
  EXPECT_TRUE(failed(settle(), kTwo, second));
}

TEST_F(QuotaTest, WhatDidNotFitIsNotFetchedAgainToSeeThat) {
  quota_ = 150'000;
  open();
  const auto large =
      images_.make({{{"K/a.json", std::string(100'000, 'x')}, {"K/b.json", std::string(100'000, 'y')}}});
  want({{kOne, large}});
  EXPECT_TRUE(failed(settle(), kOne, large));
  int layers = 0;
  images_.fate = [&](const kcache::Digest&) {
    ++layers;
    return Status{};
  };
  attempt_ = 1;
  want({{kOne, large}});
  EXPECT_TRUE(failed(settle(), kOne, large));
  EXPECT_EQ(layers, 1) << "the config";
}

TEST_F(QuotaTest, LayersOfImagesThatFailedDoNotFillTheDisk) {
  terms_ = {.quota = 150'000};
  quota_ = 150'000;
  open();
  const auto bad = [&](char letter) {
    return images_.make(
        {{{"K/a.json", std::string(90'000, letter)}}, {{"K/a.json/b", "a folder where a file is"}}});
  };
  for (const char letter : {'1', '2', '3', '4', '5', '6'}) {
    want({{kOne, bad(letter)}});
    settle();
    clock_.advance(std::chrono::minutes{2});
    settle();
  }
  const MutexLock lock{shared_->mutex};
  EXPECT_LE(shared_->store.bytes(), 150'000U);
}

TEST_F(KeepingTest, MoreThanTheQuotaGoesOldestFirst) {
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
