#include "cacherim/image/archive.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cacherim/image/tar_test.h"
#include "kcache/content/samples_test.h"

namespace gs::cacherim {
namespace {

std::vector<NewEntry> rocmEntries() {
  auto entries = entriesBelow("io.triton.cache", kcache::rocmSample());
  for (NewEntry& one : entriesBelow("io.triton.manifest", {{"manifest.json", kcache::kRocmManifest}})) {
    entries.push_back(one);
  }
  return entries;
}

/// What is said of it; "" when it was read well.
std::string saidOf(const std::string& bytes, kcache::LayerLimits limits = {}) {
  kcache::LayerRules rules{limits};
  Kept kept;
  const Status read = readLayer(feedOf(bytes), rules, kept);
  return read ? "" : read.error().message;
}

// The golden layer: 17 entries in as many bytes.
TEST(LayerArchive, OfTheRocmSampleIsAsLongAsTheGoldenOne) {
  EXPECT_EQ(rocmEntries().size(), 17U);
  EXPECT_EQ(written(rocmEntries(), Packing::Plain).size(), 93184U);
}

TEST(LayerArchive, IsTheSameForTheSameEntriesInAnyOrder) {
  auto entries = rocmEntries();
  for (const Packing packing : {Packing::Plain, Packing::Gzip}) {
    WrittenLayer first{kcache::Digest::of(""), kcache::Digest::of(""), 0};
    const std::string bytes = written(entries, packing, &first);
    std::reverse(entries.begin(), entries.end());
    EXPECT_EQ(written(entries, packing), bytes);
    EXPECT_EQ(first.digest, kcache::Digest::of(bytes));
    EXPECT_EQ(first.size, static_cast<std::int64_t>(bytes.size()));
    EXPECT_EQ(first.diff_id, kcache::Digest::of(written(entries, Packing::Plain)));
  }
}

TEST(LayerArchive, IsReadAsItWasWritten) {
  for (const Packing packing : {Packing::Plain, Packing::Gzip}) {
    kcache::LayerRules rules{{}};
    Kept kept;
    const Status read = readLayer(feedOf(written(rocmEntries(), packing)), rules, kept);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(kept.files.at("(manifest)"), kcache::kRocmManifest);
    for (const auto& [path, text] : kcache::rocmSample()) { EXPECT_EQ(kept.files.at(path), text) << path; }
    EXPECT_EQ(kept.files.size(), 1U + 10U + 5U);
  }
}

TEST(LayerArchive, ALongNameOfManyLettersComesThrough) {
  const std::string name =
      "io.triton.cache/" + std::string(200, 'k') + "/\xc3\xa4" + std::string(150, 'n') + ".json";
  kcache::LayerRules rules{{}};
  Kept kept;
  const Status read = readLayer(feedOf(written({textEntry(name, "x")}, Packing::Gzip)), rules, kept);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(kept.files.begin()->first, name.substr(16));
}

TEST(LayerArchive, WhatMayNotBeInALayerIsRefusedBeforeAnythingIsMadeOfIt) {
  const std::pair<std::string, const char*> table[] = {
      {member("io.triton.cache/../../x", "evil"), "has '.' or '..'"},
      {member("/io.triton.cache/x", "evil"), "absolute"},
      {member("io.triton.cache/x", "", '2', "/etc"), "is a symbolic link"},
      {member("io.triton.cache/x", "", '1', "y"), "is a hard link"},
      {member("io.triton.cache/x", "", '3'), "is a device"},
      {member("io.triton.cache/x", "", '6'), "is a device or a pipe"},
      {member("io.triton.cache/x", "a", '0', "", 04755), "is setuid"},
      {member("io.triton.cache/x", "a") + member("io.triton.cache/x", "b"), "comes twice"},
      {member("io.triton.cache/x", "", '5') + member("io.triton.cache/x", "b"), "was a folder"},
  };
  for (const auto& [bytes, what] : table) {
    const std::string said = saidOf(tar({bytes}));
    EXPECT_NE(said.find(what), std::string::npos) << what << ": " << said;
  }
}

TEST(LayerArchive, WhatLiesElsewhereIsSkipped) {
  kcache::LayerRules rules{{}};
  Kept kept;
  const std::string bytes = tar({member("etc/passwd", "x"), member("bin", "", '2', "usr/bin"),
                                 member("./io.vllm.cache/", "", '5'), member("./io.vllm.cache/a", "1")});
  ASSERT_TRUE(readLayer(feedOf(bytes), rules, kept));
  EXPECT_EQ(kept.files, (std::map<std::string, std::string>{{"/", ""}, {"a", "1"}}));
}

TEST(LayerArchive, WhatIsNoTarFileIsSaid) {
  for (const std::string& bytes :
       {std::string{"hello"}, std::string(5000, 'x'), std::string{"\x1f\x8b broken"},
        written({textEntry("a", std::string(5000, 'x'))}, Packing::Gzip).substr(0, 50)}) {
    EXPECT_NE(saidOf(bytes).find("is no tar file, plain, gzip or zstd"), std::string::npos) << saidOf(bytes);
  }
  EXPECT_EQ(saidOf(tar({})), "");
  EXPECT_NE(saidOf(tar({member("io.triton.cache/a", std::string(5000, 'x'))}).substr(0, 2000)), "");
}

TEST(LayerArchive, ABombIsStoppedWhileItIsUncompressed) {
  const std::string bomb = written({textEntry("etc/zeros", std::string(8 << 20, '\0'))}, Packing::Gzip);
  ASSERT_LT(bomb.size(), 20'000U);
  EXPECT_EQ(saidOf(bomb), "");
  EXPECT_NE(saidOf(bomb, {.most_ratio = 10, .free_bytes = 1 << 20}).find("over 10 times as many"),
            std::string::npos);
  EXPECT_NE(saidOf(bomb, {.most_bytes = 1 << 20}).find("that an image may have in all"), std::string::npos);
}

TEST(LayerArchive, WhatTheFeedSaysAtTheEndCounts) {
  const std::string bytes = tar({member("io.triton.cache/a", "1")});
  kcache::LayerRules rules{{}};
  Kept kept;
  const Status read = readLayer(
      [&](const ByteSink& sink) -> Status {
        sink(bytes);
        return fail(Code::Invalid, "another digest");
      },
      rules, kept);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "another digest");
}

TEST(LayerArchive, BytesThatDoNotComeAreTheReason) {
  kcache::LayerRules rules{{}};
  Kept kept;
  const Status read = readLayer(
      [](const ByteSink&) -> Status { return fail(Code::Unavailable, "line is cut"); }, rules, kept);
  EXPECT_EQ(read.error().message, "line is cut");
}

TEST(LayerArchive, AFileThatChangedMeanwhileIsRefused) {
  NewEntry entry = textEntry("io.triton.cache/a", "12345");
  const auto ignored = [](std::string_view) { return true; };
  entry.size = 4;
  EXPECT_EQ(writeLayer({entry}, Packing::Plain, ignored).error().message,
            "'io.triton.cache/a' changed while it was read: 4 bytes were there, and now 5 or more");
  entry.size = 6;
  EXPECT_EQ(writeLayer({entry}, Packing::Plain, ignored).error().message,
            "'io.triton.cache/a' changed while it was read: 6 bytes were there, and now 5");
  EXPECT_FALSE(writeLayer({textEntry("../a", "")}, Packing::Plain, ignored));
  EXPECT_FALSE(writeLayer({textEntry("a", "x")}, Packing::Gzip, [](std::string_view) { return false; }));
}

}  // namespace
}  // namespace gs::cacherim
