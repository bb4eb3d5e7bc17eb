#include "kcache/kinds/claims.h"

#include <gtest/gtest.h>

#include <set>

#include "base/dns_name.h"
#include "json/value.h"

namespace gs::kcache {
namespace {

ClaimWish wishOf(const char* spec, bool is_of_cluster) {
  auto parsed = json::parse(spec);
  EXPECT_TRUE(parsed.has_value()) << spec;
  return parsed ? claimWishIn(*parsed, is_of_cluster) : ClaimWish{};
}

TEST(ClaimWish, IsThereWithAnyFieldOfGkmThatKeepsCachesInVolumes) {
  struct Row {
    const char* spec;
    bool is_wanted;
    std::vector<std::string> unused;
  };
  const std::vector<Row> rows{
      {R"({"image": "a/b"})", false, {}},
      {R"({"pvc": true})", true, {}},
      {R"({"pvc": false, "accessModes": ["ReadOnlyMany"]})", false, {}},
      {R"({"accessModes": ["ReadOnlyMany"]})", true, {}},
      {R"({"accessModes": ["ReadOnlyMany", "ReadWriteOnce"]})",
       true,
       {"accessModes other than ReadOnlyMany"}},
      {R"({"accessModes": []})", false, {}},
      {R"({"storageClassName": "fast"})", true, {"storageClassName"}},
      {R"({"storageClassName": ""})", false, {}},
      {R"({"podTemplate": {}})", true, {"podTemplate"}},
      {R"({"workloadNamespaces": ["a"]})", true, {"workloadNamespaces"}},
      {R"({"accessModes": 7, "podTemplate": 7, "storageClassName": [], "pvc": "yes"})", false, {}},
  };
  for (const Row& row : rows) {
    const ClaimWish wish = wishOf(row.spec, false);
    EXPECT_EQ(wish.is_wanted, row.is_wanted) << row.spec;
    EXPECT_EQ(wish.unused, row.unused) << row.spec;
    EXPECT_TRUE(wish.namespaces.empty()) << row.spec;
  }
}

TEST(ClaimWish, NamespacesAreThoseOfAClusterWideCacheEachOnce) {
  const ClaimWish wish = wishOf(R"({"workloadNamespaces": ["b", "a", "b", "No", "", 7, "a.b"]})", true);
  EXPECT_TRUE(wish.is_wanted);
  EXPECT_EQ(wish.namespaces, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(wish.unused.empty());
}

TEST(ClaimWish, NamespacesAreBounded) {
  json::Array many;
  for (int i = 0; i < 1000; ++i) { many.push_back("ns-" + std::to_string(i)); }
  const json::Value spec = json::Object{{"workloadNamespaces", many}};
  EXPECT_EQ(claimWishIn(spec, true).namespaces.size(), ClaimWish::kMostNamespaces);
}

TEST(VolumeHandle, ReadsAsItWasMade) {
  EXPECT_EQ(volumeHandle({"ns", "one"}, "ns"), "gkmcache/ns/one");
  EXPECT_EQ(volumeHandle({"", "one"}, "ns"), "clustergkmcache/one/ns");
  for (const model::ObjectKey& cache : {model::ObjectKey{"ns", "one"}, model::ObjectKey{"", "one.two"}}) {
    const auto of = parseVolumeHandle(volumeHandle(cache, "ns"));
    ASSERT_TRUE(of.has_value());
    EXPECT_EQ(*of, (VolumeOf{cache, "ns"}));
    EXPECT_EQ(of->claim(), (model::ObjectKey{"ns", cache.name}));
  }
}

TEST(VolumeHandle, WhatIsNoneIsNothing) {
  for (const char* text :
       {"", "gkmcache", "gkmcache/", "gkmcache/ns", "gkmcache//one", "gkmcache/ns/", "gkmcache/ns/one/two",
        "gkmcache/../one", "clustergkmcache/one/NS", "pvc-1/a/b", "clustergkmcache/one/a.b"}) {
    EXPECT_EQ(parseVolumeHandle(text), std::nullopt) << text;
  }
}

TEST(VolumeName, FitsAndIsAnothersNeverWhateverTheNames) {
  const std::string longest(253, 'a');
  const std::string almost = std::string(252, 'a') + 'b';
  const std::string ns(63, 'n');
  std::set<std::string> names;
  std::size_t made = 0;
  for (const std::string& name :
       {std::string{"a"}, std::string{"a-b"}, std::string{"a.b"}, longest, almost}) {
    for (const std::string& of : {std::string{"n"}, std::string{"a-b"}, ns}) {
      for (const bool is_of_cluster : {false, true}) {
        const auto volume = volumeName(volumeHandle({is_of_cluster ? "" : of, name}, of));
        EXPECT_TRUE(isDnsSubdomain(volume)) << volume;
        names.insert(volume);
        ++made;
      }
    }
  }
  EXPECT_EQ(names.size(), made);
  EXPECT_EQ(volumeName("gkmcache/ns/one").substr(0, 16), "gkmcache-ns-one-");
}

}  // namespace
}  // namespace gs::kcache
