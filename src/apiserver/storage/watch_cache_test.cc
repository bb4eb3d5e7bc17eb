#include "apiserver/storage/watch_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

class WatchCacheTest : public testing::Test {
 protected:
  void put(const char* ns, const char* name, const char* app = "") {
    store_.put({"/configmaps", ns, name},
               Object{{"metadata", Object{{"name", name}, {"labels", Object{{"app", app}}}}}}, nullptr);
  }
  void remove(const char* ns, const char* name) { store_.remove({"/configmaps", ns, name}); }
  WatchId open(std::uint64_t from, const char* ns = "", const char* labels = "") {
    return watches_.open({resources_.find("", "configmaps"), ns, *Selector::labels(labels),
                          *Selector::fields("", "/configmaps"), from});
  }
  static std::string said(const Value& event) {
    const Value& object = event["object"];
    const bool about = event["type"].str() != "ERROR" && event["type"].str() != "BOOKMARK";
    return std::string{event["type"].str()} + ":" +
           (about                     ? std::string{object["metadata"]["name"].str()}
            : object["code"].isNull() ? std::string{object["metadata"]["resourceVersion"].str()}
                                      : json::print(object["code"])) +
           " ";
  }
  /// All that a watch has to say now.
  std::string read(WatchId id) {
    std::string out;
    while (const auto event = watches_.poll(id)) { out += said(*event); }
    return out;
  }

  Store store_;
  Resources resources_;
  WatchCache watches_{store_};
};

TEST_F(WatchCacheTest, BeginsWithWhatIsThereAndGoesOn) {
  put("d", "a");
  put("e", "b");
  const auto all = open(0);
  const auto one = open(0, "d");
  put("d", "c");
  put("e", "b");
  remove("d", "a");
  EXPECT_EQ(read(all), "ADDED:a ADDED:b ADDED:c MODIFIED:b DELETED:a ");
  EXPECT_EQ(read(one), "ADDED:a ADDED:c DELETED:a ");
  EXPECT_EQ(read(all), "");
  EXPECT_TRUE(watches_.isOpen(all));
}

TEST_F(WatchCacheTest, FromARevisionOnItShowsHistory) {
  put("d", "a");
  put("d", "b");
  put("d", "c");
  EXPECT_EQ(read(open(1)), "ADDED:b ADDED:c ");
}

TEST_F(WatchCacheTest, WhatASelectorLosesIsDeletedAndWhatItFindsIsAdded) {
  const auto of_web = open(0, "", "app=web");
  put("d", "a", "web");
  put("d", "a", "db");
  put("d", "a", "db");
  put("d", "a", "web");
  remove("d", "a");
  EXPECT_EQ(read(of_web), "ADDED:a DELETED:a ADDED:a DELETED:a ");
}

TEST_F(WatchCacheTest, WhatLeavesASelectorIsShownAsItWasWithTheNewRevision) {
  const auto of_web = open(0, "", "app=web");
  put("d", "a", "web");
  put("d", "a", "db");
  (void)watches_.poll(of_web);
  const Value gone = *watches_.poll(of_web);
  EXPECT_EQ(gone["object"]["metadata"]["labels"]["app"].str(), "web");
  EXPECT_EQ(gone["object"]["metadata"]["resourceVersion"].str(), "2");
}

TEST_F(WatchCacheTest, BookmarksComeAfterAllThatIsToBeSaid) {
  const auto id = open(0);
  put("d", "a");
  watches_.bookmark(id);
  put("d", "b");
  EXPECT_EQ(read(id), "ADDED:a ADDED:b BOOKMARK:2 ");
  EXPECT_EQ(read(id), "");
}

TEST_F(WatchCacheTest, NoBookmarkTakesAWatchBackThatBeganInTheFuture) {
  put("d", "a");
  const auto id = open(3);
  watches_.bookmark(id);
  EXPECT_EQ(read(id), "");
  for (const char* name : {"b", "c", "d"}) { put("d", name); }
  EXPECT_EQ(read(id), "ADDED:d ");
}

TEST_F(WatchCacheTest, WhoIsBehindHistoryIsTooOld) {
  put("d", "a");
  put("d", "b");
  const auto behind = open(1);
  const auto ahead = open(2);
  store_.compact();
  EXPECT_EQ(read(ahead), "");
  EXPECT_EQ(read(behind), "ERROR:410 ");
  EXPECT_FALSE(watches_.isOpen(behind));
  EXPECT_TRUE(watches_.isOpen(ahead));
  EXPECT_EQ(read(open(1)), "ERROR:410 ");
}

TEST_F(WatchCacheTest, WhatIsNoLongerServedEndsOnceAllIsRead) {
  const auto id = open(0);
  put("d", "a");
  watches_.end(*resources_.find("", "configmaps"));
  put("d", "b");
  EXPECT_TRUE(watches_.isOpen(id));
  EXPECT_EQ(read(id), "ADDED:a ");
  EXPECT_FALSE(watches_.isOpen(id));
}

TEST_F(WatchCacheTest, ClosedOnesSayNothing) {
  put("d", "a");
  const auto one = open(0);
  const auto two = open(0);
  watches_.close(one);
  EXPECT_EQ(read(one), "");
  EXPECT_EQ(read(two), "ADDED:a ");
  watches_.clear();
  watches_.bookmark(two);
  EXPECT_EQ(read(two), "");
}

}  // namespace
}  // namespace gs::apiserver
