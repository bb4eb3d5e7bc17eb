#include "cacherim/keeper/keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "base/random.h"
#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "cacherim/keeper/images_test.h"
#include "cacherim/node/mount_paths.h"

namespace gs::cacherim {
namespace {

using kcache::HasImage;

/// What was told last, waited for.
class Told {
 public:
  void tell(const kcache::NodeHasPtr& has) {
    const MutexLock lock{mutex_};
    last_ = has;
    changed_.notifyAll();
  }
  /// False: it did not become so within 20 s.
  template <class Is>
  bool waitFor(const Is& is) {
    const Mono end = SystemClock{}.now().mono + std::chrono::seconds{20};
    const MutexLock lock{mutex_};
    while (last_ == nullptr || !is(*last_)) {
      if (!changed_.waitUntil(mutex_, end)) { return false; }
    }
    return true;
  }

 private:
  Mutex mutex_;
  Signal changed_;
  kcache::NodeHasPtr last_ GS_GUARDED_BY(mutex_);
};

class KeeperTest : public ::testing::Test {
 protected:
  std::unique_ptr<Keeper> make(std::uint64_t quota = 0) {
    Keeper::Options options;
    options.quota = quota;
    return make(std::move(options), [this] { return images_.source(); });
  }
  std::unique_ptr<Keeper> make(Keeper::Options options,
                               std::function<std::unique_ptr<ImageSource>()> source) {
    EXPECT_TRUE(Usage::open(folder_.path("usage"), Disk{{}, false})->sayComplete());
    options.reconciler.root = folder_.path("store");
    options.reconciler.usage_folder = folder_.path("usage");
    options.look = std::chrono::milliseconds{10};
    return std::make_unique<Keeper>(
        options,
        Keeper::Outside{
            .sources = [source = std::move(source)](const model::ObjectKey&, const kcache::WantedImage&)
                -> Result<std::unique_ptr<ImageSource>> { return source(); },
            .admit = [this](const model::ObjectKey&, const kcache::WantedImage&) { return admitted_; },
            .tell = [this](const kcache::NodeHasPtr& has) { told_.tell(has); },
            .ended =
                [this](const FetchEnd& end) {
                  const MutexLock lock{mutex_};
                  ends_.push_back(end);
                  ended_.notifyAll();
                }},
        Disk{[this](std::string_view call) { return fault_ ? fault_(call) : 0; }, false}, clock_, pause_);
  }
  static kcache::WantedPtr wanting(const kcache::Reference& image) {
    kcache::Wanted out;
    out.images.emplace(kOne, kcache::WantedImage{"quay.io/gkm/a:b", image, 0});
    return std::make_shared<const kcache::Wanted>(std::move(out));
  }
  bool comes(HasImage::What what) {
    return told_.waitFor([&](const kcache::NodeHas& has) {
      const auto cache = has.caches.find(kOne);
      return cache != has.caches.end() && cache->second.begin()->second.what == what;
    });
  }

  TempFolder folder_;
  const SystemClock clock_{};
  RealPause pause_{clock_};
  ImagesOnPaper images_;
  Disk::Fault fault_;  // before make()
  Status admitted_;
  Told told_;
  /// How the attempt for that cache ended; nullopt: it did not within 20 s.
  std::optional<FetchEnd> endOf(const model::ObjectKey& cache) {
    const Mono end = clock_.now().mono + std::chrono::seconds{20};
    const MutexLock lock{mutex_};
    while (true) {
      for (const FetchEnd& one : ends_) {
        if (one.job.cache == cache) { return one; }
      }
      if (!ended_.waitUntil(mutex_, end)) { return std::nullopt; }
    }
  }

  Mutex mutex_;
  Signal ended_;
  std::vector<FetchEnd> ends_;  // under the mutex, until the keeper has stopped
};

TEST_F(KeeperTest, FetchesWhatIsWantedAndTellsIt) {
  const auto image = images_.make({{{"K/a", "one"}}});
  const auto keeper = make();
  keeper->start();
  keeper->want(wanting(image));
  EXPECT_TRUE(comes(HasImage::What::Here));
  keeper->want(std::make_shared<const kcache::Wanted>());
  EXPECT_TRUE(told_.waitFor([](const kcache::NodeHas& has) { return has.caches.empty(); }));
}

TEST_F(KeeperTest, WhatDoesNotFitTheQuotaIsRefused) {
  const auto image = images_.make({{{"K/a", std::string(10'000, 'x')}}});
  const auto keeper = make(10'000);
  keeper->start();
  keeper->want(wanting(image));
  EXPECT_TRUE(comes(HasImage::What::Failed));
  keeper->stop();
  const MutexLock lock{mutex_};
  ASSERT_FALSE(ends_.empty());
  EXPECT_TRUE(ends_.front().how.error().message.starts_with("no room on this node"))
      << ends_.front().how.error().message;
}

TEST_F(KeeperTest, WhileAnImageIsBeingFetchedPodsAreCounted) {
  const model::ObjectKey two{"ns", "two"};
  const auto first = images_.make({{{"K/a", "one"}}});
  const auto second = images_.make({{{"K/a", "two"}}});
  const auto keeper = make();
  keeper->start();
  keeper->want(wanting(first));
  ASSERT_TRUE(comes(HasImage::What::Here));
  std::promise<void> go;
  images_.fate = [held = go.get_future().share()](const kcache::Digest&) {
    held.wait();
    return Status{};
  };
  kcache::Wanted both = *wanting(first);
  both.images.emplace(two, kcache::WantedImage{"quay.io/gkm/a:c", second, 0});
  keeper->want(std::make_shared<const kcache::Wanted>(std::move(both)));
  const auto secondIs = [&](HasImage::What what) {
    return told_.waitFor([&](const kcache::NodeHas& has) {
      return has.caches.contains(two) && has.caches.at(two).at(second.digest->text()).what == what;
    });
  };
  EXPECT_TRUE(secondIs(HasImage::What::Coming));
  ASSERT_TRUE(Usage::open(folder_.path("usage"), Disk{{}, false})
                  ->add({.volume_id = "v",
                         .target = "/t/v",
                         .cache = *CacheName::inNamespace("ns", "one"),
                         .image = *first.digest,
                         .pod_ns = "ns",
                         .pod_name = "pod",
                         .pod_uid = "u"}));
  EXPECT_TRUE(told_.waitFor([&](const kcache::NodeHas& has) {
    return has.caches.at(kOne).at(first.digest->text()).pods.size() == 1;
  }));
  go.set_value();
  EXPECT_TRUE(secondIs(HasImage::What::Here));
}

TEST_F(KeeperTest, WhatCameAndHowItEndedIsCounted) {
  const auto image = images_.make({{{"K/a", "one"}, {"K/b", "two and"}}});
  const auto keeper = make();
  keeper->start();
  keeper->want(wanting(image));
  ASSERT_TRUE(comes(HasImage::What::Here));
  keeper->stop();
  const KeeperFigures figures = keeper->figures();
  EXPECT_TRUE(figures.under_way.empty());
  EXPECT_EQ(figures.waiting, 0U);
  EXPECT_GT(figures.fetched_bytes, 0);
  EXPECT_EQ(figures.unpacked_bytes, 10);
  EXPECT_EQ(figures.store.bytes_shared, 0U);
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_TRUE(ends_[0].how);
  EXPECT_TRUE(ends_[0].was_admitted);
  EXPECT_EQ(ends_[0].job.cache, kOne);
  EXPECT_EQ(ends_[0].job.progress->bytes, figures.fetched_bytes);
}

TEST_F(KeeperTest, WhoMayNotHaveAnImageEndsBeforeAnythingCame) {
  const auto image = images_.make({{{"K/a", "one"}}});
  admitted_ = fail(Code::Invalid, "nobody signed it");
  const auto keeper = make();
  keeper->start();
  keeper->want(wanting(image));
  ASSERT_TRUE(comes(HasImage::What::Failed));
  keeper->stop();
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_FALSE(ends_[0].was_admitted);
  EXPECT_EQ(ends_[0].how.error().message, "nobody signed it");
  EXPECT_EQ(keeper->figures().fetched_bytes, 0);
}

TEST_F(KeeperTest, WhileTheStoreIsSweptWhereNewPodsMountIsTold) {
  const auto image = images_.make({{{"K/a", "one"}}});
  std::promise<void> go;
  std::promise<void> hangs;
  std::atomic<bool> is_to_hang = false;
  fault_ = [&, held = go.get_future().share()](std::string_view call) {
    if (call == "rmdir" && is_to_hang.exchange(false)) {  // a tree that goes, folder by folder
      hangs.set_value();
      held.wait();
    }
    return 0;
  };
  Keeper::Options options;
  options.reconciler.sweep.most_age = std::chrono::nanoseconds{1};
  options.reconciler.sweep_every = Duration::zero();
  const auto keeper = make(options, [this] { return images_.source(); });
  keeper->start();
  keeper->want(wanting(image));
  ASSERT_TRUE(comes(HasImage::What::Here));
  is_to_hang = true;
  keeper->want(std::make_shared<const kcache::Wanted>());
  hangs.get_future().wait();
  const kcache::MountPaths paths{{"u1", {.volumes = {{"k", "/home/vllm"}}}}};
  keeper->mountPaths(std::make_shared<const kcache::MountPaths>(paths));
  const auto isTold = [&] {
    const auto read = readMountPaths(folder_.path("usage"));
    return read && read->pods == paths;
  };
  const Mono end = clock_.now().mono + std::chrono::seconds{20};
  while (!isTold() && clock_.now().mono < end) { std::this_thread::yield(); }
  EXPECT_TRUE(isTold());
  go.set_value();
}

TEST_F(KeeperTest, ASecondOneOfAStoreWaitsUntilTheFirstIsGone) {
  auto first = make();
  first->start();
  ASSERT_TRUE(told_.waitFor([](const kcache::NodeHas& has) { return has.trouble.empty(); }));
  const auto second = make();
  second->start();
  EXPECT_TRUE(told_.waitFor([](const kcache::NodeHas& has) {
    return has.trouble.find("belongs to another agent") != std::string::npos;
  }));
  first.reset();
  EXPECT_TRUE(told_.waitFor([](const kcache::NodeHas& has) { return has.trouble.empty(); }));
}

TEST_F(KeeperTest, OneThatIsNotWantedAnyMoreBeforeItsRegistryIsAskedIsNobodysFault) {
  const model::ObjectKey two{"ns", "two"};
  const auto image = images_.make({{{"K/a", "one"}}});
  kcache::Wanted other;
  other.images.emplace(two, kcache::WantedImage{"quay.io/gkm/a:b", image, 0});
  Keeper* keeper = nullptr;
  std::atomic<bool> is_first = true;
  const auto made = make({}, [&] {
    if (is_first.exchange(false)) {
      keeper->want(std::make_shared<const kcache::Wanted>(other));
      EXPECT_TRUE(told_.waitFor([&](const kcache::NodeHas& has) { return has.caches.contains(two); }));
    }
    return images_.source();
  });
  keeper = made.get();
  made->start();
  made->want(wanting(image));
  const auto end = endOf(kOne);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->how.error().code, Code::Conflict);
  EXPECT_EQ(end->how.error().message, image.text() + ": it was to end before it was here");
}

TEST_F(KeeperTest, StopEndsWhatIsUnderWay) {
  Mutex mutex;
  Signal changed;
  bool is_cancelled = false;
  bool has_begun = false;
  struct Stuck final : ImageSource {
    Mutex& mutex;
    Signal& changed;
    bool& is_cancelled;
    bool& has_begun;
    Stuck(Mutex& m, Signal& c, bool& over, bool& begun)
        : mutex{m}, changed{c}, is_cancelled{over}, has_begun{begun} {}
    Result<FetchedManifest> manifest(const kcache::Reference&) override {
      const MutexLock lock{mutex};
      has_begun = true;
      changed.notifyAll();
      while (!is_cancelled) { changed.wait(mutex); }
      return fail(Code::Unavailable, "cancelled");
    }
    Status blob(const kcache::Reference&, const kcache::Descriptor&, const ByteSink&) override { return {}; }
    void cancel() override {
      const MutexLock lock{mutex};
      is_cancelled = true;
      changed.notifyAll();
    }
  };
  Keeper keeper{{.reconciler = {.root = folder_.path("store"), .usage_folder = folder_.path("usage")},
                 .look = std::chrono::milliseconds{10}},
                {.sources = [&](const model::ObjectKey&,
                                const kcache::WantedImage&) -> Result<std::unique_ptr<ImageSource>> {
                   return std::make_unique<Stuck>(mutex, changed, is_cancelled, has_begun);
                 },
                 .admit = [](const model::ObjectKey&, const kcache::WantedImage&) { return Status{}; },
                 .tell = [](const kcache::NodeHasPtr&) {}},
                Disk{{}, false},
                clock_,
                pause_};
  keeper.start();
  keeper.want(wanting(images_.make({{{"K/a", "one"}}})));
  {
    const MutexLock lock{mutex};
    while (!has_begun) { changed.wait(mutex); }
  }
  keeper.stop();
  EXPECT_TRUE(is_cancelled);
}

/// Two registries that give a byte now and then, for ever, and an honest one.
TEST_F(KeeperTest, ADrippingRegistryHoldsUpNobody) {
  class Dripping final : public ImageSource {
   public:
    Dripping(std::unique_ptr<ImageSource> of, std::atomic<int>& begun) : of_{std::move(of)}, begun_{begun} {}
    Result<FetchedManifest> manifest(const kcache::Reference& image) override { return of_->manifest(image); }
    Status blob(const kcache::Reference& repository, const kcache::Descriptor& blob,
                const ByteSink& sink) override {
      if (blob.size > 100'000) { ++begun_; }
      return of_->blob(repository, blob, [&](std::string_view bytes) {
        while (bytes.size() > 50'000) {
          if (is_over_ || !sink(bytes.substr(0, 1))) { return false; }
          bytes.remove_prefix(1);
          std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        return sink(bytes);
      });
    }
    void cancel() override { is_over_ = true; }

   private:
    const std::unique_ptr<ImageSource> of_;
    std::atomic<int>& begun_;
    std::atomic<bool> is_over_ = false;
  };
  std::atomic<int> begun = 0;
  const auto large = [&](char letter) {
    std::map<std::string, std::string> files;
    Rng rng{static_cast<std::uint64_t>(letter)};
    std::string& bytes = files["K/large"];
    while (bytes.size() < 200'000) { bytes += static_cast<char>(rng.below(256)); }
    return images_.make({files});
  };
  const auto first = large('a');
  const auto second = large('b');
  const auto honest = images_.make({{{"K/a", "one"}}});
  Keeper::Options options;
  options.turn = std::chrono::milliseconds{20};
  const auto keeper = make(options, [&] { return std::make_unique<Dripping>(images_.source(), begun); });
  keeper->start();
  kcache::Wanted wanted;
  const auto want = [&](const model::ObjectKey& cache, const kcache::Reference& image) {
    wanted.images.emplace(cache, kcache::WantedImage{"quay.io/gkm/a:b", image, 0});
    keeper->want(std::make_shared<const kcache::Wanted>(wanted));
  };
  want({"greedy-1", "a"}, first);
  want({"greedy-2", "b"}, second);
  ASSERT_TRUE(told_.waitFor([&](const kcache::NodeHas&) { return begun == 2; })) << "both workers are busy";
  want(kOne, honest);
  EXPECT_TRUE(comes(HasImage::What::Here));
  EXPECT_EQ(keeper->figures().under_way.size(), 2U) << "they go on, where they were";
}

/// A second goes by with each look at it.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override { return {Mono{std::chrono::seconds{++looks_}}, {}}; }

 private:
  mutable std::atomic<int> looks_ = 0;
};

TEST(Fetch, NobodyWaitsForALayerThatAnotherRegistryGives) {
  const TempFolder folder;
  auto opened = Store::open(folder.path("store"), Disk{{}, false});
  ASSERT_TRUE(opened);
  SharedStore store{*std::move(opened)};
  LayerClaims claims;
  const ManualClock clock;
  ImagesOnPaper images;
  const auto image = images.make({{{"K/a", "a"}}});
  Fetching how{.store = store, .claims = claims, .clock = clock};
  FetchProgress progress;
  int in_it = 0;
  images.fate = [&](const kcache::Digest&) -> Status {
    if (++in_it != 2) { return {}; }  // 1: the config, 2: the layer, which this one is slow to give
    kcache::Reference elsewhere = image;
    elsewhere.registry = "other.io";
    FetchProgress of_other;
    const auto source = images.source();
    return fetchImage(how, *source, elsewhere, of_other);
  };
  const auto source = images.source();
  ASSERT_TRUE(fetchImage(how, *source, image, progress));
  EXPECT_GT(in_it, 2);
  const MutexLock lock{store.mutex};
  EXPECT_TRUE(store.store.verify(*image.digest));
}

/// An image whose only layer is under way for as long as another fetch of it goes on, of the same registry.
class FetchBesideAnother : public ::testing::Test {
 protected:
  /// How the other one ends.
  Status other(const std::function<void(Fetching& how)>& change) {
    Status out;
    int in_it = 0;
    images_.fate = [&](const kcache::Digest&) -> Status {
      if (++in_it != 2) { return {}; }  // 1: the config, 2: the layer
      Fetching how = how_;
      change(how);
      FetchProgress progress;
      const auto source = images_.source();
      out = fetchImage(how, *source, image_, progress);
      return {};
    };
    FetchProgress progress;
    const auto source = images_.source();
    EXPECT_TRUE(fetchImage(how_, *source, image_, progress));
    return out;
  }

  const TempFolder folder_;
  SharedStore store_{*Store::open(folder_.path("store"), Disk{{}, false})};
  LayerClaims claims_;
  const ManualClock clock_;
  ImagesOnPaper images_;
  const kcache::Reference image_ = images_.make({{{"K/a", "a"}}});
  Fetching how_{.store = store_, .claims = claims_, .clock = clock_};
};

TEST_F(FetchBesideAnother, WaitsForAWhileAndFetchesTheLayerThen) {
  EXPECT_TRUE(other([](Fetching& how) { how.longest_wait = Duration::zero(); }));
  const MutexLock lock{store_.mutex};
  EXPECT_TRUE(store_.store.verify(*image_.digest));
}

TEST_F(FetchBesideAnother, EndsAtOnceWhenItIsTo) {
  const Status out = other([](Fetching& how) { how.goes_on = [] { return false; }; });
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Conflict);
}

TEST_F(FetchBesideAnother, OneThatWasHereAndWentComesWithATurnOnly) {
  how_.is_here = true;
  FetchProgress progress;
  const auto source = images_.source();
  const Status out = fetchImage(how_, *source, image_, progress);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Unavailable);
  EXPECT_EQ(images_.bytes(), 0);
}

TEST(FetchRate, WaitingForAnotherFetchOfALayerIsCountedApart) {
  const TempFolder folder;
  auto opened = Store::open(folder.path("store"), Disk{{}, false});
  ASSERT_TRUE(opened);
  SharedStore store{*std::move(opened)};
  LayerClaims claims;
  const TickingClock clock;
  ImagesOnPaper images;
  const auto image = images.make({{{"K/a", "a"}}, {{"K/b", "b"}}});
  FetchProgress progress;
  Fetching how{.store = store, .claims = claims, .clock = clock};
  const auto source = images.source();
  ASSERT_TRUE(fetchImage(how, *source, image, progress));
  EXPECT_EQ(progress.waited.load(), std::chrono::seconds{2}) << "one look for each layer, before and after";
}

// Whoever writes a manifest can say any size of a layer that the node has.
TEST_F(FetchBesideAnother, WhatIsHereAlreadyIsNoSpeedOfTheRegistry) {
  FetchProgress first;
  const auto source = images_.source();
  ASSERT_TRUE(fetchImage(how_, *source, image_, first));
  EXPECT_EQ(first.came.load(), first.bytes.load());
  EXPECT_GT(first.came.load(), 0);
  const auto more = images_.make({{{"K/a", "a"}}, {{"K/b", "b"}}});  // of which it has the first layer
  FetchProgress second;
  const auto again = images_.source();
  ASSERT_TRUE(fetchImage(how_, *again, more, second));
  EXPECT_EQ(second.bytes.load(), second.total.load());
  EXPECT_EQ(second.came.load(), second.total.load() - first.total.load());
}

TEST(FetchRate, IsJudgedByTheTimeThatTheRegistryTook) {
  using std::chrono::seconds;
  const auto grace = std::chrono::duration_cast<seconds>(Keeper::kGrace);
  FetchProgress progress;
  progress.came = 999;
  EXPECT_FALSE(isTooSlow(progress, grace + seconds{0}, 100)) << "a while is given to each";
  EXPECT_FALSE(isTooSlow(progress, grace + seconds{9}, 100));
  EXPECT_TRUE(isTooSlow(progress, grace + seconds{10}, 100));
  progress.waited = seconds{1};
  EXPECT_FALSE(isTooSlow(progress, grace + seconds{10}, 100));
  EXPECT_TRUE(isTooSlow(progress, grace + seconds{11}, 100));
}

TEST(ByteRate, WhoComesTooEarlyWaits) {
  ManualClock clock;
  ByteRate rate{1000, clock};
  EXPECT_EQ(rate.take(500), Duration::zero());
  EXPECT_EQ(rate.take(500), std::chrono::milliseconds{500});
  clock.advance(std::chrono::seconds{10});
  EXPECT_EQ(rate.take(500), Duration::zero());
  ByteRate free{0, clock};
  EXPECT_EQ(free.take(1 << 30), Duration::zero());
  EXPECT_EQ(free.take(1 << 30), Duration::zero());
}

}  // namespace
}  // namespace gs::cacherim
