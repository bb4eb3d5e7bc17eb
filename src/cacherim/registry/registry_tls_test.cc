// What began with TLS goes on with it; whom a client trusts.
#include <fstream>

#include "base/temp_folder_test.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "net/http_server.h"
#include "net/identity_test.h"

namespace gs::cacherim {
namespace {

class RegistryTls : public RegistryTest {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_.path(name)} << text;
    return folder_.path(name);
  }
  /// With TLS, on this machine.
  std::unique_ptr<net::HttpServer> serve(net::Handler handler) {
    const net::Identity server = net::makeIdentity("registry", "IP:127.0.0.1", &ca_);
    net::HttpServer::Options options;
    options.tls = net::ServerTls{.cert_file = write("s.crt", server.cert_pem),
                                 .key_file = write("s.key", server.key_pem)};
    auto out = net::HttpServer::start(std::move(options), std::move(handler));
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return std::move(*out);
  }
  [[nodiscard]] kcache::Reference at(const net::HttpServer& server) const {
    return {"127.0.0.1:" + std::to_string(server.port()), "a/b", "v1", std::nullopt};
  }

  const TempFolder folder_;
  const net::Identity ca_ = net::makeIdentity("ca", "", nullptr);
};

TEST_F(RegistryTls, TrustsTheAuthorityOfTheFile) {
  const auto server = serve([](const net::Request&) { return net::jsonResponse(200, kManifest); });
  options_.direct = true;
  options_.ca_file = write("ca.crt", ca_.cert_pem);
  const auto out = registry().manifest(at(*server));
  EXPECT_TRUE(out) << out.error().message;
}

TEST_F(RegistryTls, OneThatIsNotTrustedIsNotAskedWithoutTlsEither) {
  std::atomic<int> asked = 0;
  const auto server = serve([&](const net::Request&) {
    ++asked;
    return net::jsonResponse(200, kManifest);
  });
  options_.direct = true;
  options_.tries = 1;
  const auto out = registry().manifest(at(*server));
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("certificate"), std::string::npos) << out.error().message;
  EXPECT_EQ(asked, 0);
}

TEST_F(RegistryTls, NeitherARedirectNorATokenServerLeadsOutOfTls) {
  FakeRegistry plain_server{[](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, kManifest));
    return true;
  }};
  for (const bool redirect : {true, false}) {
    const auto server = serve([&](const net::Request&) {
      net::Response out{.status = redirect ? 307 : 401};
      out.headers =
          redirect ? net::Headers{{"Location", plain_server.url() + "/x"}}
                   : net::Headers{{"WWW-Authenticate", "Bearer realm=\"" + plain_server.url() + "/token\""}};
      return out;
    });
    options_.direct = true;
    options_.ca_file = write("ca.crt", ca_.cert_pem);
    const auto out = registry().manifest(at(*server));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::Invalid) << out.error().message;
    EXPECT_TRUE(plain_server.requests().empty());
  }
}

}  // namespace
}  // namespace gs::cacherim
