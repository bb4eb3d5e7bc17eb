#include "kcache/layer/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

namespace gs::kcache {
namespace {

using Where = Placed::Where;

LayerEntry file(std::string_view name, std::int64_t size = 1, unsigned mode = 0644) {
  return {.name = name, .kind = EntryKind::File, .size = size, .mode = mode};
}
LayerEntry folder(std::string_view name) {
  return {.name = name, .kind = EntryKind::Folder, .size = 0, .mode = 0755};
}

LayerRules begun(LayerLimits limits = {}) {
  LayerRules rules{limits};
  rules.beginLayer();
  return rules;
}

/// What is said of the last of them; "" when it is taken.
std::string saidOf(const std::vector<LayerEntry>& entries, LayerLimits limits = {}) {
  LayerRules rules = begun(limits);
  std::string said;
  for (const LayerEntry& entry : entries) {
    EXPECT_EQ(said, "");
    const auto placed = rules.place(entry);
    said = placed ? "" : placed.error().message;
  }
  return said;
}

TEST(LayerRules, EntriesGoWhereTheirPrefixSays) {
  struct Row {
    LayerEntry entry;
    Placed placed;
  };
  const Row table[] = {
      {folder("io.triton.cache"), {.where = Where::Cache, .is_folder = true}},
      {folder("io.triton.cache/"), {.where = Where::Cache, .is_folder = true}},
      {folder("./io.triton.cache/KEY/"), {.where = Where::Cache, .path = "KEY", .is_folder = true}},
      {file("io.triton.cache/KEY/a.json"), {.where = Where::Cache, .path = "KEY/a.json"}},
      {file("././io.vllm.cache/b", 1, 0744), {.where = Where::Cache, .path = "b", .is_executable = true}},
      {folder("io.triton.manifest"), {}},
      {file("io.triton.manifest/manifest.json"), {.where = Where::Manifest}},
      {file("./io.vllm.manifest/manifest.json"), {.where = Where::Manifest}},
      {file("io.vllm.manifest/other.json"), {}},
      {file("io.triton.cachex/a"), {}},
      {file("x/io.triton.cache/a"), {}},
      {file("etc/passwd"), {}},
      {folder("./"), {}},
      {folder("."), {}},
      {{.name = "bin", .kind = EntryKind::SymbolicLink}, {}},
  };
  for (const Row& row : table) {
    LayerRules rules = begun();
    const auto placed = rules.place(row.entry);
    ASSERT_TRUE(placed) << row.entry.name << ": " << placed.error().message;
    EXPECT_EQ(*placed, row.placed) << row.entry.name;
  }
}

TEST(LayerRules, ANameThatLeadsElsewhereIsRefusedWhereverItIs) {
  const std::string part(256, 'x');
  std::string deep = "a";
  for (int i = 0; i < 32; ++i) { deep += "/a"; }
  const std::pair<std::string, const char*> table[] = {
      {"/io.triton.cache/a", "has an absolute name"},
      {"/", "has an absolute name"},
      {"io.triton.cache/../../x", "has '.' or '..' as a part"},
      {"..", "has '.' or '..' as a part"},
      {"./../x", "has '.' or '..' as a part"},
      {"a/..", "has '.' or '..' as a part"},
      {"io.triton.cache/./x", "has '.' or '..' as a part"},
      {"io.triton.cache//x", "has an empty part"},
      {"x//", "has an empty part"},
      {".//x", "has an empty part"},
      {std::string{"io.triton.cache/a\0b", 19}, "has a NUL"},
      {"a/" + part, "over 255 bytes"},
      {deep, "deeper than 32"},
      {std::string(1025, '/').replace(0, 1, "a"), "over 1024 bytes"},
  };
  for (const auto& [name, what] : table) {
    const std::string said = saidOf({file(name)});
    EXPECT_TRUE(said.starts_with("layer entry \"") && said.find(what) != std::string::npos)
        << name << ": " << said;
  }
  EXPECT_EQ(saidOf({file("a/" + part.substr(1))}), "");
  EXPECT_EQ(saidOf({file(deep.substr(2))}), "");
}

TEST(LayerRules, InACacheThereAreFilesAndFoldersOnly) {
  const std::pair<EntryKind, const char*> table[] = {
      {EntryKind::SymbolicLink, "is a symbolic link; caches"},
      {EntryKind::HardLink, "is a hard link; caches"},
      {EntryKind::Device, "is a device or a pipe; caches"},
      {EntryKind::Other, "is neither a file nor a folder; caches"},
  };
  for (const auto& [kind, what] : table) {
    EXPECT_EQ(saidOf({{.name = "io.triton.cache/a", .kind = kind}}),
              fmt::format("layer entry \"io.triton.cache/a\" {} have files and folders only", what));
    EXPECT_NE(saidOf({{.name = "io.triton.cache", .kind = kind}}), "");
    EXPECT_NE(saidOf({{.name = "io.vllm.manifest/manifest.json", .kind = kind}}), "");
    EXPECT_EQ(saidOf({{.name = "usr/a", .kind = kind}}), "");
  }
  EXPECT_EQ(saidOf({file("io.triton.cache/a", 1, 04755)}),
            "layer entry \"io.triton.cache/a\" is setuid or setgid");
  EXPECT_EQ(saidOf({file("io.triton.cache/a", 1, 02755)}),
            "layer entry \"io.triton.cache/a\" is setuid or setgid");
  EXPECT_EQ(saidOf({{.name = "io.triton.cache/a", .kind = EntryKind::Folder, .mode = 02755}}), "");
  EXPECT_EQ(saidOf({file("io.triton.cache")}),
            "layer entry \"io.triton.cache\" is a file where the cache begins");
}

// What a layer takes away of those before it would stay on the node all the same.
TEST(LayerRules, AWhiteoutOfSomethingOfACacheIsRefusedWhereverItLies) {
  for (const char* name : {"io.triton.cache/k/.wh.a", "io.triton.cache/.wh.k", "io.vllm.cache/.wh..wh..opq",
                           ".wh.io.triton.cache", "./.wh.io.vllm.cache", ".wh.io.triton.manifest",
                           "io.vllm.manifest/.wh.manifest.json", ".wh..wh..opq"}) {
    EXPECT_EQ(
        saidOf({file(name, 0)}),
        fmt::format("layer entry \"{}\" is a whiteout: it takes away what a layer before has of the cache",
                    name));
  }
  for (const char* name :
       {".wh.tmp", "tmp/.wh..wh..opq", "usr/.wh.io.triton.cache", ".wh.io.triton.cachex"}) {
    EXPECT_EQ(saidOf({file(name, 0)}), "") << name;
  }
}

TEST(LayerRules, NothingIsTwoThings) {
  EXPECT_EQ(saidOf({folder("io.triton.cache/a"), folder("io.triton.cache/a/")}), "");
  EXPECT_EQ(saidOf({file("io.triton.cache/a"), file("./io.triton.cache/a")}),
            "layer entry \"./io.triton.cache/a\" comes twice");
  EXPECT_EQ(saidOf({file("io.vllm.manifest/manifest.json"), file("io.vllm.manifest/manifest.json")}),
            "layer entry \"io.vllm.manifest/manifest.json\" comes twice");
  EXPECT_EQ(saidOf({file("io.triton.cache/a"), folder("io.triton.cache/a")}),
            "layer entry \"io.triton.cache/a\" is a folder, and was a file");
  EXPECT_EQ(saidOf({folder("io.triton.cache/a"), file("io.triton.cache/a")}),
            "layer entry \"io.triton.cache/a\" is a file, and was a folder");
  EXPECT_EQ(saidOf({file("io.triton.cache/a/b"), file("io.triton.cache/a")}),
            "layer entry \"io.triton.cache/a\" is a file, and was a folder");
  EXPECT_EQ(saidOf({file("io.triton.cache/a"), file("io.triton.cache/a/b/c")}),
            "layer entry \"io.triton.cache/a/b/c\" lies in 'a', which is a file");
  // Both prefixes lead to one root.
  EXPECT_NE(saidOf({file("io.triton.cache/a"), file("io.vllm.cache/a")}), "");
}

TEST(LayerRules, AFileOfALaterLayerTakesAnEarlierOnesPlace) {
  LayerRules rules = begun();
  ASSERT_TRUE(rules.place(file("io.triton.cache/k/a")));
  ASSERT_TRUE(rules.place(file("io.triton.manifest/manifest.json")));
  rules.beginLayer();
  EXPECT_TRUE(rules.place(file("io.triton.cache/k/a"))->replaces);
  EXPECT_FALSE(rules.place(file("io.triton.cache/k/b"))->replaces);
  EXPECT_TRUE(rules.place(file("io.triton.manifest/manifest.json"))->replaces);
  EXPECT_FALSE(rules.place(file("io.triton.cache/k/a")));
  EXPECT_FALSE(rules.place(folder("io.triton.cache/k/b")));
}

TEST(LayerRules, ThereAreNoMoreEntriesAndBytesThanIsAllowed) {
  EXPECT_EQ(saidOf({file("a"), folder("b"), file("c")}, {.most_entries = 2}),
            "layer entry \"c\" is one more than the 2 that an image may have");
  EXPECT_EQ(saidOf({file("a", 60), file("b", 41)}, {.most_bytes = 100}),
            "layer entry \"b\" has 41 bytes: more than the 100 that an image may have in all");
  EXPECT_EQ(saidOf({file("a", 60), file("b", 40)}, {.most_bytes = 100}), "");
  EXPECT_NE(saidOf({file("a", std::numeric_limits<std::int64_t>::max())}), "");
  EXPECT_NE(saidOf({file("a", -1)}), "");
  EXPECT_NE(saidOf({file("io.vllm.manifest/manifest.json", kMaxCacheManifest + 1)}), "");
}

TEST(LayerRules, FoldersThatOnlyAPathNamesCountToo) {
  EXPECT_EQ(saidOf({file("io.triton.cache/a/b/c")}, {.most_entries = 3}), "");
  EXPECT_EQ(saidOf({file("io.triton.cache/a/b/c"), file("io.triton.cache/a/b/d")}, {.most_entries = 4}), "");
  EXPECT_EQ(saidOf({file("io.triton.cache/a/b/c")}, {.most_entries = 2}),
            "layer entry \"io.triton.cache/a/b/c\" is one more than the 2 that an image may have");
}

TEST(LayerRules, PathsHaveABound) {
  EXPECT_EQ(saidOf({file("io.triton.cache/aa/bb")}, {.most_path_bytes = 7}), "");  // "aa" and "aa/bb"
  EXPECT_EQ(saidOf({file("io.triton.cache/aa/bb")}, {.most_path_bytes = 6}),
            "layer entry \"io.triton.cache/aa/bb\" makes the paths of the image longer than the 6 bytes that "
            "they may have in all");
}

TEST(LayerRules, ALayerThatGrowsTooMuchIsABomb) {
  const LayerRules rules = begun({.most_ratio = 10, .free_bytes = 1000});
  EXPECT_TRUE(rules.grow(1, 1000));
  EXPECT_TRUE(rules.grow(101, 1010));
  EXPECT_EQ(rules.grow(100, 1010).error().message,
            "a layer of which 100 bytes were read has become 1010: over 10 times as many");
}

/// Whatever names come: what is placed lies below the root, and no two files at one path in one layer.
TEST(LayerRulesProperty, WhatIsPlacedLiesBelowTheRootAndOnce) {
  EXPECT_TRUE(rc::check([] {
    const auto part =
        rc::gen::elementOf(std::vector<std::string>{"a", "b", "..", ".", "", "./", "/", "\x01"});
    const auto names = *rc::gen::container<std::vector<std::vector<std::string>>>(
        rc::gen::container<std::vector<std::string>>(part));
    LayerRules rules = begun();
    std::set<std::string> files;
    for (const auto& parts : names) {
      const std::string name = fmt::format("io.triton.cache/{}", fmt::join(parts, "/"));
      const auto placed = rules.place(file(name));
      if (!placed) { continue; }
      RC_ASSERT(placed->where == Where::Cache);
      const std::string framed = "/" + placed->path + "/";
      RC_ASSERT(framed.find("/../") == std::string::npos && framed.find("/./") == std::string::npos);
      RC_ASSERT(framed.find("//") == std::string::npos);
      RC_ASSERT(files.insert(placed->path).second);
    }
  }));
}

}  // namespace
}  // namespace gs::kcache
