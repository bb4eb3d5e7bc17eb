#include "cacherim/store/store_records.h"

#include <gtest/gtest.h>

namespace gs::cacherim {
namespace {

TEST(StorePath, IsBelowItsRootAndNotTooLong) {
  for (const std::string& good :
       std::vector<std::string>{"a", "a/b", "a.b/..c", "...", std::string(255, 'x'), "a b/\xc3\xa4"}) {
    EXPECT_TRUE(isStorePath(good)) << good;
  }
  std::string deep = "a";
  for (int i = 0; i < 32; ++i) { deep += "/a"; }
  for (const std::string& bad :
       {std::string{}, std::string{"/"}, std::string{"/a"}, std::string{"a/"}, std::string{"a//b"},
        std::string{"."}, std::string{".."}, std::string{"a/../b"}, std::string{"./a"},
        std::string{"a\0b", 3}, std::string(256, 'x'), deep, std::string{"\xff"}}) {
    EXPECT_FALSE(isStorePath(bad)) << bad;
  }
}

TEST(CacheName, TakesNamesOfKubernetesOnly) {
  for (const char* bad : {"", "..", ".", "a/b", "../x", "A", "-a", "a-", "a_b", "a b"}) {
    EXPECT_FALSE(CacheName::inNamespace(bad, "c")) << bad;
    EXPECT_FALSE(CacheName::inNamespace("ns", bad)) << bad;
    EXPECT_FALSE(CacheName::ofCluster(bad)) << bad;
  }
  EXPECT_FALSE(CacheName::inNamespace("a.b", "c"));  // of a name, a dot may be part
  EXPECT_TRUE(CacheName::inNamespace("ns", "a.b"));
  EXPECT_FALSE(CacheName::inNamespace(std::string(64, 'a'), "c"));
  EXPECT_FALSE(CacheName::ofCluster(std::string(254, 'a')));
  EXPECT_TRUE(CacheName::ofCluster(std::string(253, 'a'))) << "Kubernetes takes it";
}

TEST(CacheName, IsReadBackFromItsFolder) {
  for (const auto& name : {*CacheName::inNamespace("team", "c"), *CacheName::ofCluster("c"),
                           *CacheName::inNamespace("cluster-scoped", "c")}) {
    const auto again = CacheName::fromFolder(name.folder(), name.name());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, name);
  }
  EXPECT_EQ(CacheName::ofCluster("c")->folder(), "cluster-scoped");
}

TEST(StoreRecords, AreReadBackAsTheyWere) {
  const StoredFile file{std::string{kcache::Digest::of("x").hex()}, true, 7};
  const LayerRecord layer{kcache::Digest::of("layer"), {"a", "a/b"}, {{"a/b/c", file}}};
  const auto read = parseLayer(printLayer(layer));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, layer);
  const TreeRecord tree{kcache::Digest::of("i"), {layer.layer}, {{"x", file}}, 7, 1, 3, "",
                        {{"x", file.hex}}};
  const auto read_tree = parseTree(printTree(tree));
  std::string older = printTree(tree);
  const std::string folders = R"("folders":3,)";
  ASSERT_NE(older.find(folders), std::string::npos);
  older.erase(older.find(folders), folders.size());
  EXPECT_FALSE(parseTree(older)) << "it is not as it was written";
  older.erase(older.find(R"(,"sum")")) += '}';
  const auto read_older = parseTree(older);
  ASSERT_TRUE(read_older) << "of a version that did not count them";
  EXPECT_EQ(read_older->folders, 0U);
  ASSERT_TRUE(read_tree) << read_tree.error().message;
  EXPECT_EQ(*read_tree, tree);
}

TEST(StoreRecords, PathsOfAnOlderVersionHaveNoHash) {
  const TreeRecord tree{kcache::Digest::of("i"), {}, {}, 0, 0, 0, "", {{"a/x", "12"}, {"b", "34"}}};
  std::string text = printTree(tree);
  text.erase(text.find(R"(,"sum")")) += '}';
  const auto without = [&](const std::string& sums) {
    std::string out = text;
    const std::string all = R"("path_sums":["12","34"])";
    EXPECT_NE(out.find(all), std::string::npos);
    return parseTree(out.replace(out.find(all), all.size(), sums));
  };
  EXPECT_EQ(without(R"("x":1)")->paths, (std::map<std::string, std::string>{{"a/x", ""}, {"b", ""}}));
  EXPECT_FALSE(without(R"("path_sums":["12"])"));
}

TEST(StoreRecords, AreRefusedWhereverOneBitIsAnother) {
  const StoredFile file{std::string{kcache::Digest::of("x").hex()}, true, 7};
  const std::string text = printLayer({kcache::Digest::of("layer"), {"a"}, {{"a/b", file}, {"a/c", file}}});
  const auto good = parseLayer(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      const auto read = parseLayer(other);
      EXPECT_TRUE(!read || *read == *good) << at << ' ' << bit;  // where "sum" has another name
    }
  }
}

TEST(StoreRecords, WithPathsThatLeadOutAreRefused) {
  const StoredFile file{std::string{kcache::Digest::of("x").hex()}, false, 7};
  for (const char* path : {"../a", "/a", "a//b"}) {
    EXPECT_FALSE(parseLayer(printLayer({kcache::Digest::of("l"), {path}, {}}))) << path;
    EXPECT_FALSE(parseLayer(printLayer({kcache::Digest::of("l"), {}, {{path, file}}}))) << path;
    EXPECT_FALSE(parseTree(printTree({kcache::Digest::of("i"), {}, {{path, file}}, 0, 0, 0}))) << path;
  }
  EXPECT_FALSE(parseLayer(printLayer({kcache::Digest::of("l"), {}, {{"a", {"../../etc", false, 1}}}})));
  for (const char* text : {"", "{}", "[]", "null", R"({"layer":"x"})"}) {
    EXPECT_FALSE(parseLayer(text)) << text;
    EXPECT_FALSE(parseTree(text)) << text;
  }
}

}  // namespace
}  // namespace gs::cacherim
