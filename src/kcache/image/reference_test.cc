#include "kcache/image/reference.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/utf8.h"

namespace gs::kcache {
namespace {

const std::string kHexA(64, 'a');
const std::string kDigestA = "sha256:" + kHexA;
const std::string kDigestB = "sha256:" + std::string(64, 'b');

struct Parts {
  std::string text, registry, repository, tag, digest;
};

TEST(Reference, IsReadIntoItsParts) {
  const Parts table[] = {
      {"quay.io/gkm/vector-add-cache:rocm", "quay.io", "gkm/vector-add-cache", "rocm", ""},
      {"quay.io/gkm/a@" + kDigestA, "quay.io", "gkm/a", "", kDigestA},
      {"quay.io/gkm/a:v1@" + kDigestA, "quay.io", "gkm/a", "v1", kDigestA},
      {"a", "docker.io", "library/a", "latest", ""},
      {"docker.io/a", "docker.io", "library/a", "latest", ""},
      {"me/a:1", "docker.io", "me/a", "1", ""},
      {"localhost/a", "localhost", "a", "latest", ""},
      {"host:5000/repo", "host:5000", "repo", "latest", ""},
      {"host:5000/repo:v1", "host:5000", "repo", "v1", ""},
      {"[::1]:5000/repo", "[::1]:5000", "repo", "latest", ""},
      {"[fe80::1]/repo", "[fe80::1]", "repo", "latest", ""},
      {"QUAY.IO/gkm/a:v1", "quay.io", "gkm/a", "v1", ""},
      {"quay.io:443/gkm/a:v1", "quay.io", "gkm/a", "v1", ""},
      {"Quay.io:00443/gkm/a", "quay.io", "gkm/a", "latest", ""},
      {"host:05000/repo", "host:5000", "repo", "latest", ""},
      {"host:4430/repo", "host:4430", "repo", "latest", ""},
      {"[FE80::1]:443/repo", "[fe80::1]", "repo", "latest", ""},
      {"[::443]/repo", "[::443]", "repo", "latest", ""},
      {"index.docker.io/a", "docker.io", "library/a", "latest", ""},
      {"Registry-1.docker.io:443/me/a", "docker.io", "me/a", "latest", ""},
      {"q.io/a.b_c__d---e/f", "q.io", "a.b_c__d---e/f", "latest", ""},
      {"q.io/a:_x.Y-z", "q.io", "a", "_x.Y-z", ""},
  };
  for (const Parts& row : table) {
    const auto got = parseReference(row.text);
    ASSERT_TRUE(got) << row.text << ": " << got.error().message;
    EXPECT_EQ(got->registry, row.registry) << row.text;
    EXPECT_EQ(got->repository, row.repository) << row.text;
    EXPECT_EQ(got->tag, row.tag) << row.text;
    EXPECT_EQ(got->digest ? got->digest->text() : "", row.digest) << row.text;
  }
}

TEST(Reference, WhatIsWrongIsSaid) {
  const std::pair<std::string, const char*> table[] = {
      {"", "the repository has"},
      {"quay.io/", "the repository has"},
      {"quay.io/A", "the repository has"},
      {"quay.io/a//b", "the repository has"},
      {"quay.io/a..b", "the repository has"},
      {"quay.io/../b", "the repository has"},
      {"quay.io/-a", "the repository has"},
      {"quay.io/a___b", "the repository has"},
      {"quay.io/a:", "the tag has"},
      {"quay.io/a:-x", "the tag has"},
      {"quay.io/a:b:c", "the tag has"},
      {"quay.io/a:" + std::string(129, 'x'), "the tag has"},
      {"quay.io/a@", "is no digest"},
      {"quay.io/a@sha256:1", "is no digest"},
      {"host:port/a", "no host[:port]"},
      {"host:500000/a", "no host[:port]"},
      {"-host.io/a", "no host[:port]"},
      {"[x]/a", "no host[:port]"},
      {"quay.io/" + std::string(300, 'a'), "255 are allowed"},
  };
  for (const auto& [text, what] : table) {
    const auto got = parseReference(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, Code::Invalid);
    EXPECT_NE(got.error().message.find(what), std::string::npos) << got.error().message;
  }
}

TEST(Reference, AWrongOneIsNamedInWholeCharacters) {
  const auto reference = parseReference(std::string(509, 'a') + "\u00e4");
  ASSERT_FALSE(reference);
  EXPECT_TRUE(isUtf8(reference.error().message)) << reference.error().message;
}

TEST(Reference, StrictlyItHasARegistryAndATagOrDigest) {
  EXPECT_TRUE(parseStrictReference("quay.io/gkm/a:v1"));
  EXPECT_TRUE(parseStrictReference("quay.io/gkm/a@" + kDigestA));
  EXPECT_FALSE(parseStrictReference("invalid:image_name"));
  EXPECT_EQ(parseStrictReference("gkm/a:v1").error().message,
            "image 'gkm/a:v1': write its registry too, as quay.io/gkm/vector-add-cache:rocm");
  EXPECT_EQ(parseStrictReference("quay.io/gkm/a").error().message,
            "image 'quay.io/gkm/a': write its tag or digest too, as :latest");
}

// The ancestor's TestReplaceUrlTag. Its "tag@other keeps the tag" is not kept: a digest says all.
TEST(Reference, IsPinnedToADigest) {
  const Digest a = *Digest::parse(kDigestA);
  const std::pair<std::string, std::string> table[] = {
      {"quay.io/gkm/cache-examples:vector-add-cache-rocm", "quay.io/gkm/cache-examples@" + kDigestA},
      {"quay.io/gkm/cache-examples:v12-34", "quay.io/gkm/cache-examples@" + kDigestA},
      {"quay.io/gkm/cache-examples", "quay.io/gkm/cache-examples@" + kDigestA},
      {"quay.io/gkm/cache-examples:tag@" + kDigestA, "quay.io/gkm/cache-examples@" + kDigestA},
      {"quay.io/gkm/cache-examples:tag@" + kDigestB, "quay.io/gkm/cache-examples@" + kDigestA},
      {"host:5000/repo", "host:5000/repo@" + kDigestA},
      {"host:5000/repo:v1", "host:5000/repo@" + kDigestA},
  };
  for (const auto& [text, pinned] : table) {
    const auto got = parseReference(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(got->pinned(a).text(), pinned);
  }
  EXPECT_FALSE(parseReference(""));
}

TEST(ReferenceProperty, WhatIsReadIsReadTheSameAgain) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab.:/@_-0[]"}));
    const auto once = parseReference(text);
    if (!once) { return; }
    const auto twice = parseReference(once->text());
    RC_ASSERT(twice.has_value());
    RC_ASSERT(*twice == *once);
  }));
}

}  // namespace
}  // namespace gs::kcache
