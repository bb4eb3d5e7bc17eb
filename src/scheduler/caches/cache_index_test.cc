#include "scheduler/caches/cache_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace gs::scheduler {
namespace {

const model::NodeName kFirstNode{"a"};
const model::NodeName kSecondNode{"b"};

TEST(CacheIndex, SaysWhichNodeHasWhichCache) {
  CacheIndex index;
  EXPECT_TRUE(index.put({"ml", "a"}, {"one", "two"}));
  EXPECT_TRUE(index.put({"ml", "b"}, {"two"}));
  EXPECT_TRUE(index.has(kFirstNode, {"ml", "one"}));
  EXPECT_FALSE(index.has(kSecondNode, {"ml", "one"}));
  EXPECT_TRUE(index.has(kSecondNode, {"ml", "two"}));
  EXPECT_EQ(index.nodesWith({"ml", "two"}), 2U);
  EXPECT_EQ(index.nodesWith({"ml", "three"}), 0U);
}

TEST(CacheIndex, CachesOfOneNameInTwoNamespacesAreTwo) {
  CacheIndex index;
  index.put({"ml", "a"}, {"one"});
  index.put({"", "b"}, {"one"});
  EXPECT_FALSE(index.has(kFirstNode, {"theirs", "one"}));
  EXPECT_FALSE(index.has(kFirstNode, {"", "one"})) << "nor does the cluster's";
  EXPECT_TRUE(index.has(kSecondNode, {"", "one"}));
}

TEST(CacheIndex, TellsWhatChangesSomething) {
  CacheIndex index;
  EXPECT_FALSE(index.put({"ml", "a"}, {}));
  EXPECT_TRUE(index.put({"ml", "a"}, {"one"}));
  EXPECT_FALSE(index.put({"ml", "a"}, {"one"}));
  EXPECT_TRUE(index.put({"ml", "a"}, {"two"})) << "as many, but another one";
  EXPECT_FALSE(index.has(kFirstNode, {"ml", "one"}));
  EXPECT_TRUE(index.put({"ml", "a"}, {}));
  EXPECT_EQ(index.caches(), 0U);
  EXPECT_EQ(index.objects(), 0U);
}

RC_GTEST_PROP(CacheIndexProperty, EqualsASetOfPairsAfterAnyChanges, (std::uint64_t seed)) {
  Rng rng{seed};
  CacheIndex index;
  std::map<model::ObjectKey, std::set<std::string>> told;
  const auto ns = [&] { return rng.chance(30) ? std::string{} : "ns-" + std::to_string(rng.below(2)); };
  for (int i = 0; i < 80; ++i) {
    const model::ObjectKey object{ns(), "node-" + std::to_string(rng.below(4))};
    std::set<std::string> names;
    for (std::uint64_t n = rng.below(5); n > 0; --n) { names.insert("c" + std::to_string(rng.below(6))); }
    RC_ASSERT(index.put(object, {names.begin(), names.end()}) == (told[object] != names));
    told[object] = names;

    std::set<model::ObjectKey> caches;
    std::size_t objects = 0;
    for (const auto& [key, of] : told) {
      objects += of.empty() ? 0 : 1;
      for (const auto& name : of) { caches.insert({key.ns, name}); }
    }
    RC_ASSERT(index.objects() == objects);
    RC_ASSERT(index.caches() == caches.size());  // nothing is kept of what is gone
    const model::ObjectKey asked{ns(), "c" + std::to_string(rng.below(6))};
    std::size_t nodes = 0;
    for (int node = 0; node < 4; ++node) {
      const std::string name = "node-" + std::to_string(node);
      const bool has = told[{asked.ns, name}].contains(asked.name);
      nodes += has ? 1 : 0;
      RC_ASSERT(index.has(model::NodeName{name}, asked) == has);
    }
    RC_ASSERT(index.nodesWith(asked) == nodes);
  }
}

}  // namespace
}  // namespace gs::scheduler
