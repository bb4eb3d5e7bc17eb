#include "serve/trust/served_images.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

kcache::Reference image(const std::string& repository, const std::string& bytes = "a") {
  return {"quay.io", repository, "", kcache::Digest::of(bytes)};
}

cacherim::Credentials as(const std::string& user, const std::string& password) {
  cacherim::Credentials out;
  out.add("quay.io", {.username = user, .password = password});
  return out;
}

TEST(ServedImages, AreRememberedForAWhile) {
  ServedImages served{{.age = 10min}};
  const std::string key = ServedImages::keyOf(image("a/b"), {});
  EXPECT_FALSE(served.has(key, Mono{}));
  served.add(key, Mono{});
  EXPECT_TRUE(served.has(key, Mono{} + 9min));
  EXPECT_FALSE(served.has(key, Mono{} + 10min));
  served.add(key, Mono{} + 11min);
  EXPECT_TRUE(served.has(key, Mono{} + 12min));
}

TEST(ServedImages, OfAnotherRepositoryDigestOrWhoAsksAreOthers) {
  const std::vector<std::string> keys{
      ServedImages::keyOf(image("a/b"), {}),           ServedImages::keyOf(image("a/c"), {}),
      ServedImages::keyOf(image("a/b", "other"), {}),  ServedImages::keyOf(image("a/b"), as("u", "p")),
      ServedImages::keyOf(image("a/b"), as("u", "q")), ServedImages::keyOf(image("a/b"), as("up", "")),
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) { EXPECT_NE(keys[i], keys[j]) << i << ' ' << j; }
    EXPECT_EQ(keys[i].find("u:p"), std::string::npos);
  }
  kcache::Reference tagged = image("a/b");
  tagged.tag = "v1";
  EXPECT_EQ(ServedImages::keyOf(tagged, {}), keys[0]) << "a tag says nothing beside a digest";
  cacherim::Credentials elsewhere;
  elsewhere.add("ghcr.io", {.username = "u", .password = "p"});
  EXPECT_EQ(ServedImages::keyOf(image("a/b"), elsewhere), keys[0]) << "they are not shown to this registry";
}

TEST(ServedImages, OfTooManyTheOldestIsForgotten) {
  ServedImages served{{.age = 1h, .most = 2}};
  served.add("one", Mono{} + 1s);
  served.add("two", Mono{} + 2s);
  served.add("one", Mono{} + 3s);
  served.add("three", Mono{} + 4s);
  EXPECT_TRUE(served.has("one", Mono{} + 5s));
  EXPECT_FALSE(served.has("two", Mono{} + 5s));
  EXPECT_TRUE(served.has("three", Mono{} + 5s));
}

}  // namespace
}  // namespace gs::serve
