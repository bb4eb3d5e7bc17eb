#include "mcv/registry_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/mutex.h"
#include "base/percent.h"
#include "base/temp_folder_test.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "json/value.h"
#include "kcache/content/samples_test.h"
#include "mcv/run.h"
#include "signature/private_key.h"

namespace gs::mcv {
namespace {

namespace fs = std::filesystem;
using cacherim::http;

/// Keeps what is put into it, for who knows the password; "" anybody.
class Shelf {
 public:
  explicit Shelf(std::string authorization = "") : authorization_{std::move(authorization)} {}

  bool serve(cacherim::Peer& peer, const net::Request& request) {
    const MutexLock lock{mutex_};
    if (!authorization_.empty() && cacherim::headerOf(request, "Authorization") != authorization_) {
      peer.write(http(401, {{"WWW-Authenticate", "Basic realm=\"shelf\""}}, ""));
    } else if (request.method == "POST") {
      peer.write(http(202, {{"Location", "/up"}}, ""));
    } else if (request.method == "PUT") {
      put(request);
      peer.write(http(201, {}, ""));
    } else if (const auto it = things_.find(request.target); it == things_.end()) {
      peer.write("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n");
    } else {
      const bool is_manifest = request.target.find("/manifests/") != std::string::npos;
      const std::string type = !is_manifest
                                   ? "application/octet-stream"
                                   : std::string{it->second.find("\"manifests\":") != std::string::npos
                                                     ? kcache::media::kOciIndex
                                                     : kcache::media::kOciManifest};
      peer.write(http(200, {{"Content-Type", type}}, it->second));
    }
    return true;
  }

 private:
  void put(const net::Request& request) GS_REQUIRES(mutex_) {
    constexpr std::string_view kUpload = "/up?digest=";
    if (!request.target.starts_with(kUpload)) {
      things_[request.target] = request.body;
      things_["/v2/a/b/manifests/" + kcache::Digest::of(request.body).text()] = request.body;
      return;
    }
    std::string digest = request.target.substr(kUpload.size());
    digest.replace(digest.find("%3A"), 3, ":");
    things_["/v2/a/b/blobs/" + digest] = request.body;
  }

  const std::string authorization_;
  Mutex mutex_;
  std::map<std::string, std::string> things_ GS_GUARDED_BY(mutex_);  // by path
};

// Of nothing but these tests.
const std::string kPrivateKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxzGsukP4umsDVgeu\n"
    "H9g6VRGTDBbuFh8R13J5LkfwhvWhRANCAASJEDuCz91fmaGcWaZnKrGDb/Q2cgug\n"
    "000NhCLPlOqCtQStm878mIrIuG6z9Edeumgx7B3hUDiQfUDASYnL/nA0\n"
    "-----END PRIVATE KEY-----\n";

class NoGpus final : public noderim::GpuSource {
 public:
  agent::Look look() override {
    return tl::unexpected(agent::Fault{agent::Fault::Kind::Absent, "no driver"});
  }
};

class McvRegistryTest : public ::testing::Test {
 protected:
  McvRegistryTest() {
    for (const auto& [path, text] : kcache::rocmSample()) { put("rocm/" + path, text); }
    ::setenv("no_proxy", "*", 1);  // the registry is here
  }
  void put(const std::string& path, const std::string& text) {
    const fs::path file = folder_.path() / path;
    fs::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  Environment environment() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto it = environment_.find(name);
      return it == environment_.end() ? std::nullopt : std::optional{it->second};
    };
  }
  int call(const Options& options) {
    out_.str("");
    err_.str("");
    return run(options, {gpus_, environment(), clock_, pause_, Rng{1}, out_, err_});
  }
  [[nodiscard]] Options pushing(const cacherim::FakeRegistry& fake) const {
    return {.image = fake.image().text(),
            .dir = folder_.path("rocm"),
            .create = true,
            .push = true,
            .plain_http = true};
  }
  [[nodiscard]] Options extracting(const cacherim::FakeRegistry& fake) const {
    return {.image = fake.image().text(), .dir = folder_.path("there"), .extract = true, .plain_http = true};
  }
  [[nodiscard]] bool isThere() const { return fs::exists(folder_.path("there/" + kcache::kRocmKey)); }

  TempFolder folder_;
  NoGpus gpus_;
  std::map<std::string, std::string> environment_;
  ManualClock clock_;
  cacherim::NoPause pause_{clock_};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(McvRegistryTest, AnImageGoesToTheRegistryInItsNameAndComesFromThere) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  ASSERT_EQ(call(pushing(fake)), kDone) << err_.str();
  EXPECT_NE(out_.str().find("in      registry " + fake.name()), std::string::npos) << out_.str();
  EXPECT_EQ(fake.asked().back(), "PUT /v2/a/b/manifests/v1") << "when all that it names is there";
  ASSERT_EQ(call(extracting(fake)), kDone) << err_.str();
  EXPECT_TRUE(isThere());
  EXPECT_EQ(call({.image = fake.image().text(), .inspect = true, .plain_http = true}), kDone) << err_.str();
}

TEST_F(McvRegistryTest, AMirrorIsAskedInPlaceOfTheRegistry) {
  Shelf shelf;
  cacherim::FakeRegistry fake{[&](cacherim::Peer& peer, net::Request request, int) {
    request.target = request.target.substr(0, request.target.find("?ns=registry.invalid"));
    return shelf.serve(peer, request);
  }};
  ASSERT_EQ(call(pushing(fake)), kDone) << err_.str();
  Options options = extracting(fake);
  options.image = "registry.invalid/a/b:v1";
  options.plain_http = false;
  options.mirrors = "registry.invalid=" + fake.url();
  EXPECT_EQ(call(options), kDone) << err_.str();
  EXPECT_TRUE(isThere());
  options.mirrors = "registry.invalid";
  EXPECT_EQ(call(options), kFailed);
  EXPECT_NE(err_.str().find("--registry-mirror: 'registry.invalid' is no REGISTRY=URL"), std::string::npos)
      << err_.str();
}

TEST_F(McvRegistryTest, WhatIsPushedCanStayInAFolderToo) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  Options options = pushing(fake);
  options.to = "oci:" + folder_.path("kept");
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_TRUE(fs::exists(folder_.path("kept/index.json")));
  EXPECT_EQ(fake.asked().back(), "PUT /v2/a/b/manifests/v1");
}

TEST_F(McvRegistryTest, WhoItIsThereIsReadWhereDockerAndPodmanKeepIt) {
  Shelf shelf{"Basic dTpw"};  // u:p
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  const std::string config = R"({"auths":{")" + fake.name() + R"(":{"auth":"dTpw"}}})";
  EXPECT_EQ(call(pushing(fake)), kNotCreated);
  EXPECT_NE(err_.str().find("needs an entry for " + fake.name()), std::string::npos) << err_.str();
  put("home/.docker/config.json", config);
  put("run/containers/auth.json", config);
  put("docker/config.json", config);
  const std::map<std::string, std::string> places{{"HOME", "home"},
                                                  {"XDG_RUNTIME_DIR", "run"},
                                                  {"DOCKER_CONFIG", "docker"},
                                                  {"REGISTRY_AUTH_FILE", "docker/config.json"}};
  for (const auto& [variable, path] : places) {
    environment_ = {{variable, folder_.path(path)}};
    EXPECT_EQ(call(pushing(fake)), kDone) << variable << ": " << err_.str();
  }
  environment_ = {};
  Options options = pushing(fake);
  options.authfile = folder_.path("docker/config.json");
  EXPECT_EQ(call(options), kDone) << err_.str();
}

TEST_F(McvRegistryTest, AFileOfCredentialsThatIsNamedHasToBeThere) {
  cacherim::FakeRegistry fake{[](cacherim::Peer&, const net::Request&, int) { return false; }};
  Options options = extracting(fake);
  options.authfile = folder_.path("none.json");
  EXPECT_EQ(call(options), kFailed);
  EXPECT_NE(err_.str().find("none.json"), std::string::npos) << err_.str();
  put("bad/config.json", "{");
  environment_ = {{"DOCKER_CONFIG", folder_.path("bad")}};
  EXPECT_EQ(call(extracting(fake)), kFailed);
  EXPECT_NE(err_.str().find("bad/config.json"), std::string::npos) << err_.str();
  EXPECT_TRUE(fake.asked().empty());
}

// As root's, of a file in the home of who calls: what is public needs none.
TEST_F(McvRegistryTest, CredentialsThatCannotBeReadAreLeftOutUnlessTheyAreNamed) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  fs::create_directories(folder_.path("home/.docker/config.json"));
  environment_ = {{"HOME", folder_.path("home")}};
  EXPECT_EQ(call(pushing(fake)), kDone) << err_.str();
  environment_ = {{"REGISTRY_AUTH_FILE", folder_.path("home/.docker/config.json")}};
  EXPECT_EQ(call(pushing(fake)), kNotCreated);
}

TEST_F(McvRegistryTest, NothingIsLeftOfATryThatFailed) {
  put("tmp/.keep", "");
  const std::string before = folder_.path("tmp");
  std::atomic<std::ptrdiff_t> most{0};
  cacherim::FakeRegistry fake{[&](cacherim::Peer& peer, const net::Request&, int) {
    most = std::max(most.load(), std::distance(fs::directory_iterator{before}, {}));
    peer.write(http(400, {}, ""));
    return true;
  }};
  ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_EQ(call(pushing(fake)), kNotCreated);
  ::unsetenv("TMPDIR");
  EXPECT_EQ(most, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator{before}, {}), 1);
}

TEST_F(McvRegistryTest, AnImageThatIsNotThereIsSaid) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  EXPECT_EQ(call(extracting(fake)), kFailed);
  EXPECT_NE(err_.str().find("there is none"), std::string::npos) << err_.str();
  EXPECT_FALSE(isThere());
}

// ---- signatures

TEST_F(McvRegistryTest, WhatIsSignedIsVerifiedByTheKey) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  put("others.pub", signature::PrivateKey::generate().publicPem());
  put("ours.key", kPrivateKey);
  put("signed.pub", signature::PrivateKey::parse(kPrivateKey, "")->publicPem());
  Options signing = pushing(fake);
  signing.sign = folder_.path("ours.key");
  ASSERT_EQ(call(signing), kDone) << err_.str();
  const auto signatures = [&] {
    const auto asked = fake.asked();
    return std::count_if(asked.begin(), asked.end(), [](const std::string& one) {
      return one.starts_with("PUT ") && one.find("/manifests/sha256-") != std::string::npos;
    });
  };
  EXPECT_EQ(signatures(), 2) << "and the index of bundles, since this registry has no referrers API";
  ASSERT_EQ(call(signing), kDone) << err_.str();
  EXPECT_EQ(signatures(), 2) << "they are there already";

  Options verifying = extracting(fake);
  verifying.verify = true;
  verifying.key = folder_.path("others.pub");
  EXPECT_EQ(call(verifying), kFailed);
  EXPECT_NE(err_.str().find("it is of none of the keys"), std::string::npos) << err_.str();
  EXPECT_FALSE(isThere());
  verifying.key = folder_.path("signed.pub");
  ASSERT_EQ(call(verifying), kDone) << err_.str();
  EXPECT_TRUE(out_.str().starts_with("Signed by key sha256:")) << out_.str();
  EXPECT_TRUE(isThere());
  verifying.extract = false;
  verifying.dir = "";
  ASSERT_EQ(call(verifying), kDone) << err_.str();
  EXPECT_NE(out_.str().find("\ndigest  sha256:"), std::string::npos) << out_.str();
  verifying.output = "json";
  ASSERT_EQ(call(verifying), kDone) << err_.str();
  EXPECT_TRUE((*json::parse(out_.str()))["signedBy"].str().starts_with("key sha256:"));
}

TEST_F(McvRegistryTest, WhatOthersSignedIsReadFromTheRegistryItself) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  cacherim::FakeRegistry mirror{[](cacherim::Peer& peer, const net::Request&, int) {
    peer.write(http(404, {}, ""));
    return true;
  }};
  put("ours.key", kPrivateKey);
  Options signing = pushing(fake);
  signing.sign = folder_.path("ours.key");
  signing.mirrors = fake.name() + "=" + mirror.url();
  ASSERT_EQ(call(signing), kDone) << err_.str();
  EXPECT_TRUE(mirror.asked().empty()) << mirror.asked().front();
}

TEST_F(McvRegistryTest, AnImageWithoutSignaturesIsNotVerified) {
  Shelf shelf;
  cacherim::FakeRegistry fake{
      [&](cacherim::Peer& peer, const net::Request& request, int) { return shelf.serve(peer, request); }};
  put("ours.pub", signature::PrivateKey::parse(kPrivateKey, "")->publicPem());
  ASSERT_EQ(call(pushing(fake)), kDone) << err_.str();
  Options verifying = extracting(fake);
  verifying.verify = true;
  verifying.key = folder_.path("ours.pub");
  EXPECT_EQ(call(verifying), kFailed);
  EXPECT_NE(err_.str().find(" has no signatures"), std::string::npos) << err_.str();
  EXPECT_FALSE(isThere());
}

TEST_F(McvRegistryTest, AKeyThatCannotBeReadIsSaidBeforeAnythingIsMade) {
  cacherim::FakeRegistry fake{[](cacherim::Peer&, const net::Request&, int) { return false; }};
  Options signing = pushing(fake);
  signing.sign = folder_.path("none.key");
  EXPECT_EQ(call(signing), kNotCreated);
  EXPECT_TRUE(err_.str().starts_with("--sign '" + signing.sign + "': ")) << err_.str();
  put("bad.key", "x");
  signing.sign = folder_.path("bad.key");
  EXPECT_EQ(call(signing), kNotCreated);
  EXPECT_TRUE(err_.str().starts_with("--sign '" + signing.sign + "': it is no private key in PEM"))
      << err_.str();
  Options verifying = extracting(fake);
  verifying.verify = true;
  verifying.key = folder_.path("bad.key");
  EXPECT_EQ(call(verifying), kFailed);
  EXPECT_TRUE(err_.str().starts_with("--key '" + verifying.key + "': ")) << err_.str();
  verifying.key = "";
  verifying.identity = verifying.issuer = "x";
  verifying.trusted_root = folder_.path("bad.key");
  EXPECT_EQ(call(verifying), kFailed);
  EXPECT_TRUE(err_.str().starts_with("--trusted-root '" + verifying.trusted_root + "': ")) << err_.str();
  verifying.identity = "";
  verifying.identity_pattern = "(";
  EXPECT_EQ(call(verifying), kFailed);
  EXPECT_EQ(err_.str(), "--certificate-identity-regexp '(' is no regular expression\n");
  EXPECT_TRUE(fake.asked().empty());
}

}  // namespace
}  // namespace gs::mcv
