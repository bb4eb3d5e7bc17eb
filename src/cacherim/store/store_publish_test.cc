// The steps of publishing: what takes long is done while others may be at the store.
#include <sys/stat.h>

#include "base/hash.h"
#include "cacherim/store/store_fixture_test.h"

namespace gs::cacherim {
namespace {

class StorePublish : public StoreTest {
 protected:
  /// A store that fails when it waits for the disk in a turn.
  Store& opened() {
    return open([this](std::string_view call) {
      if (call == "syncfs" && has_turn_) { waited_ = true; }
      return 0;
    });
  }
  StoreTurn turn(Store& store) {
    return [this, &store](const StoreStep& step) {
      ++turns_;
      if (before_turn_) { before_turn_(); }
      has_turn_ = true;
      Status out = step(store);
      has_turn_ = false;
      return out;
    };
  }
  Status publish(const Draft& draft, Store& store) {
    const auto record = draft.read(digest("one"));
    return record ? publishLayer(draft, *record, now_, turn(store)) : because(record.error());
  }
  std::function<Result<NewTree>(Store&)> tree(const std::string& image, const std::string& layer) {
    return [this, image, layer](Store& store) {
      const TreeExtras extras = [](const auto& /*files*/, const PutExtra& put) {
        return put("k/a.json", "mine");
      };
      return store.makeTree(digest(image), {digest(layer)}, extras, now_);
    };
  }

  std::function<void()> before_turn_;
  int turns_ = 0;
  bool has_turn_ = false;
  bool waited_ = false;
};

TEST_F(StorePublish, WhoHasTheTurnNeverWaitsForTheDisk) {
  Store& store = opened();
  auto draft = store.draft();
  ASSERT_TRUE(draft && fill(draft->path(), kOne));
  ASSERT_TRUE(publish(*draft, store));
  ASSERT_TRUE(publishTree(tree("image", "one"), now_, turn(store)));
  EXPECT_EQ(turns_, 4);
  EXPECT_FALSE(waited_);
  EXPECT_TRUE(store.verify(digest("image")));
}

TEST_F(StorePublish, FilesAreHashedBeforeTheTurn) {
  Store& store = opened();
  auto draft = store.draft();
  ASSERT_TRUE(draft && fill(draft->path(), {{"a", "aaaa"}}));
  const std::string path = draft->path() + "/a";
  // What is no file cannot be hashed any more, and can be renamed.
  before_turn_ = [&] {
    if (turns_ != 1) { return; }
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  };
  EXPECT_TRUE(publish(*draft, store));
  EXPECT_EQ(store.layer(digest("one"))->files.at("a").size, 4U);
}

TEST_F(StorePublish, WhatWasHashedWhileItWasWrittenIsNotReadAgain) {
  Store& store = opened();
  auto draft = store.draft();
  ASSERT_TRUE(draft && fill(draft->path(), {{"a", "aaaa"}, {"b", "bbbb"}, {"c", "cc"}}));
  const StoredFile told{std::string(64, '1'), true, 4};
  const auto record = draft->read(digest("one"), {{"a", told}, {"c", told}});
  EXPECT_EQ(record->files.at("a"), told);
  EXPECT_EQ(record->files.at("b"), (StoredFile{sha256Hex("bbbb"), false, 4}));
  EXPECT_EQ(record->files.at("c"), (StoredFile{sha256Hex("cc"), false, 2}));  // it has another size
}

TEST_F(StorePublish, FilesStayBetweenTheStepsThoughNothingNamesThem) {
  Store& store = opened();
  auto draft = store.draft();
  ASSERT_TRUE(draft && fill(draft->path(), kOne));
  before_turn_ = [&] {
    if (turns_ != 2) { return; }
    // Another layer with the same file comes and goes.
    ASSERT_TRUE(putLayer(store, "other", {{"x", "aaaa"}}, now_));
    const auto swept =
        store.sweep({}, {.layer_grace = std::chrono::seconds{1}}, now_ + std::chrono::hours{1});
    ASSERT_EQ(swept->layers.size(), 1U);
  };
  ASSERT_TRUE(publish(*draft, store));
  put(store, "image", {"one"});
  EXPECT_TRUE(store.verify(digest("image")));
}

TEST_F(StorePublish, WhatATreeThatCannotBeMadeHasPutIsGoneAtOnce) {
  Store& store = opened();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  const std::uint64_t before = store.bytes();
  for (const char* second : {"k/b.so", "../x"}) {
    const TreeExtras extras = [&](const auto& files, const PutExtra& put) -> Status {
      EXPECT_EQ(files.size(), 2U);
      if (Status first = put("k/a.json", "mine"); !first) { return first; }
      EXPECT_GT(store.bytes(), before);
      Status out = put(second, "other");
      return out ? Status{fail(Code::Invalid, "no")} : out;
    };
    const auto made = store.makeTree(digest("image"), {digest("one")}, extras, now_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::Invalid);
    EXPECT_EQ(store.bytes(), before) << second;
    EXPECT_EQ(bytesOnDisk(), before) << second;
  }
}

TEST_F(StorePublish, WhoIsSecondLeavesNothing) {
  Store& store = opened();
  auto draft = store.draft();
  ASSERT_TRUE(draft && fill(draft->path(), kOne));
  before_turn_ = [&] {
    if (turns_ == 2) { ASSERT_TRUE(putLayer(store, "one", kOne, now_)); }
    if (turns_ == 4) { put(store, "image", {"one"}); }
  };
  ASSERT_TRUE(publish(*draft, store));
  ASSERT_TRUE(publishTree(tree("image", "one"), now_, turn(store)));
  EXPECT_EQ(readFolder(store.treeRoot(digest("image"))), kOne);
  EXPECT_EQ(store.bytes(), bytesOnDisk());
  EXPECT_EQ(store.bytes(), 10U);  // also not what the second tree would have had
}

}  // namespace
}  // namespace gs::cacherim
