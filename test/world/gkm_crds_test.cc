// What the CRDs of charts/gkm take, held against what this code takes. (Tests run in the repository's root.)
#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "base/random.h"
#include "kcache/image/reference.h"
#include "pattern/pattern.h"

namespace gs::test {
namespace {

const std::string& crdText() {
  static const std::string text = readFile("charts/gkm/crds/crds.yaml", 1 << 20).value_or("");
  return text;
}

/// Behind "pattern: " where `property` is described first, or a second time.
std::string patternOf(const std::string& property, int occurrence) {
  std::size_t at = 0;
  for (int i = 0; i < occurrence; ++i) { at = crdText().find("\n              " + property + ":\n", at + 1); }
  const std::string key = "pattern: ";
  at = crdText().find(key, at) + key.size();
  return crdText().substr(at, crdText().find('\n', at) - at);
}

std::string randomReference(Rng& rng) {
  static constexpr const char* kParts[] = {"a", "b1", "A", "localhost", "quay.io", ".",   "-", "_", "__",
                                           "/", "/",  ":", "@",         "5000",    "tag", "[", "]", "::1"};
  std::string out;
  for (std::uint64_t n = 1 + rng.below(9); n > 0; --n) { out += kParts[rng.below(std::size(kParts))]; }
  if (rng.below(4) == 0) { out += "@sha256:" + std::string(64, 'a'); }
  return out;
}

TEST(Crds, TakeAnImageExactlyWhereItCanBeRead) {
  const std::string pattern = patternOf("image", 1);
  ASSERT_EQ(pattern, patternOf("image", 2));
  ASSERT_EQ(pattern.front(), '^');
  ASSERT_EQ(pattern.back(), '$');
  const auto regex = Pattern::compile(pattern);
  ASSERT_TRUE(regex.has_value());
  Rng rng{1};
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = randomReference(rng);
    const bool is_good = kcache::parseReference(text).has_value();
    taken += is_good ? 1 : 0;
    ASSERT_EQ(regex->matches(text), is_good) << text;
  }
  EXPECT_GT(taken, 500);
}

TEST(Crds, TakeImagesAsPeopleWriteThem) {
  const auto regex = Pattern::compile(patternOf("image", 1));
  ASSERT_TRUE(regex.has_value());
  const std::string digest = "@sha256:" + std::string(64, '0');
  for (const std::string& good :
       {std::string{"quay.io/gkm/vector-add-cache:rocm"}, "localhost:5000/a" + digest, std::string{"busybox"},
        "[::1]:5000/a:b" + digest}) {
    EXPECT_TRUE(regex->matches(good)) << good;
  }
  for (const char* bad :
       {"", " quay.io/a", "quay.io/a\n", "quay.io/../a", "https://quay.io/a", "a;b", "a@sha256:0"}) {
    EXPECT_FALSE(regex->matches(bad)) << bad;
  }
}

}  // namespace
}  // namespace gs::test
