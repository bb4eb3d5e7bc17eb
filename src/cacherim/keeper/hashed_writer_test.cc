#include "cacherim/keeper/hashed_writer.h"

#include <gtest/gtest.h>

namespace gs::cacherim {
namespace {

using Where = kcache::Placed::Where;

/// Takes until it is full.
class Paper final : public LayerTaker {
 public:
  Status folder(const kcache::Placed& folder) override { return take(folder.path + "/"); }
  Status beginFile(const kcache::Placed& file, std::int64_t /*size*/) override {
    return take(file.path + "=");
  }
  Status piece(std::string_view bytes) override { return take(std::string{bytes}); }
  Status endFile() override { return take(";"); }
  std::string taken;
  std::size_t room = 1000;

 private:
  Status take(const std::string& text) {
    if (taken.size() + text.size() > room) { return fail(Code::Unavailable, "it is full"); }
    taken += text;
    return {};
  }
};

Status give(LayerTaker& taker, const kcache::Placed& file, const std::vector<std::string>& pieces) {
  Status out = taker.beginFile(file, 0);
  for (const auto& one : pieces) {
    if (out) { out = taker.piece(one); }
  }
  return out ? taker.endFile() : out;
}

TEST(HashedWriter, HandsAllOnAndHashesTheFilesOfTheCache) {
  Paper paper;
  HashedWriter writer{paper};
  ASSERT_TRUE(writer.folder({.where = Where::Cache, .path = "K", .is_folder = true}));
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "K/a"}, {"one ", "and ", "two"}));
  ASSERT_TRUE(give(writer, {.where = Where::Manifest}, {"{}"}));
  ASSERT_TRUE(give(writer, {.where = Where::Cache, .path = "K/empty", .is_executable = true}, {}));
  const auto files = writer.finish();
  EXPECT_EQ(paper.taken, "K/K/a=one and two;={};K/empty=;");
  ASSERT_TRUE(files);
  EXPECT_EQ(*files, (std::map<std::string, StoredFile>{{"K/a", {sha256Hex("one and two"), false, 11}},
                                                       {"K/empty", {sha256Hex(""), true, 0}}}));
}

TEST(HashedWriter, WhatIsRefusedIsSaidByALaterCallOrAtTheEnd) {
  Paper paper;
  paper.room = 10;
  {
    HashedWriter writer{paper};
    EXPECT_TRUE(give(writer, {.where = Where::Cache, .path = "a"}, {"1"}));
    static_cast<void>(give(writer, {.where = Where::Cache, .path = "b"}, {"123", "45678"}));
    const auto files = writer.finish();
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "it is full");
  }
  HashedWriter writer{paper};
  Status out;
  for (int i = 0; out && i < 1000; ++i) {
    out = give(writer, {.where = Where::Cache, .path = "c"}, {"123456"});
  }
  ASSERT_FALSE(out) << "nobody unpacks on and on for a disk that is full";
  EXPECT_EQ(out.error().message, "it is full");
  EXPECT_EQ(writer.endFile().error().message, "it is full");
}

TEST(HashedWriter, WhoeverGivesUpWaitsForNobody) {
  Paper paper;
  HashedWriter writer{paper};
  ASSERT_TRUE(writer.beginFile({.where = Where::Cache, .path = "a"}, 1 << 20));
  ASSERT_TRUE(writer.piece(std::string(100, 'x')));
}

}  // namespace
}  // namespace gs::cacherim
