#include "cacherim/store/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cacherim/store/store_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

TEST_F(StoreTest, ATreeIsWhatItsLayersSayInTheirOrder) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  ASSERT_TRUE(putLayer(store, "two", kTwo, now_));
  put(store, "image", {"one", "two"});
  EXPECT_EQ(readFolder(store.treeRoot(digest("image"))),
            (Content{{"k/a.json", "AA"}, {"*k/b.so", "bbbbbb"}, {"empty/", ""}, {"l/c", "cccc"}}));
  put(store, "other", {"two", "one"});
  EXPECT_EQ(readFolder(store.treeRoot(digest("other")))["k/a.json"], "aaaa");
  EXPECT_TRUE(store.verify(digest("image")));
  const auto record = store.tree(digest("image"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->bytes, 12U);
  EXPECT_EQ(record->files, 3U);
  EXPECT_TRUE(readFolder(root() + "/tmp").empty());
}

TEST_F(StoreTest, ASecondCacheOfTheSameLayersCostsNoByte) {
  Store& store = open();
  std::uint64_t downloaded = 0;
  for (const std::string image : {"first", "second"}) {
    for (const auto& [name, content] : {std::pair{"one", kOne}, std::pair{"two", kTwo}}) {
      if (store.hasLayer(digest(name))) { continue; }
      for (const auto& [path, text] : content) { downloaded += text.size(); }
      ASSERT_TRUE(putLayer(store, name, content, now_));
    }
    put(store, image, {"one", "two"});
    ASSERT_TRUE(store.place(cacheIn("team", image), digest(image), now_));
    EXPECT_EQ(downloaded, 16U) << image;
    EXPECT_EQ(store.counters().bytes_new, 16U) << image;
    EXPECT_EQ(store.counters().bytes_copied, 0U) << image;
    EXPECT_EQ(store.bytes(), 16U);
  }
  EXPECT_EQ(bytesOnDisk(), 16U);
  EXPECT_EQ(readFolder(root() + "/caches/team/first/" + digest("first").text()),
            readFolder(root() + "/caches/team/second/" + digest("second").text()));
}

TEST_F(StoreTest, TheSameContentOfAnotherLayerIsKeptOnce) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", {{"a", "same"}, {"b", "same"}, {"*c", "same"}}, now_));
  ASSERT_TRUE(putLayer(store, "two", {{"d", "same"}}, now_));
  EXPECT_EQ(store.counters().bytes_new, 8U);  // once to read, once to execute
  EXPECT_EQ(store.counters().bytes_shared, 8U);
  EXPECT_EQ(bytesOnDisk(), 8U);
}

TEST_F(StoreTest, NobodyMayWriteToWhatIsShared) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  const std::string tree = store.treeRoot(digest("image"));
  struct stat is {};
  ASSERT_EQ(::stat((tree + "/k/a.json").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777U, 0444U);
  ASSERT_EQ(::stat((tree + "/k/b.so").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777U, 0555U);
}

TEST_F(StoreTest, AnyUserOfAPodMayWriteBesideItsFilesAndNobodyOfTheMachineGetsThere) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "a", {{"k/deep/f", "x"}, {"empty/", ""}}, now_));
  put(store, "i", {"a"});
  const auto mode = [](const std::string& path) { return std::filesystem::status(path).permissions(); };
  for (const char* folder : {"/k", "/k/deep", "/empty"}) {
    EXPECT_EQ(mode(store.treeRoot(digest("i")) + folder), std::filesystem::perms{0777}) << folder;
  }
  EXPECT_EQ(mode(root() + "/trees"), std::filesystem::perms{0700});
  EXPECT_EQ(mode(root() + "/tmp"), std::filesystem::perms{0700})
      << "trees lie there before they have their names";
}

TEST_F(StoreTest, ExtrasStandWhereALayerHasOtherBytes) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  ASSERT_TRUE(store.publishTree({digest("image"), {digest("one")}},
                                extras({{"k/a.json", "mine"}, {"new", "n"}}), now_));
  EXPECT_EQ(readFolder(store.treeRoot(digest("image")))["k/a.json"], "mine");
  EXPECT_EQ(readFolder(store.treeRoot(digest("image")))["new"], "n");
  EXPECT_TRUE(store.verify(digest("image")));
  for (const char* path : {"../x", "/x", "a//b", "", "a/..", "./a"}) {
    const Status bad = store.publishTree({digest("bad"), {digest("one")}}, extras({{path, "x"}}), now_);
    ASSERT_FALSE(bad) << path;
    EXPECT_EQ(bad.error().code, Code::Invalid) << path;
  }
  EXPECT_FALSE(store.hasTree(digest("bad")));
  Store& again = open();
  EXPECT_EQ(again.bytes(), bytesOnDisk());
}

TEST_F(StoreTest, ADraftThatIsNotPublishedLeavesNothing) {
  Store& store = open();
  {
    auto draft = store.draft();
    ASSERT_TRUE(draft);
    static_cast<void>(fillDraft(*draft, "one", kOne));
  }
  EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp"));
}

TEST_F(StoreTest, TwiceIsOnce) {
  Store& store = open();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(putLayer(store, "one", kOne, now_));
    put(store, "image", {"one"});
    const auto placed = store.place(cacheIn("team", "c"), digest("image"), now_);
    ASSERT_TRUE(placed) << placed.error().message;
  }
  EXPECT_EQ(store.placed()->size(), 1U);
  EXPECT_EQ(bytesOnDisk(), 10U);
}

TEST_F(StoreTest, IsTheSameWhenItIsOpenedAgain) {
  open();
  ASSERT_TRUE(putLayer(*store_, "one", kOne, now_));
  put(*store_, "image", {"one"});
  ASSERT_TRUE(store_->place(cacheIn("team", "c"), digest("image"), now_));
  Store& again = open();
  EXPECT_TRUE(again.hasLayer(digest("one")));
  EXPECT_TRUE(again.hasTree(digest("image")));
  EXPECT_EQ(again.bytes(), 10U);
  EXPECT_EQ(again.placed()->size(), 1U);
  EXPECT_TRUE(again.verify(digest("image")));
}

TEST_F(StoreTest, BelongsToOneProcess) {
  open();
  const auto second = Store::open(root(), Disk{});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::Conflict);
}

TEST_F(StoreTest, VerifyNamesWhatIsNotAsItShouldBe) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  const std::string tree = store.treeRoot(digest("image"));
  std::filesystem::remove(tree + "/k/a.json");
  EXPECT_NE(store.verify(digest("image")).error().message.find("k/a.json"), std::string::npos);
  ASSERT_TRUE(fill(tree, {{"k/a.json", "evil"}}));
  EXPECT_NE(store.verify(digest("image")).error().message.find("k/a.json"), std::string::npos);
}

TEST_F(StoreTest, AFileThatHasAsManyLinksAsItMayIsCopied) {
  Store& store = open([](std::string_view call) { return call == "link" ? EMLINK : 0; });
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  EXPECT_EQ(readFolder(store.treeRoot(digest("image"))), kOne);
  EXPECT_EQ(store.counters().bytes_copied, 10U);
  EXPECT_EQ(store.counters().links, 0U);
}

// ---- Places

TEST_F(StoreTest, ANamespaceCalledClusterScopedHasAFolderOfItsOwn) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  ASSERT_TRUE(putLayer(store, "two", kTwo, now_));
  put(store, "image1", {"one"});
  put(store, "image2", {"two"});
  const CacheName cluster = *CacheName::ofCluster("c");
  const CacheName in_namespace = cacheIn("cluster-scoped", "c");
  EXPECT_NE(cluster, in_namespace);
  ASSERT_TRUE(store.place(cluster, digest("image1"), now_));
  ASSERT_TRUE(store.place(in_namespace, digest("image2"), now_));
  const std::string below = "/caches/cluster-scoped/c";
  EXPECT_TRUE(std::filesystem::exists(root() + below + '/' + digest("image1").text() + "/k/b.so"));
  EXPECT_FALSE(std::filesystem::exists(root() + below + '/' + digest("image2").text()));
  auto placed = *store.placed();
  EXPECT_EQ(placed.size(), 2U);
  EXPECT_NE(std::find(placed.begin(), placed.end(), std::pair{in_namespace, digest("image2")}), placed.end());
  ASSERT_TRUE(store.unplace(in_namespace, digest("image2")));
  EXPECT_EQ(store.placed()->size(), 1U);
}

TEST_F(StoreTest, UnplacingLeavesNoEmptyFolderAndIsFineTwice) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  ASSERT_TRUE(store.place(cacheIn("team", "c"), digest("image"), now_));
  ASSERT_TRUE(store.place(cacheIn("team", "d"), digest("image"), now_));
  ASSERT_TRUE(store.unplace(cacheIn("team", "c"), digest("image")));
  EXPECT_FALSE(std::filesystem::exists(root() + "/caches/team/c"));
  EXPECT_TRUE(std::filesystem::exists(root() + "/caches/team/d"));
  ASSERT_TRUE(store.unplace(cacheIn("team", "d"), digest("image")));
  EXPECT_FALSE(std::filesystem::exists(root() + "/caches/team"));
  EXPECT_TRUE(store.unplace(cacheIn("team", "d"), digest("image")));
  EXPECT_TRUE(store.hasTree(digest("image")));
}

TEST_F(StoreTest, AFolderThatIsALinkToElsewhereIsNotFollowed) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  const std::string outside = folder_.path("outside");
  std::filesystem::create_directories(outside);
  std::filesystem::create_symlink(outside, root() + "/caches/team");
  EXPECT_FALSE(store.place(cacheIn("team", "c"), digest("image"), now_));
  EXPECT_TRUE(std::filesystem::is_empty(outside));
}

// ---- Old trees

class OldTreeTest : public StoreTest {
 protected:
  [[nodiscard]] std::string oldPath() const { return root() + "/caches/team/c/" + digest("image").text(); }
  Store& withOld(const Content& content) {
    Store& store = open();
    EXPECT_TRUE(fill(oldPath(), content));
    return store;
  }
};

TEST_F(OldTreeTest, IsLeftAloneUntilItsImageIsKnown) {
  Store& store = withOld(kOne);
  const auto old = *store.oldTrees();
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].cache, cacheIn("team", "c"));
  EXPECT_EQ(store.adopt(old[0])->what, Adoption::Unknown);
  EXPECT_FALSE(std::filesystem::is_symlink(oldPath()));
}

TEST_F(OldTreeTest, IsAdoptedWhenEveryFileIsRight) {
  Content same = kOne;
  same.erase("empty/");
  Store& store = withOld(same);
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  put(store, "image", {"one"});
  const auto placed = store.place(cacheIn("team", "c"), digest("image"), now_);
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(placed->what, Adoption::Adopted);
  EXPECT_TRUE(std::filesystem::is_symlink(oldPath()));
  EXPECT_TRUE(store.oldTrees()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp"));
}

TEST_F(OldTreeTest, IsAdoptedWithWhatTheLayerHadBeforePathsWereRewritten) {
  Store& store = withOld(kOne);
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  ASSERT_TRUE(store.publishTree({digest("image"), {digest("one")}}, extras({{"k/a.json", "mine"}}), now_));
  EXPECT_EQ(store.adopt(store.oldTrees()->at(0))->what, Adoption::Adopted);
}

TEST_F(OldTreeTest, OneThatDiffersIsLeftAloneAndSaid) {
  struct Case {
    Content change;
    const char* missing;
    const char* said;
  };
  for (const Case& one : {Case{{{"k/a.json", "evil"}}, "", "k/a.json"},
                          Case{{{"k/more.so", "evil"}}, "", "k/more.so"}, Case{{}, "k/a.json", "k/a.json"}}) {
    store_.reset();
    std::filesystem::remove_all(root());
    Store& store = withOld(kOne);
    ASSERT_TRUE(fill(oldPath(), one.change));
    if (*one.missing != '\0') { std::filesystem::remove(oldPath() + '/' + one.missing); }
    ASSERT_TRUE(putLayer(store, "one", kOne, now_));
    put(store, "image", {"one"});
    const auto placed = store.place(cacheIn("team", "c"), digest("image"), now_);
    ASSERT_TRUE(placed) << placed.error().message;
    EXPECT_EQ(placed->what, Adoption::Different);
    EXPECT_EQ(placed->detail, one.said);
    EXPECT_FALSE(std::filesystem::is_symlink(oldPath()));
    EXPECT_TRUE(store.unplace(cacheIn("team", "c"), digest("image")));
    EXPECT_TRUE(std::filesystem::exists(oldPath()));
  }
}

// ---- Sweep

class SweepTest : public StoreTest {
 protected:
  /// Images "i1" (layers a, b), "i2" (b, c), used one after the other; each layer has 10 bytes.
  Store& filled() {
    Store& store = open();
    for (const char* layer : {"a", "b", "c"}) {
      EXPECT_TRUE(putLayer(store, layer, {{std::string{"f"} + layer, std::string(10, *layer)}}, now_));
    }
    put(store, "i1", {"a", "b"});
    now_ += 1h;
    put(store, "i2", {"b", "c"});
    EXPECT_TRUE(store.place(cacheIn("team", "c1"), digest("i1"), now_ - 1h));
    EXPECT_TRUE(store.place(cacheIn("team", "c2"), digest("i2"), now_));
    return store;
  }
};

TEST_F(SweepTest, NothingGoesWithoutQuotaAndAge) {
  Store& store = filled();
  const auto out = store.sweep({}, {}, now_ + 1000h);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->trees.empty());
  EXPECT_TRUE(out->layers.empty());
  EXPECT_EQ(store.bytes(), 30U);
}

TEST_F(SweepTest, TheQuotaTakesWhatWasUsedLongestAgoAndNoSharedLayer) {
  Store& store = filled();
  const auto out = store.sweep({}, {.quota = 20}, now_);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->trees, std::vector{digest("i1")});
  EXPECT_EQ(out->layers, std::vector{digest("a")});
  EXPECT_EQ(out->bytes_freed, 10U);
  EXPECT_FALSE(out->over_quota);
  EXPECT_EQ(store.bytes(), 20U);
  EXPECT_EQ(bytesOnDisk(), 20U);
  EXPECT_TRUE(store.verify(digest("i2")));
  EXPECT_EQ(store.placed()->size(), 1U);  // nobody finds a tree that is gone
  EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp"));
}

TEST_F(SweepTest, LayersThatNoTreeHasHaveNoGraceWhereThereIsTooMuch) {
  Store& store = filled();
  ASSERT_TRUE(putLayer(store, "of-none", {{"x", "0123456789"}}, now_));
  ASSERT_TRUE(putLayer(store, "about-to-be-used", {{"y", "9876543210"}}, now_));
  const std::set<kcache::Digest> in_use{digest("i1"), digest("i2"), digest("about-to-be-used")};
  EXPECT_TRUE(store.sweep(in_use, {.quota = 50}, now_ + 1min)->layers.empty());
  const auto out = store.sweep(in_use, {.quota = 49}, now_ + 1min);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->layers, std::vector{digest("of-none")});
  EXPECT_EQ(store.bytes(), 40U);
}

TEST_F(SweepTest, UseMakesItYoung) {
  Store& store = filled();
  ASSERT_TRUE(store.touch(digest("i1"), now_ + 1h));
  EXPECT_EQ(store.sweep({}, {.quota = 20}, now_ + 1h)->trees, std::vector{digest("i2")});
}

TEST_F(SweepTest, WhatIsInUseNeverGoes) {
  Store& store = filled();
  const auto out = store.sweep({digest("i1"), digest("i2")}, {.quota = 1, .most_age = 1s}, now_ + 1000h);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->trees.empty());
  EXPECT_TRUE(out->over_quota);
  EXPECT_EQ(store.bytes(), 30U);
  const auto one = store.sweep({digest("i1")}, {.quota = 1}, now_ + 1000h);
  EXPECT_EQ(one->trees, std::vector{digest("i2")});
  EXPECT_TRUE(one->over_quota);
  EXPECT_TRUE(store.verify(digest("i1")));
}

TEST_F(SweepTest, AgeTakesWhatIsOlder) {
  Store& store = filled();
  EXPECT_EQ(store.sweep({}, {.most_age = 90min}, now_ + 1h)->trees, std::vector{digest("i1")});
  open();
  EXPECT_EQ(store_->sweep({}, {.most_age = 90min}, now_ + 1h)->trees.size(),
            0U);  // times outlive the process
  EXPECT_EQ(store_->sweep({}, {.most_age = 90min}, now_ + 2h)->trees, std::vector{digest("i2")});
  EXPECT_EQ(bytesOnDisk(), 0U);
}

TEST_F(SweepTest, ARecordThatCannotBeReadKeepsNoOtherFromGoing) {
  Store& store = filled();
  std::ofstream{root() + "/trees/" + std::string{digest("i1").hex()} + "/record.json"} << "nonsense";
  const auto out = store.sweep({}, {.most_age = 1s}, now_ + 1000h);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->trees, (std::vector{digest("i1"), digest("i2")}));
  EXPECT_EQ(out->layers.size(), 3U);
  EXPECT_EQ(store.inodes(), 0U);
  EXPECT_EQ(store.bytes(), 0U);
}

TEST_F(SweepTest, OneThatIsInUseAndWhoseRecordIsSpoiltStaysAndIsDamaged) {
  Store& store = filled();
  std::ofstream{root() + "/trees/" + std::string{digest("i1").hex()} + "/record.json"} << "nonsense";
  std::ofstream{root() + "/layers/" + std::string{digest("c").hex()} + ".json"} << "nonsense";
  ASSERT_TRUE(store.sweep({digest("i1")}, {.most_age = 1s}, now_ + 1000h));
  EXPECT_TRUE(store.hasTree(digest("i1")));
  EXPECT_FALSE(store.hasTree(digest("i2")));
  EXPECT_TRUE(store.damagedTrees().contains(digest("i1")));
  EXPECT_FALSE(store.hasLayer(digest("c")));
}

/// As few descriptors as make some of the calls fail.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(free);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(free + more);
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Pods may have them mounted.
TEST_F(SweepTest, WhatTheDiskDoesNotGiveForNowIsNotTakenForBroken) {
  filled();
  store_.reset();
  int failed = 0;
  for (int more = 0; more < 16; ++more) {
    {
      const FewDescriptors few{more};
      failed += Store::open(root(), Disk{{}, false}) ? 0 : 1;
    }
    const Store& store = open();
    EXPECT_TRUE(store.hasTree(digest("i1")) && store.hasTree(digest("i2"))) << more;
    store_.reset();
  }
  EXPECT_GT(failed, 2);
  EXPECT_LT(failed, 16);
}

TEST_F(SweepTest, ALayerWithoutATreeIsKeptForAWhileOrWhileItIsInUse) {
  Store& store = open();
  ASSERT_TRUE(putLayer(store, "a", {{"f", "x"}}, now_));
  EXPECT_TRUE(store.sweep({}, {}, now_ + 59min)->layers.empty());
  EXPECT_TRUE(store.sweep({digest("a")}, {}, now_ + 2h)->layers.empty());
  EXPECT_EQ(store.sweep({}, {}, now_ + 1h)->layers, std::vector{digest("a")});
  EXPECT_EQ(bytesOnDisk(), 0U);
}

}  // namespace
}  // namespace gs::cacherim
