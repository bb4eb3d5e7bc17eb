// The store after a crash at any call that changes the disk, and on a disk that is full at any of them.
#include <cerrno>

#include "cacherim/store/store_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

const Content kTree1{{"k/a.json", "mine"}, {"*k/b.so", "bbbbbb"}, {"empty/", ""}};
const Content kTree2{{"k/a.json", "AA"}, {"*k/b.so", "bbbbbb"}, {"empty/", ""}, {"l/c", "cccc"}};

class StoreCrash : public StoreTest {
 protected:
  void SetUp() override {
    // An old tree that the scenario adopts.
    ASSERT_TRUE(fill(root() + "/caches/team/c2/" + digest("i2").text(),
                     {{"k/a.json", "AA"}, {"*k/b.so", "bbbbbb"}, {"l/c", "cccc"}}));
  }
  /// All that a store does, one after the other; the first error ends it.
  Status scenario(Store& store) const {
    const auto steps = {
        std::function<Status()>{[&] { return putLayer(store, "one", kOne, now_); }},
        {[&] {
          return store.publishTree({digest("i1"), {digest("one")}}, extras({{"k/a.json", "mine"}}), now_);
        }},
        {[&] { return status(store.place(cacheIn("team", "c1"), digest("i1"), now_)); }},
        {[&] { return putLayer(store, "two", kTwo, now_); }},
        {[&] {
          return store.publishTree({digest("i2"), {digest("one"), digest("two")}}, noExtras, now_ + 1h);
        }},
        {[&] { return status(store.place(cacheIn("team", "c2"), digest("i2"), now_ + 1h)); }},
        {[&] { return store.touch(digest("i2"), now_ + 2h); }},
        {[&] { return status(store.sweep({digest("i2")}, {.most_age = 1min}, now_ + 3h)); }},
        {[&] { return store.unplace(cacheIn("team", "c1"), digest("i1")); }},
    };
    for (const auto& step : steps) {
      if (Status out = step(); !out) { return out; }
    }
    return {};
  }
  template <class T>
  static Status status(const Result<T>& result) {
    return result ? Status{} : tl::unexpected<Error>(result.error());
  }
  /// What holds at every moment that somebody could look.
  void expectWhole(const Store& store, const std::string& when) const {
    const std::pair<const char*, Content> trees[] = {{"i1", kTree1}, {"i2", kTree2}};
    for (const auto& [image, content] : trees) {
      const bool there = std::filesystem::exists(root() + "/trees/" + std::string{digest(image).hex()});
      EXPECT_EQ(there, store.hasTree(digest(image))) << when;
      if (!there) { continue; }
      EXPECT_EQ(readFolder(store.treeRoot(digest(image))), content) << when;
      EXPECT_TRUE(store.verify(digest(image))) << when;
    }
    const auto placed = store.placed();
    ASSERT_TRUE(placed) << when;
    for (const auto& [cache, image] : *placed) { EXPECT_TRUE(store.hasTree(image)) << when; }
  }
  void expectDone(const std::string& when) const {
    EXPECT_FALSE(store_->hasTree(digest("i1"))) << when;
    EXPECT_TRUE(store_->hasTree(digest("i2"))) << when;
    EXPECT_EQ(store_->placed()->size(), 1U) << when;
    EXPECT_TRUE(store_->oldTrees()->empty()) << when;
    EXPECT_EQ(store_->bytes(), bytesOnDisk()) << when;
    EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp")) << when;
  }
  void startOver() {
    store_.reset();
    std::filesystem::remove_all(root());
    SetUp();
  }
};

TEST_F(StoreCrash, AtEveryCallIsPutInOrderByTheNextStart) {
  int calls = 0;
  for (int crash_at = 1;; ++crash_at) {
    startOver();
    calls = 0;
    std::string last;
    Status out;
    {
      Disk dying{[&](std::string_view call) {
                   last = call;
                   return ++calls > crash_at ? EIO : 0;  // the process is gone: nothing changes any more
                 },
                 false};
      auto opened = Store::open(root(), std::move(dying));
      if (opened) {
        Store store = std::move(*opened);
        out = scenario(store);
      } else {
        out = tl::unexpected<Error>(opened.error());
      }
    }
    const std::string when = "after call " + std::to_string(crash_at) + ", before " + last;
    if (calls <= crash_at) {
      EXPECT_TRUE(out) << out.error().message;
      break;
    }
    expectWhole(open(), when);
    EXPECT_EQ(store_->bytes(), bytesOnDisk()) << when;
    EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp")) << when;
    const Status again = scenario(*store_);
    EXPECT_TRUE(again) << when << ": " << again.error().message;
    expectDone(when);
    if (HasFailure()) { return; }
  }
  EXPECT_GT(calls, 50);
  open();
  expectDone("without a crash");
}

TEST_F(StoreCrash, AFullDiskAtAnyCallIsAnErrorAndTheStoreGoesOn) {
  int while_opening = 0;  // what is tried here is what comes after
  open([&](std::string_view) {
    ++while_opening;
    return 0;
  });
  for (int full_at = while_opening + 1;; ++full_at) {
    startOver();
    int calls = 0;
    open([&](std::string_view) { return ++calls == full_at ? ENOSPC : 0; });
    const Status out = scenario(*store_);
    if (calls < full_at) { break; }
    const std::string when = "full at call " + std::to_string(full_at);
    if (!out) {
      EXPECT_EQ(out.error().code, Code::Unavailable) << when;
      EXPECT_NE(out.error().message.find("No space"), std::string::npos) << out.error().message;
    }
    expectWhole(*store_, when);
    const Status again = scenario(*store_);
    EXPECT_TRUE(again) << when << ": " << again.error().message;
    expectWhole(*store_, when);
    open();
    expectDone(when);
    if (HasFailure()) { return; }
  }
}

TEST_F(StoreCrash, AFileThatIsCutIsNotPartOfALayerAnyMore) {
  open();
  ASSERT_TRUE(putLayer(*store_, "one", kOne, now_));
  put(*store_, "image", {"one"});
  store_.reset();
  for (const auto& one : std::filesystem::recursive_directory_iterator{root() + "/files"}) {
    if (one.is_regular_file() && one.file_size() == 6) { std::filesystem::resize_file(one.path(), 3); }
  }
  open();
  EXPECT_FALSE(store_->hasLayer(digest("one")));
  EXPECT_TRUE(store_->damagedTrees().contains(digest("image"))) << "pods may have it";
  EXPECT_EQ(bytesOnDisk(), 0U);
  ASSERT_TRUE(putLayer(*store_, "one", kOne, now_));
  put(*store_, "image", {"one"});
  EXPECT_TRUE(store_->verify(digest("image")));
  EXPECT_TRUE(store_->damagedTrees().empty());
}

TEST_F(StoreCrash, RecordsThatAreNonsenseGoWithWhatTheySay) {
  open();
  ASSERT_TRUE(putLayer(*store_, "one", kOne, now_));
  put(*store_, "image", {"one"});
  store_.reset();
  std::ofstream{root() + "/layers/" + std::string{digest("one").hex()} + ".json"} << "{";
  std::ofstream{root() + "/layers/nonsense"} << "{}";
  std::filesystem::create_directories(root() + "/trees/nonsense/root");
  open();
  EXPECT_TRUE(store_->damagedTrees().contains(digest("image"))) << "pods may have it";
  EXPECT_TRUE(std::filesystem::is_empty(root() + "/layers"));
  ASSERT_TRUE(store_->sweep({}, {}, now_));
  EXPECT_TRUE(std::filesystem::is_empty(root() + "/trees"));
  EXPECT_EQ(bytesOnDisk(), 0U);
}

}  // namespace
}  // namespace gs::cacherim
