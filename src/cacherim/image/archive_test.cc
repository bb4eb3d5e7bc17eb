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

/// A pax header for the member behind it.
std::string pax(const std::vector<std::pair<std::string, std::string>>& records) {
  std::string text;
  for (const auto& [key, value] : records) {
    const std::string rest = fmt::format(" {}={}\n", key, value);
    std::size_t size = rest.size() + 2;
    if (std::to_string(size).size() != 2) { size = rest.size() + std::to_string(size).size(); }
    text += std::to_string(size) + rest;
  }
  return member("pax", text, 'x');
}

// A tebibyte of zeros that nobody sent.
TEST(LayerArchive, AFileWithHolesIsRefused) {
  const std::string header =
      pax({{"GNU.sparse.size", "1099511627777"}, {"GNU.sparse.map", "1099511627776,1"}});
  EXPECT_EQ(saidOf(tar({header, member("io.triton.cache/x", "1")})),
            "layer entry 'io.triton.cache/x' has holes: bytes that nobody sent");
  const std::string short_header = pax({{"GNU.sparse.size", "10"}, {"GNU.sparse.map", "1099511627776,1"}});
  EXPECT_NE(saidOf(tar({short_header, member("io.triton.manifest/manifest.json", "1")})), "");
}

// What a reader of tar files skips, or keeps until a header is whole, is uncompressed too.
TEST(LayerArchive, HeadersThatNeverEndAreStopped) {
  const std::string much(std::size_t{5} << 20, '0');
  EXPECT_EQ(saidOf(tar({member("io.triton.cache/k", much, 'D')})),
            "the layer has over 4 MiB of headers before an entry");
  std::string map;
  while (map.size() < much.size()) { map += "0\n"; }
  const std::string header =
      pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.realsize", "1"}});
  EXPECT_NE(saidOf(tar({header, member("io.triton.cache/x", "3000000\n" + map)})), "");
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
