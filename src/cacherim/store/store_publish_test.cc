// The steps of publishing: what takes long is done while others may be at the store.
#include <algorithm>
#include <cerrno>

#include "cacherim/store/store_fixture_test.h"

namespace gs::cacherim {
namespace {

class StorePublish : public StoreTest {
 protected:
  Store& opened() {
    return open([this](std::string_view call) {
      if (has_turn_) { ++in_a_turn_[std::string{call}]; }
      calls_.emplace_back(call);
      return 0;
    });
  }
  /// Where the last such call was; 0: nowhere.
  [[nodiscard]] std::size_t last(std::string_view call) const {
    const auto at = std::find(calls_.rbegin(), calls_.rend(), call);
    return static_cast<std::size_t>(calls_.rend() - at);
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
  Status publish(const Content& content, Store& store) {
    const auto draft = store.draft();
    EXPECT_TRUE(draft);
    const auto record = fillDraft(*draft, "one", content);
    return record ? publishLayer(*draft, *record, now_, turn(store)) : because(record.error());
  }
  static Status putMine(const TreeEdit& edit) { return edit.put("k/a.json", "mine"); }
  Status publishImage(Store& store) {
    return publishTree({digest("image"), {digest("one")}}, putMine, now_, turn(store));
  }

  std::function<void()> before_turn_;
  int turns_ = 0;
  bool has_turn_ = false;
  std::map<std::string, int> in_a_turn_;  // calls that change the disk
  std::vector<std::string> calls_;        // all of them
};

TEST_F(StorePublish, WhoHasTheTurnNeverWaitsForTheDiskAndNobodyLinksInIt) {
  Store& store = opened();
  in_a_turn_.clear();
  ASSERT_TRUE(publish(kOne, store));
  ASSERT_TRUE(publishImage(store));
  EXPECT_EQ(in_a_turn_["syncfs"], 0);
  EXPECT_EQ(in_a_turn_["link"], 0);
  EXPECT_EQ(in_a_turn_["fsync"], 0);
  EXPECT_EQ(last("fsync") < last("link"), true);
  EXPECT_TRUE(store.verify(digest("image")));
}

/// What a power failure leaves is in order because of this order.
TEST_F(StorePublish, FilesAreOnTheDiskBeforeWhatCountsOnThem) {
  Store& store = opened();
  const auto draft = store.draft();
  ASSERT_TRUE(draft);
  const auto record = fillDraft(*draft, "one", kOne);
  ASSERT_TRUE(record);
  calls_.clear();
  ASSERT_TRUE(publishLayer(*draft, *record, now_, turn(store)));
  const auto files_at = std::find(calls_.begin(), calls_.end(), "syncfs");
  EXPECT_EQ(std::count(calls_.begin(), files_at, "rename"), 2) << "both files have their names";
  EXPECT_EQ(std::count(files_at, calls_.end(), "rename"), 1) << "the record";
  EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "syncfs"), 1);
  calls_.clear();
  ASSERT_TRUE(publishImage(store));
  const auto tree_at = std::find(calls_.begin(), calls_.end(), "syncfs");
  for (const char* call : {"link", "create", "write", "mkdir"}) {
    EXPECT_EQ(std::count(tree_at, calls_.end(), call), 0) << call;
  }
  EXPECT_EQ(std::count(tree_at, calls_.end(), "rename"), 1) << "the tree's name";
  EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "syncfs"), 1);
}

TEST_F(StorePublish, ATurnIsNoLongerForALayerWithMoreFiles) {
  Store& store = opened();
  Content many;
  for (int i = 0; i < 2'500; ++i) { many["k/" + std::to_string(i)] = std::to_string(i); }
  int most = 0;
  before_turn_ = [&] { most = std::max(most, std::exchange(in_a_turn_["rename"], 0)); };
  ASSERT_TRUE(publish(many, store));
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 1'024);
  EXPECT_EQ(store.layer(digest("one"))->files.size(), 2'500U);
  put(store, "image", {"one"});
  EXPECT_EQ(readFolder(store.treeRoot(digest("image"))), many);
}

TEST_F(StorePublish, WhatCameBeforeAnErrorIsGone) {
  int renames = 0;
  Store& store = open([&](std::string_view call) { return call == "rename" && ++renames > 3'500 ? EIO : 0; });
  Content many;
  for (int i = 0; i < 2'000; ++i) { many["k/" + std::to_string(i)] = std::to_string(i); }
  EXPECT_FALSE(publish(many, store));
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_EQ(bytesOnDisk(), 0U);
}

TEST_F(StorePublish, FilesStayBetweenTheStepsThoughNothingNamesThem) {
  Store& store = opened();
  before_turn_ = [&] {
    if (turns_ != 2) { return; }
    // Another layer with the same file comes and goes.
    ASSERT_TRUE(putLayer(store, "other", {{"x", "aaaa"}}, now_));
    const auto swept =
        store.sweep({}, {.layer_grace = std::chrono::seconds{1}}, now_ + std::chrono::hours{1});
    ASSERT_EQ(swept->layers.size(), 1U);
  };
  ASSERT_TRUE(publish(kOne, store));
  put(store, "image", {"one"});
  EXPECT_TRUE(store.verify(digest("image")));
}

TEST_F(StorePublish, WhatATreeThatCannotBeMadeHasPutIsGoneAtOnce) {
  Store& store = opened();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  const std::uint64_t before = store.bytes();
  for (const char* second : {"k/b.so", "../x"}) {
    const TreeExtras extras = [&](const TreeEdit& edit) -> Status {
      EXPECT_EQ(edit.files.size(), 2U);
      if (Status first = edit.put("k/a.json", "mine"); !first) { return first; }
      Status out = edit.put(second, "other");
      return out ? Status{fail(Code::Invalid, "no")} : out;
    };
    const Status made = publishTree({digest("image"), {digest("one")}}, extras, now_, turn(store));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::Invalid);
    EXPECT_EQ(store.bytes(), before) << second;
    EXPECT_EQ(bytesOnDisk(), before) << second;
    EXPECT_TRUE(std::filesystem::is_empty(root() + "/tmp"));
  }
}

TEST_F(StorePublish, WhatATreeThatCannotBeLinkedHasPutIsGone) {
  Store& store = open([](std::string_view call) { return call == "link" ? EIO : 0; });
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  const std::uint64_t before = store.bytes();
  EXPECT_FALSE(publishImage(store));
  EXPECT_EQ(store.bytes(), before);
  EXPECT_EQ(bytesOnDisk(), before);
}

/// The store has them already, of another image's tree, and nobody has noticed what became of them.
TEST_F(StorePublish, WhatATreePutsTakesThePlaceOfWhatIsDamaged) {
  Store& store = opened();
  ASSERT_TRUE(putLayer(store, "one", kOne, now_));
  ASSERT_TRUE(publishImage(store));
  const std::string key = store.tree(digest("image"))->extras.at("k/a.json").key();
  const std::string at = root() + "/files/" + key.substr(0, 2) + '/' + key;
  for (const auto& bytes : {std::string{}, std::string{"evil"}}) {  // gone, or others
    ASSERT_TRUE(std::filesystem::remove(at));
    if (!bytes.empty()) { std::ofstream{at} << bytes; }
    const auto image = digest("image, then '" + bytes + "'");
    const Status made = publishTree({image, {digest("one")}}, putMine, now_, turn(store));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(store.verify(image)) << bytes;
    EXPECT_EQ(*readFile(at), "mine");
    EXPECT_EQ(store.bytes(), bytesOnDisk());
  }
}

TEST_F(StorePublish, WhatLiesAmongTheFilesAndIsNoneIsLeftAlone) {
  ASSERT_TRUE(putLayer(open(), "one", kOne, now_));
  const std::string text = kcache::Digest::of("x").text().substr(7);
  for (const std::string& path :
       {"zz/" + text, std::string{"ab/notes"}, "00/ff" + text.substr(2), "ab/ab" + text.substr(2) + "y"}) {
    std::filesystem::create_directories(root() + "/files/" + path.substr(0, 2));
    std::ofstream{root() + "/files/" + path} << "junk";
  }
  Store& again = open();
  EXPECT_EQ(again.bytes(), 10U);
  EXPECT_EQ(bytesOnDisk(), 10U + 4 * 4U);
  put(again, "image", {"one"});
  EXPECT_TRUE(again.verify(digest("image")));
}

TEST_F(StorePublish, WhatHasAFilesNameAndIsNoneGoesAtTheNextStart) {
  open();
  const std::string key = kcache::Digest::of("x").text().substr(7);
  const std::string at = root() + "/files/" + key.substr(0, 2) + '/' + key;
  std::filesystem::create_directories(at + "/in/the way");
  std::ofstream{root() + "/files/" + (key.starts_with("00") ? "11" : "00")} << "in the way";
  open();
  EXPECT_FALSE(std::filesystem::exists(at));
}

TEST_F(StorePublish, AFileInAnotherFolderIsNotThere) {
  ASSERT_TRUE(putLayer(open(), "one", {{"a", "aaaa"}}, now_));
  const std::string key = store_->layer(digest("one"))->files.at("a").key();
  std::filesystem::create_directories(root() + "/files/zz");
  std::filesystem::rename(root() + "/files/" + key.substr(0, 2) + '/' + key, root() + "/files/zz/" + key);
  EXPECT_FALSE(open().hasLayer(digest("one")));
}

TEST_F(StorePublish, WhoIsSecondLeavesNothing) {
  Store& store = opened();
  before_turn_ = [&] {
    if (turns_ == 2) { ASSERT_TRUE(putLayer(store, "one", kOne, now_)); }
    if (turns_ == 7) { put(store, "image", {"one"}); }
  };
  ASSERT_TRUE(publish(kOne, store));
  ASSERT_TRUE(publishImage(store));
  EXPECT_EQ(turns_, 7) << "files, record; drafts, damage, extras, damage, name";
  EXPECT_EQ(readFolder(store.treeRoot(digest("image"))), kOne);
  EXPECT_EQ(store.bytes(), bytesOnDisk());
  EXPECT_EQ(store.bytes(), 10U);  // also not what the second tree would have had
}

}  // namespace
}  // namespace gs::cacherim
