#include "net/url.h"

#include <gtest/gtest.h>

namespace gs::net {
namespace {

TEST(Url, IsSplitAndPutTogether) {
  const auto url = parseUrl("https://Quay.IO/v2/a/blobs?x=1&y=%2F#part");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(*url, (Url{"https", "quay.io", "443", "/v2/a/blobs?x=1&y=%2F"}));
  EXPECT_EQ(url->text(), "https://quay.io:443/v2/a/blobs?x=1&y=%2F");
  EXPECT_TRUE(url->encrypted());
  EXPECT_EQ(parseUrl("http://[::1]:5000")->text(), "http://[::1]:5000/");
}

TEST(Url, SaysNoToOtherSchemesToNamesInItAndToNonsense) {
  for (const char* text :
       {"", "quay.io", "ftp://a/b", "file:///etc/passwd", "https://", "https://me:secret@a/", "https://me@a/",
        "http://a b/", "https://a/\r\nHost: b", "https://a:99999/"}) {
    const auto url = parseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos);
  }
}

TEST(Url, ALocationIsReadAtItsBase) {
  const Url base = *parseUrl("https://a:5000/v2/x/blobs/1?q");
  EXPECT_EQ(resolveUrl(base, "/y")->text(), "https://a:5000/y");
  EXPECT_EQ(resolveUrl(base, "2")->text(), "https://a:5000/v2/x/blobs/2");
  EXPECT_EQ(resolveUrl(base, "//b/y")->text(), "https://b:443/y");
  EXPECT_EQ(resolveUrl(base, "http://a:5000/y")->origin(), "http://a:5000");
  EXPECT_FALSE(resolveUrl(base, "https://me:secret@a:5000/"));
  EXPECT_FALSE(resolveUrl(base, "file:///etc/passwd"));
}

TEST(Url, TheOriginIsSchemeHostAndPort) {
  EXPECT_EQ(parseUrl("https://a/x")->origin(), parseUrl("https://A:443/y")->origin());
  EXPECT_NE(parseUrl("https://a/x")->origin(), parseUrl("https://a:444/x")->origin());
  EXPECT_NE(parseUrl("https://a:80/")->origin(), parseUrl("http://a:80/")->origin());
}

TEST(Url, KnowsThisMachine) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]"}) {
    EXPECT_TRUE(isLoopback(host)) << host;
  }
  for (const char* host : {"localhost.example", "127.0.0.1.example", "128.0.0.1", "[::2]", ""}) {
    EXPECT_FALSE(isLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace gs::net
