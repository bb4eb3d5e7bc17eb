#include "cacherim/registry/registry_writer.h"

#include "cacherim/registry/registry_fixture_test.h"

namespace gs::cacherim {
namespace {

class RegistryWriterTest : public RegistryTest {
 protected:
  [[nodiscard]] RegistryWriter writer() { return RegistryWriter{options_, clock_, Rng{1}, pause_}; }
  static OpenBlob reading(const std::string& text) {
    return [&text] {
      return [&text, at = std::size_t{0}](char* to, std::size_t room) mutable {
        const std::size_t n = text.copy(to, room, at);
        at += n;
        return n;
      };
    };
  }
};

/// Knows no blob; takes uploads at /up.
bool takeUpload(Peer& peer, const net::Request& request) {
  if (request.method == "HEAD") {
    peer.write("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n");
  } else if (request.method == "POST") {
    peer.write(http(202, {{"Location", "/up?state=x"}}, ""));
  } else {
    peer.write(http(201, {}, ""));
  }
  return true;
}

TEST_F(RegistryWriterTest, UploadsABlobThatIsNotThere) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) { return takeUpload(peer, request); }};
  plain(fake);
  RegistryWriter writer = this->writer();
  const Status out = writer.blob(fake.image(), descriptorOf(large_), reading(large_), "");
  ASSERT_TRUE(out) << out.error().message;
  const std::string digest = kcache::Digest::of(large_).text();
  EXPECT_EQ(fake.asked(), (Asked{"HEAD /v2/a/b/blobs/" + digest, "POST /v2/a/b/blobs/uploads/",
                                 "PUT /up?state=x&digest=sha256%3A" + digest.substr(7)}));
  EXPECT_EQ(fake.requests()[2].body, large_);
  EXPECT_EQ(writer.bytesSent(), large_.size());
}

TEST_F(RegistryWriterTest, SendsNothingThatIsThereOrCanBeMounted) {
  for (const bool there : {true, false}) {
    FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
      const int status = request.method == "HEAD" ? (there ? 200 : 404) : 201;
      peer.write("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: 0\r\n\r\n");
      return true;
    }};
    plain(fake);
    RegistryWriter writer = this->writer();
    ASSERT_TRUE(writer.blob(fake.image(), descriptorOf(large_), reading(large_), "other/one"));
    EXPECT_EQ(writer.bytesSent(), 0U);
    EXPECT_EQ(fake.requests().size(), there ? 1U : 2U);
    if (!there) { EXPECT_NE(fake.asked()[1].find("&from=other%2Fone"), std::string::npos); }
  }
}

TEST_F(RegistryWriterTest, ALostUploadBeginsAgain) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int count) {
    if (count == 2) { return false; }
    return takeUpload(peer, request);
  }};
  plain(fake);
  const Status out = writer().blob(fake.image(), descriptorOf(large_), reading(large_), "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(fake.requests().back().body, large_);
  EXPECT_EQ(fake.requests().size(), 6U);
}

TEST_F(RegistryWriterTest, AsksForTheRightToPush) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    if (request.path() == "/token") {
      peer.write(http(200, {}, R"({"token":"t"})"));
      return true;
    }
    if (headerOf(request, "Authorization") == "Bearer t") { return takeUpload(peer, request); }
    peer.write("HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer realm=\"/token\"\r\nContent-Length: 0\r\n\r\n");
    return true;
  }};
  plain(fake);
  RegistryWriter writer = this->writer();
  ASSERT_TRUE(writer.blob(fake.image(), descriptorOf(large_), reading(large_), ""));
  ASSERT_TRUE(writer.manifest(fake.image(), "application/x", "{}"));
  EXPECT_EQ(fake.asked()[1], "GET /token?service=&scope=repository%3Aa%2Fb%3Apull%2Cpush");
  EXPECT_EQ(fake.asked().back(), "PUT /v2/a/b/manifests/v1");
  EXPECT_EQ(headerOf(fake.requests().back(), "Content-Type"), "application/x");
  EXPECT_EQ(fake.requests().back().body, "{}");
}

TEST_F(RegistryWriterTest, ARefusalIsAnError) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    if (request.method != "PUT") { return takeUpload(peer, request); }
    peer.write(http(400, {}, ""));
    return true;
  }};
  plain(fake);
  RegistryWriter writer = this->writer();
  const Status blob = writer.blob(fake.image(), descriptorOf(large_), reading(large_), "");
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().code, Code::Invalid);
  EXPECT_FALSE(writer.manifest(fake.image(), "application/x", "{}"));
  const Status other = writer.manifest(fake.image().pinned(kcache::Digest::of("x")), "application/x", "{}");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::cacherim
