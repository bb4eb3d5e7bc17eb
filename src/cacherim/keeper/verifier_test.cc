#include "cacherim/keeper/verifier.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "cacherim/keeper/keeper.h"
#include "cacherim/keeper/reconciler_fixture_test.h"

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;
using kcache::HasImage;

class VerifierTest : public ReconcilerTest {
 protected:
  [[nodiscard]] std::string pathOf(const kcache::Reference& image, const std::string& path) const {
    return fmt::format("{}/trees/{}/root/{}", root(), image.digest->hex(), path);
  }
  /// Other bytes in the same file, as a disk or a person writes them: of the same length, in place.
  void damage(const kcache::Reference& image, const std::string& path) {
    const std::string at = pathOf(image, path);
    const auto size = fs::file_size(at);
    fs::permissions(at, fs::perms::owner_write, fs::perm_options::add);
    std::ofstream out{at, std::ios::in | std::ios::binary};
    out << std::string(std::min<std::uintmax_t>(size, 10), '!');
  }
  /// A whole pass.
  void verify() {
    Verifier verifier{*shared_};
    for (int steps = 0; verifier.step(1000) > 0; ++steps) { ASSERT_LT(steps, 10'000); }
  }
  [[nodiscard]] std::size_t damagedTrees() {
    const MutexLock lock{shared_->mutex};
    return shared_->store.damagedTrees().size();
  }
  kcache::NodeHas again(std::map<model::ObjectKey, kcache::Reference> images) {
    ++attempt_;
    want(std::move(images));
    return settle();
  }

  const kcache::Reference image_ = images_.make({{{"K/a.cubin", std::string(5000, 'a')}, {"K/a.json", "{}"}},
                                                 {{"K/b.cubin", std::string(300'000, 'b')}}});
};

TEST_F(VerifierTest, AWholeStoreIsReadAndNothingSaid) {
  want({{kOne, image_}, {kTwo, first_}});
  settle();
  Verifier verifier{*shared_};
  EXPECT_GT(verifier.step(1 << 30), 0U);
  EXPECT_EQ(verifier.verified(), 5000U + 2 + 300'000 + 3);
  EXPECT_EQ(damagedTrees(), 0U);
  EXPECT_EQ(verifier.step(1 << 30), 0U) << "the pass is over";
  EXPECT_GT(verifier.step(1 << 30), 0U) << "and again";
  EXPECT_EQ(verifier.verified(), 2 * (5000U + 2 + 300'000 + 3));
}

TEST_F(VerifierTest, AStepReadsNoMoreThanItMay) {
  want({{kOne, image_}});
  settle();
  Verifier verifier{*shared_};
  std::uint64_t all = 0;
  for (int steps = 0; const auto some = verifier.step(10'000); ++steps) {
    EXPECT_LE(some, 10'000U + (128U << 10));
    all += some;
    ASSERT_LT(steps, 100);
  }
  EXPECT_GE(all, 305'002U);
  const MutexLock lock{shared_->mutex};
  EXPECT_TRUE(shared_->store.damagedTrees().empty());
}

TEST_F(VerifierTest, AFileOfManyTreesIsReadOnce) {
  const std::map<std::string, std::string> base{{"K/base", std::string(50'000, 'x')}};
  const auto a = images_.make({base, {{"A/a", "a"}}});
  const auto b = images_.make({base, {{"B/b", "b"}}});
  want({{kOne, a}, {kTwo, b}});
  settle();
  Verifier verifier{*shared_};
  EXPECT_GT(verifier.step(1 << 30), 0U);
  EXPECT_EQ(verifier.verified(), 50'002U);
  damage(b, "K/base");
  EXPECT_EQ(verifier.step(1 << 30), 0U);
  EXPECT_GT(verifier.step(1 << 30), 0U);
  EXPECT_EQ(damagedTrees(), 2U) << "both have it";
}

// Ten bytes of a cubin changed: the tree that was made again had them, and nothing was said.
TEST_F(VerifierTest, WhatIsDamagedIsSaidAndComesAgain) {
  want({{kOne, image_}});
  settle();
  const auto layers_before = images_.bytes();
  use(image_, "v1");
  damage(image_, "K/a.cubin");
  verify();
  auto has = turn();
  EXPECT_EQ(of(has, kOne, image_).what, HasImage::What::Failed);
  EXPECT_EQ(of(has, kOne, image_).cause,
            "a file of it is damaged on this node's disk (K/a.cubin): it is fetched again");
  EXPECT_EQ(of(has, kOne, image_).pods.size(), 1U);
  const auto pinned = Disk::openFolder(AT_FDCWD, pathOf(image_, ""));
  has = again({{kOne, image_}});
  EXPECT_EQ(of(has, kOne, image_).what, HasImage::What::Here) << of(has, kOne, image_).cause;
  EXPECT_EQ(mountedText(image_, "K/a.cubin"), std::string(5000, 'a'));
  ASSERT_TRUE(pinned);
  EXPECT_EQ(*Disk{}.readAll(pinned->get(), "K/a.cubin", 10'000), std::string(5000, 'a'))
      << "in the very folder that pods have mounted";
  EXPECT_LT(images_.bytes() - layers_before, 100'000) << "only the layer of that file came again";
  EXPECT_EQ(damagedTrees(), 0U);
  verify();
  EXPECT_EQ(damagedTrees(), 0U);
  open();
  verify();
  EXPECT_EQ(damagedTrees(), 0U);
  const MutexLock lock{shared_->mutex};
  EXPECT_TRUE(shared_->store.verify(*image_.digest));
}

TEST_F(VerifierTest, OfAnImageThatIsWantedNoMorePodsHaveTheDamageAndItIsSaid) {
  want({{kOne, image_}});
  settle();
  use(image_, "v1");
  want({{kOne, first_}});
  settle();
  damage(image_, "K/a.cubin");
  verify();
  const auto has = settle();
  EXPECT_EQ(
      of(has, kOne, image_).cause,
      "a file of it is damaged on this node's disk (K/a.cubin): no cache names it any more; start the pods "
      "that have it anew");
  EXPECT_EQ(of(has, kOne, first_).what, HasImage::What::Here);
}

TEST_F(VerifierTest, EachTreeThatHasADamagedFileGetsTheGoodOne) {
  const std::map<std::string, std::string> base{{"K/base", std::string(50'000, 'x')}};
  const auto a = images_.make({base, {{"A/a", "a"}}});
  const auto b = images_.make({base, {{"B/b", "b"}}});
  want({{kOne, a}, {kTwo, b}});
  settle();
  damage(a, "K/base");
  verify();
  const auto has = again({{kOne, a}, {kTwo, b}});
  EXPECT_EQ(of(has, kOne, a).what, HasImage::What::Here);
  EXPECT_EQ(of(has, kTwo, b).what, HasImage::What::Here);
  for (const auto& image : {a, b}) { EXPECT_EQ(mountedText(image, "K/base"), std::string(50'000, 'x')); }
  verify();
  EXPECT_EQ(damagedTrees(), 0U);
}

// One of two caches of an image brings it whole again; the other is told of its next attempt all the same.
TEST_F(VerifierTest, WhoeverMendedItTheAttemptThatIsAskedForIsTold) {
  want({{kOne, image_}, {kTwo, image_}});
  settle();
  damage(image_, "K/a.cubin");
  verify();
  turn();
  auto has = again({{kOne, image_}, {kTwo, image_}});
  for (const auto& cache : {kOne, kTwo}) {
    EXPECT_EQ(of(has, cache, image_).what, HasImage::What::Here);
    EXPECT_EQ(of(has, cache, image_).attempt, 1);
  }
  attempt_ = 2;
  want({{kOne, image_}, {kTwo, image_}});
  has = settle();
  EXPECT_EQ(of(has, kTwo, image_).attempt, 2) << "without a job";
}

TEST_F(VerifierTest, FreshLayersDoNotKeepADamagedFile) {
  const std::string bytes(50'000, 'x');
  const auto a = images_.make({{{"K/base", bytes}}});
  const auto b = images_.make({{{"K/base", bytes}, {"B/b", "b"}}});  // the same file in another layer
  want({{kOne, a}});
  settle();
  damage(a, "K/base");
  verify();
  want({{kOne, a}, {kTwo, b}});
  const auto has = settle();
  EXPECT_EQ(of(has, kTwo, b).what, HasImage::What::Here);
  EXPECT_EQ(mountedText(b, "K/base"), bytes);
}

TEST_F(VerifierTest, FilesThatAreGoneOrShorterAreDamageToo) {
  for (const bool is_gone : {true, false}) {
    want({{kOne, image_}});
    ++attempt_;
    settle();
    if (is_gone) {
      fs::remove(pathOf(image_, "K/b.cubin"));
    } else {
      fs::permissions(pathOf(image_, "K/b.cubin"), fs::perms::owner_write, fs::perm_options::add);
      fs::resize_file(pathOf(image_, "K/b.cubin"), 10);
    }
    verify();
    EXPECT_EQ(damagedTrees(), 1U);
    const auto has = again({{kOne, image_}});
    EXPECT_EQ(of(has, kOne, image_).what, HasImage::What::Here) << of(has, kOne, image_).cause;
    EXPECT_EQ(mountedText(image_, "K/b.cubin"), std::string(300'000, 'b'));
  }
}

TEST_F(VerifierTest, RecordsThatCannotBeReadComeAgain) {
  want({{kOne, image_}});
  settle();
  for (const char* record : {"layers", "trees"}) {
    for (const auto& one : fs::recursive_directory_iterator{root() + '/' + record}) {
      if (one.path().extension() == ".json" && one.path().filename() != "a.json") {
        std::ofstream{one.path()} << "{";
      }
    }
    verify();
    EXPECT_EQ(damagedTrees(), 1U) << record;
    const auto has = again({{kOne, image_}});
    EXPECT_EQ(of(has, kOne, image_).what, HasImage::What::Here) << record << of(has, kOne, image_).cause;
    verify();
    EXPECT_EQ(damagedTrees(), 0U) << record;
  }
}

TEST_F(VerifierTest, WhatNobodyNeedsAndIsDamagedGoes) {
  want({{kOne, image_}});
  settle();
  damage(image_, "K/a.cubin");
  verify();
  want({});
  settle();
  clock_.advance(std::chrono::minutes{2});
  settle();
  EXPECT_FALSE(hasTree(image_));
  EXPECT_EQ(damagedTrees(), 0U);
}

// Its cache is deleted in the very middle.
TEST_F(VerifierTest, WhatIsBeingMendedIsNotTakenAway) {
  want({{kOne, image_}});
  settle();
  const std::string at = pathOf(image_, "K/a.json");
  fs::remove(at);
  fs::create_directories(at + "/in/the way");
  verify();
  turn();
  ++attempt_;
  want({{kOne, image_}});
  bool is_built = false;
  bool is_swept = false;
  fault_ = [&](std::string_view call) {
    is_built = is_built || call == "syncfs";
    if (is_built && call == "rmdir" && !std::exchange(is_swept, true)) {
      want({});
      clock_.advance(std::chrono::minutes{2});
      turn();
    }
    return 0;
  };
  EXPECT_EQ(work(), 1);
  EXPECT_TRUE(is_swept);
  ASSERT_TRUE(fs::is_regular_file(at));
  EXPECT_EQ(mountedText(image_, "K/a.json"), "{}");
  EXPECT_EQ(damagedTrees(), 0U);
}

/// One layer is known to be damaged. Of the other that is seen when its files are read, which takes long.
TEST_F(VerifierTest, WhileTheStoreIsReadTheRegistryIsNotSlow) {
  want({{kOne, image_}});
  settle();
  damage(image_, "K/a.cubin");
  verify();
  fs::path content;
  for (const auto& one : fs::recursive_directory_iterator{root() + "/files"}) {
    if (fs::equivalent(one.path(), pathOf(image_, "K/b.cubin"))) { content = one.path(); }
  }
  ASSERT_TRUE(fs::remove(content));
  const auto slow = Disk::look(AT_FDCWD, pathOf(image_, "K/a.json"));
  ASSERT_TRUE(slow);
  read_fault_ = [&](std::string_view /*call*/, std::uint64_t inode) {
    if (inode == slow->inode) { clock_.advance(2 * Keeper::kGrace); }
    return 0;
  };
  ++attempt_;
  want({{kOne, image_}});
  const auto jobs = reconciler_->takeJobs();
  ASSERT_EQ(jobs.size(), 1U);
  const KeeperJob& job = jobs.front();
  const Mono began = clock_.now().mono;
  int layers = 0;
  bool is_too_slow = false;
  Fetching how{.store = *shared_, .claims = claims_, .clock = clock_, .coming = job.coming.get()};
  how.pace = [&](std::size_t /*bytes*/) {
    ++layers;
    is_too_slow = is_too_slow || isTooSlow(*job.progress, clock_.now().mono - began, Keeper::kLeastRate);
    return true;
  };
  const auto source = images_.source();
  const Status done = fetchImage(how, *source, job.image.image, *job.progress);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(layers, 2) << "one of them once it was seen that it is damaged";
  EXPECT_GT(clock_.now().mono - began, Keeper::kGrace);
  EXPECT_FALSE(is_too_slow);
  EXPECT_EQ(damagedTrees(), 0U);
}

TEST_F(VerifierTest, AnImageThatGoesMeanwhileIsPassedOver) {
  want({{kOne, image_}});
  settle();
  Verifier verifier{*shared_};
  EXPECT_GT(verifier.step(1), 0U);
  want({});
  settle();
  clock_.advance(std::chrono::hours{2});
  settle();
  EXPECT_FALSE(hasTree(image_));
  while (verifier.step(1 << 20) > 0) {}
  EXPECT_EQ(damagedTrees(), 0U);
}

}  // namespace
}  // namespace gs::cacherim
