#include "cacherim/keeper/draft_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/temp_folder_test.h"

namespace gs::cacherim {
namespace {

using Where = kcache::Placed::Where;

class DraftWriterTest : public ::testing::Test {
 protected:
  DraftWriterTest() {
    const auto fault = [this](std::string_view call) { return is_full_ && call == "write" ? ENOSPC : 0; };
    auto store = Store::open(folder_.path("store"), Disk{fault, false});
    EXPECT_TRUE(store);
    store_.emplace(*std::move(store));
    auto draft = store_->draft();
    EXPECT_TRUE(draft);
    draft_.emplace(*std::move(draft));
  }
  static Status give(LayerTaker& taker, const kcache::Placed& file, const std::vector<std::string>& pieces) {
    Status out = taker.beginFile(file, 0);
    for (const auto& one : pieces) {
      if (out) { out = taker.piece(one); }
    }
    return out ? taker.endFile() : out;
  }
  [[nodiscard]] std::string textOf(const StoredFile& file) const {
    return *readFile(draft_->path() + '/' + file.key());
  }
  [[nodiscard]] unsigned modeOf(const StoredFile& file) const {
    return static_cast<unsigned>(std::filesystem::status(draft_->path() + '/' + file.key()).permissions());
  }

  const TempFolder folder_;
  std::atomic<bool> is_full_ = false;
  std::optional<Store> store_;
  std::optional<Draft> draft_;
  const kcache::Digest layer_ = kcache::Digest::of("layer");
};

TEST_F(DraftWriterTest, FilesOfTheCacheLieInTheDraftByTheirContent) {
  DraftWriter writer{*draft_};
  ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "", .is_folder = true}));
  ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "K", .is_folder = true}));
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "K/a"}, {"one ", "and ", "two"}));
  ASSERT_TRUE(give(writer, {.where = Where::Manifest}, {"{}"}));
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "K/same"}, {"one and two"}));
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "K/empty", .is_executable = true}, {}));
  const auto record = writer.finish(layer_);
  ASSERT_TRUE(record);
  const StoredFile text{sha256Hex("one and two"), false, 11};
  const StoredFile empty{sha256Hex(""), true, 0};
  EXPECT_EQ(*record, (LayerRecord{layer_, {"K"}, {{"K/a", text}, {"K/same", text}, {"K/empty", empty}}}));
  EXPECT_EQ(textOf(text), "one and two");
  EXPECT_EQ(textOf(empty), "");
  EXPECT_EQ(modeOf(text), 0444U);
  EXPECT_EQ(modeOf(empty), 0555U);
}

TEST_F(DraftWriterTest, AFolderIsThereOnceHoweverOftenItComesAndThoughOnlyAPathNamesIt) {
  DraftWriter writer{*draft_};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "b/c", .is_folder = true}));
  }
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "a/b/c/file"}, {"1"}));
  EXPECT_EQ(writer.finish(layer_)->folders, (std::vector<std::string>{"a", "a/b", "a/b/c", "b", "b/c"}));
}

TEST_F(DraftWriterTest, FilesAndFoldersHaveToFitTheirShare) {
  const Shares shares{5 * Shares::kPerFile};
  Shares::Coming coming{shares, "ns", layer_};
  DraftWriter writer{*draft_, &coming};
  ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "a/b", .is_folder = true}));
  ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "a", .is_folder = true}));
  EXPECT_TRUE(writer.beginFile({.where = Where::Manifest}, 1 << 20)) << "it is none of the cache";
  EXPECT_TRUE(writer.endFile());
  ASSERT_TRUE(writer.beginFile({.where = Where::Cache, .path = "a/b/file"}, Shares::kPerFile));
  ASSERT_TRUE(writer.endFile());
  EXPECT_EQ(coming.needed(), (Room{4 * Shares::kPerFile, 3}));
  EXPECT_EQ(writer.beginFile({.where = Where::Cache, .path = "a/x"}, 1).error().code, Code::Unavailable);
  EXPECT_TRUE(writer.folder({.where = Where::Cache, .path = "c", .is_folder = true}));
  EXPECT_EQ(writer.folder({.where = Where::Cache, .path = "d", .is_folder = true}).error().code,
            Code::Unavailable);
}

TEST_F(DraftWriterTest, WhatTheStoreCannotHaveIsRefused) {
  DraftWriter writer{*draft_};
  const std::string bad = std::string(256, 'x');
  const Status folder = writer.folder({.where = Where::Cache, .path = bad, .is_folder = true});
  const Status file = give(writer, {.where = Where::Cache, .path = "a/../b"}, {"1"});
  ASSERT_FALSE(folder);
  ASSERT_FALSE(file);
  EXPECT_EQ(folder.error().code, Code::Invalid);
  EXPECT_EQ(file.error().code, Code::Invalid);
}

TEST_F(DraftWriterTest, WhatTheDiskSaysIsSaidByALaterCallOrAtTheEnd) {
  is_full_ = true;
  {
    DraftWriter writer{*draft_};
    static_cast<void>(give(writer, {.where = Where::Cache, .path = "b"}, {"123", "45678"}));
    const auto record = writer.finish(layer_);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Code::Unavailable);
    EXPECT_NE(record.error().message.find("No space left"), std::string::npos) << record.error().message;
  }
  const auto another = store_->draft();
  ASSERT_TRUE(another);
  DraftWriter writer{*another};
  Status out;
  for (int i = 0; out && i < 1000; ++i) {
    out = give(writer, {.where = Where::Cache, .path = "c"}, {"123456"});
  }
  ASSERT_FALSE(out) << "nobody unpacks on and on for a disk that says no";
  EXPECT_NE(out.error().message.find("No space left"), std::string::npos);
  EXPECT_FALSE(writer.finish(layer_));
}

TEST_F(DraftWriterTest, WhoeverGivesUpWaitsForNobody) {
  DraftWriter writer{*draft_};
  ASSERT_TRUE(writer.beginFile({.where = Where::Cache, .path = "a"}, 1 << 20));
  ASSERT_TRUE(writer.piece(std::string(100, 'x')));
}

}  // namespace
}  // namespace gs::cacherim
