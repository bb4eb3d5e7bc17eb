#include "kcache/content/paths.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/value.h"
#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

const std::string kGroupPath = kRocmKey + "/__grp__add_kernel.json";
const std::string kCachePath = "torch_compile_cache/edf531ca35/rank_0_0/backbone/vllm_compile_cache.py";

TEST(CachePaths, OfAGroupFileLeadToWhereTheConsumerHasTheCache) {
  const auto now = forRoot("/cache", kGroupPath, rocmSample().at(kGroupPath));
  ASSERT_TRUE(now);
  EXPECT_EQ(*json::parse(*now), *json::parse(groupOf("/cache", kRocmKey)));
  EXPECT_FALSE(forRoot("/cache", kGroupPath, *now));
}

TEST(CachePaths, OfAGroupFileDeeperInTheCacheTheFolderCounts) {
  const std::string in = "torch_compile_cache/h/rank_0_0/triton_cache/K/";
  const auto now = forRoot("/c", in + "__grp__k.json", R"({"child_paths":{"k.json":"/x/y/k.json"},"z":1})");
  EXPECT_EQ(now, R"({"child_paths":{"k.json":"/c/)" + in + R"(k.json"},"z":1})");
}

TEST(CachePaths, WhatIsNoGroupStaysAsItIs) {
  for (const char* text : {"", "[]", "{}", R"({"child_paths":["a"]})", R"({"child_paths":{"a":1}})"}) {
    EXPECT_FALSE(forRoot("/c", "K/__grp__k.json", text)) << text;
  }
  EXPECT_FALSE(forRoot("/c", "K/k.json", groupOf("/x", "K")));
  EXPECT_FALSE(bearsPaths("K/k.json"));
  EXPECT_TRUE(bearsPaths("K/__grp__k.json"));
  EXPECT_TRUE(bearsPaths(kCachePath));
}

TEST(CachePaths, AChildNeverLeadsOutOfItsFolder) {
  const auto now = forRoot("/c", "K/__grp__k.json", R"({"child_paths":{"k":"/x/../../etc/passwd"}})");
  EXPECT_EQ(now, R"({"child_paths":{"k":"/c/K/passwd"}})");
}

TEST(CachePaths, OfVllmsListOfArtifactsLeadToWhereTheConsumerHasTheCache) {
  const std::string before = llamaSample().at(kCachePath);
  const auto now = forRoot("/home/kserve/.cache/vllm", kCachePath, before);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->find("ec2-user"), std::string::npos);
  EXPECT_NE(now->find("(   'artifact_compile_range_1_2048_subgraph_1',\n        "
                      "'/home/kserve/.cache/vllm/torch_compile_cache/edf531ca35/rank_0_0/backbone/"
                      "artifact_compile_range_1_2048_subgraph_1')}\n"),
            std::string::npos);
  EXPECT_EQ(forRoot("/home/ec2-user/.cache/vllm", kCachePath, *now), before);
}

TEST(CachePaths, OfVllmsListOtherTextsStay) {
  const char* const table[] = {
      "{(None, 0, 'x'): ('h', '/a/torch_compile_cache/other/rank_0_0/b')}",
      "{'torch_compile_cache/edf531ca35/x'}",
      "{'/a/torch_compile_cache/edf531ca35/x}",
      "no quotes /a/torch_compile_cache/edf531ca35/x",
      "{}",
  };
  for (const char* text : table) { EXPECT_FALSE(forRoot("/c", kCachePath, text)) << text; }
  EXPECT_FALSE(forRoot("/c", "vllm_compile_cache.py", "{'/a/torch_compile_cache/edf531ca35/x'}"));
  EXPECT_EQ(forRoot("/it's", kCachePath, "{'/a\\'/torch_compile_cache/edf531ca35/x'}"),
            "{'/it\\'s/torch_compile_cache/edf531ca35/x'}");
  EXPECT_EQ(forRoot("/c", kCachePath, "{\"/a/torch_compile_cache/edf531ca35/x\", 'y'}"),
            "{\"/c/torch_compile_cache/edf531ca35/x\", 'y'}");
}

// compilation_config.cache_dir names any folder; the artifact lies beside the list all the same.
TEST(CachePaths, AnArtifactIsKnownByItsNameBesideTheListAndNotByTheFoldersAboveIt) {
  const std::string in = "torch_compile_cache/run1/rank_0_0/backbone/";
  const std::string list = in + "vllm_compile_cache.py";
  const std::string handle = "('artifact_shape_None_subgraph_0',\n '";
  const std::string made = "{(None, 0, 'x'): " + handle +
                           "/data/compiled/run1/rank_0_0/backbone/artifact_shape_None_subgraph_0')}";
  const auto now = forRoot("/c", list, made);
  EXPECT_EQ(now, "{(None, 0, 'x'): " + handle + "/c/" + in + "artifact_shape_None_subgraph_0')}");
  EXPECT_FALSE(forRoot("/c", list, *now));
  EXPECT_EQ(forRoot("/d", list, *now),
            "{(None, 0, 'x'): " + handle + "/d/" + in + "artifact_shape_None_subgraph_0')}");
  // vLLM 0.18 and newer has the pair inside of a dictionary.
  EXPECT_EQ(forRoot("/c", "r/vllm_compile_cache.py",
                    "{((1, 8), 0, 'x'): {'cache_key': 'k', 'graph_handle': ('a_0', '/any/where/a_0')}}"),
            "{((1, 8), 0, 'x'): {'cache_key': 'k', 'graph_handle': ('a_0', '/c/r/a_0')}}");
  // Another file's path, and a name that is none.
  EXPECT_FALSE(forRoot("/c", list, "{'a': ('artifact_0', '/data/artifact_1'), 'b': ('', '/data/')}"));
}

TEST(CachePaths, SayWhereTheCacheWasMade) {
  EXPECT_EQ(rootNamedIn(kCachePath, llamaSample().at(kCachePath)), "/home/ec2-user/.cache/vllm");
  EXPECT_EQ(rootNamedIn(kGroupPath, rocmSample().at(kGroupPath)), "/workspace/.triton/cache");
  EXPECT_EQ(rootNamedIn("K/__grp__k.json", R"({"child_paths":{"k":"/K/k"}})"), "");
  EXPECT_FALSE(rootNamedIn("K/__grp__k.json", R"({"child_paths":{"k":"/other/k"}})"));
  EXPECT_FALSE(rootNamedIn("K/__grp__k.json", "{"));
  EXPECT_FALSE(rootNamedIn(kCachePath, "{(None, 0, 'x'): ('a', '/data/run1/a')}"));
  EXPECT_FALSE(rootNamedIn("K/k.json", rocmSample().at(kGroupPath)));
}

/// With so many children that all name the same file.
std::string groupWith(int children) {
  std::string out = R"({"child_paths":{)";
  for (int i = 0; i < children; ++i) { out += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"b")"; }
  return out + "}}";
}

TEST(CachePaths, AFileThatWouldBecomeVeryLargeStaysAsItIs) {
  const std::string deep = std::string(250, 'd') + '/' + std::string(250, 'e') + "/__grp__k.json";
  EXPECT_TRUE(forRoot("/c", deep, groupWith(1'000)));
  EXPECT_FALSE(forRoot("/c", deep, groupWith(3'000))) << "1.5 MB of 30 kB";
  EXPECT_FALSE(forRoot("/c", "K/__grp__k.json", groupWith(100'000))) << "it is large";
  std::string list = "{";
  for (int i = 0; i < 10'000; ++i) { list += "'/torch_compile_cache/edf531ca35/x',"; }
  EXPECT_TRUE(forRoot("/c", kCachePath, list + "}"));
  EXPECT_FALSE(forRoot("/" + std::string(200, 'r'), kCachePath, list + "}"));
  EXPECT_FALSE(forRoot("/c", kCachePath, list + list + list + list + "}"));
}

TEST(CachePathsProperty, ASecondRootIsAsIfItHadBeenTheFirst) {
  EXPECT_TRUE(rc::check([] {
    const auto root = [] {
      return "/" + *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab'\"\\/"}));
    };
    const std::string first = root();
    const std::string second = root();
    for (const auto& [path, text] : {std::pair{kCachePath, llamaSample().at(kCachePath)},
                                     std::pair{kGroupPath, rocmSample().at(kGroupPath)}}) {
      const std::string once = forRoot(first, path, text).value_or(text);
      RC_ASSERT(!forRoot(first, path, once));
      RC_ASSERT(forRoot(second, path, once).value_or(once) == forRoot(second, path, text).value_or(text));
    }
  }));
}

}  // namespace
}  // namespace gs::kcache
