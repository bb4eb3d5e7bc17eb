// What records named that nobody can read any more counts no longer.
#include <fstream>

#include "cacherim/store/store_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

class RecountTest : public StoreTest {
 protected:
  /// Images "i1" (layer a, and a file of its own of 20 bytes) and "i2" (b); each layer has 10 bytes.
  Store& filled() {
    Store& store = open();
    EXPECT_TRUE(putLayer(store, "a", {{"fa", std::string(10, 'a')}}, now_));
    EXPECT_TRUE(putLayer(store, "b", {{"fb", std::string(10, 'b')}}, now_));
    EXPECT_TRUE(
        store.publishTree({digest("i1"), {digest("a")}}, extras({{"own", std::string(20, 'x')}}), now_));
    put(store, "i2", {"b"});
    EXPECT_EQ(store.bytes(), 40U);
    return store;
  }
  void spoilTree(const std::string& image) const {
    std::ofstream{root() + "/trees/" + std::string{digest(image).hex()} + "/record.json"} << "nonsense";
  }
  void spoilLayer(const std::string& layer) const {
    std::ofstream{root() + "/layers/" + std::string{digest(layer).hex()} + ".json"} << "nonsense";
  }
};

TEST_F(RecountTest, ASpoiltTreesFilesPushNoOtherOut) {
  Store& store = filled();
  spoilTree("i1");
  const auto out = store.sweep({}, {.quota = 15}, now_ + 2h);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->trees, std::vector{digest("i1")});
  EXPECT_EQ(out->bytes_freed, 30U);
  EXPECT_TRUE(store.hasTree(digest("i2")));
  EXPECT_EQ(store.bytes(), 10U);
  EXPECT_EQ(bytesOnDisk(), 10U);
}

TEST_F(RecountTest, WhatADraftHasBroughtStays) {
  Store& store = filled();
  spoilTree("i1");
  const std::set<kcache::Digest> in_use{digest("i2"), digest("c")};
  ASSERT_TRUE(store.sweep(in_use, {}, now_ + 2h));
  ASSERT_TRUE(store.hasTree(digest("i1"))) << "it may be read the next time";
  {
    const auto draft = store.draft();
    ASSERT_TRUE(draft);
    const auto record = fillDraft(*draft, "c", {{"fc", std::string(5, 'c')}});
    ASSERT_TRUE(record);
    auto next = record->files.begin();
    ASSERT_TRUE(store.keepSome(*draft, record->files, next));
    ASSERT_TRUE(store.sweep(in_use, {}, now_ + 2h));
    EXPECT_EQ(store.bytes(), 10U + 20U + 5U) << "nobody knows yet which of these are named";
    ASSERT_TRUE(draft->writeRecord(*record, now_));
    ASSERT_TRUE(store.finishLayer(*record, *draft, now_));
  }
  ASSERT_TRUE(store.sweep(in_use, {}, now_ + 2h));
  EXPECT_EQ(store.bytes(), 10U + 5U);
  EXPECT_EQ(bytesOnDisk(), 10U + 5U);
  put(store, "i3", {"c"});
  EXPECT_TRUE(store.verify(digest("i3")));
}

TEST_F(RecountTest, ASpoiltLayerIsNoneAndComesAgain) {
  Store& store = filled();
  spoilTree("i1");
  spoilLayer("b");
  ASSERT_TRUE(store.sweep({digest("i2")}, {}, now_ + 2h));
  ASSERT_TRUE(store.sweep({digest("i2")}, {}, now_ + 2h));
  EXPECT_FALSE(store.hasLayer(digest("b")));
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_EQ(readFolder(store.treeRoot(digest("i2"))), (Content{{"fb", std::string(10, 'b')}}));
  ASSERT_TRUE(putLayer(store, "b", {{"fb", std::string(10, 'b')}}, now_));
  EXPECT_TRUE(store.verify(digest("i2")));
  EXPECT_EQ(store.bytes(), 10U);
  ASSERT_TRUE(store.sweep({}, {.most_age = 1s}, now_ + 3h));
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_EQ(store.inodes(), 0U);
}

/// A disk that fails for a moment: "i1" has layers a and b, "i2" has b too.
TEST_F(RecountTest, ARecordThatCannotBeReadForAMomentTakesNothingAway) {
  Store& store = open();
  for (const char* layer : {"a", "b"}) {
    ASSERT_TRUE(putLayer(store, layer, {{layer, std::string(10, *layer)}}, now_));
  }
  put(store, "i1", {"a", "b"});
  put(store, "i2", {"b"});
  for (const std::set<kcache::Digest>& in_use :
       {std::set{digest("i2")}, std::set{digest("i1")}, std::set{digest("i1"), digest("i2")}}) {
    const std::string record = root() + "/trees/" + std::string{digest("i1").hex()} + "/record.json";
    const std::string was = *readFile(record);
    spoilTree("i1");
    ASSERT_TRUE(store.sweep(in_use, {}, now_ + 2h));
    ASSERT_TRUE(store.damagedTrees().contains(digest("i1")));
    std::ofstream{record} << was;
    ASSERT_TRUE(store.sweep(in_use, {}, now_ + 2h));
    for (const char* image : {"i1", "i2"}) { EXPECT_TRUE(store.verify(digest(image))) << image; }
    EXPECT_TRUE(store.hasLayer(digest("a")) && store.hasLayer(digest("b")));
  }
  spoilTree("i1");
  ASSERT_TRUE(store.sweep({digest("i2")}, {}, now_ + 2h));
  ASSERT_TRUE(store.sweep({digest("i2")}, {}, now_ + 2h));
  EXPECT_FALSE(store.hasTree(digest("i1")));
  EXPECT_FALSE(store.hasLayer(digest("a")));
  EXPECT_TRUE(store.hasLayer(digest("b"))) << "which i2 has as well";
  EXPECT_EQ(store.bytes(), 10U);
}

TEST_F(RecountTest, ADraftThatOnlyWaitsKeepsNothingFromBeingCounted) {
  Store& store = filled();
  const auto waits = store.draft();
  ASSERT_TRUE(waits);
  spoilTree("i1");
  ASSERT_TRUE(store.sweep({digest("i2")}, {.quota = 15}, now_ + 2h));
  EXPECT_EQ(store.bytes(), 10U);
  EXPECT_TRUE(store.hasTree(digest("i2")));
}

/// It stays, since pods have it mounted.
TEST_F(RecountTest, OfASpoiltTreeNothingCountsUntilItIsMended) {
  Store& store = filled();
  spoilTree("i1");
  spoilTree("i2");
  ASSERT_TRUE(store.sweep({digest("i1")}, {}, now_ + 2h));
  ASSERT_TRUE(store.sweep({digest("i1")}, {}, now_ + 2h));
  EXPECT_FALSE(store.hasTree(digest("i2")));
  EXPECT_TRUE(store.hasTree(digest("i1")));
  EXPECT_TRUE(store.damagedTrees().contains(digest("i1")));
  ASSERT_TRUE(putLayer(store, "a", {{"fa", std::string(10, 'a')}}, now_));
  ASSERT_TRUE(
      store.publishTree({digest("i1"), {digest("a")}}, extras({{"own", std::string(20, 'x')}}), now_));
  EXPECT_TRUE(store.damagedTrees().empty());
  ASSERT_TRUE(store.sweep({digest("i1")}, {}, now_ + 2h));
  EXPECT_EQ(store.bytes(), 30U);
  EXPECT_EQ(bytesOnDisk(), 30U);
  EXPECT_TRUE(store.verify(digest("i1")));
  ASSERT_TRUE(store.sweep({}, {.most_age = 1s}, now_ + 3h));
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_EQ(store.inodes(), 0U);
}

}  // namespace
}  // namespace gs::cacherim
