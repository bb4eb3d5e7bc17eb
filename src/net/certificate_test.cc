#include "net/certificate.h"

#include <gtest/gtest.h>

#include "base/system_clock.h"
#include "net/identity_test.h"

namespace gs::net {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kNames{"hook.ns.svc", "hook", "localhost"};

Wall now() { return SystemClock{}.now().wall; }

TEST(CertificateTest, WhatIsMadeIsWhatIsRead) {
  const Wall from = std::chrono::floor<std::chrono::seconds>(now()) - 5min;
  const auto made = makeCertificate(kNames, from, from + 24h * 365);
  ASSERT_TRUE(made.has_value());
  const auto life = checkCertificate(made->server, made->ca_pem, "hook.ns.svc");
  ASSERT_TRUE(life.has_value()) << life.error().message;
  EXPECT_EQ(life->from, from);
  EXPECT_EQ(life->until, from + 24h * 365);
  EXPECT_TRUE(checkCertificate(made->server, "", "hook").has_value());
  EXPECT_NE(makeCertificate(kNames, from, from + 1h)->ca_pem, made->ca_pem) << "a CA of its own each time";
}

TEST(CertificateTest, WhatDoesNotFitIsNamed) {
  const Wall from = now();
  const auto one = makeCertificate(kNames, from, from + 1h);
  const auto other = makeCertificate(kNames, from, from + 1h);
  ASSERT_TRUE(one.has_value() && other.has_value());
  const auto why = [](const ServerPair& pair, std::string_view ca, const std::string& name) {
    const auto life = checkCertificate(pair, ca, name);
    return life ? "it fits" : life.error().message;
  };
  EXPECT_EQ(why({"", one->server.key_pem}, "", "hook"), "tls.crt is no PEM certificate");
  EXPECT_EQ(why({"nonsense", "nonsense"}, "", "hook"), "tls.crt is no PEM certificate");
  EXPECT_EQ(why({one->server.cert_pem, other->server.key_pem}, "", "hook"),
            "tls.key is not the PEM key of tls.crt");
  EXPECT_EQ(why({one->server.cert_pem, ""}, "", "hook"), "tls.key is not the PEM key of tls.crt");
  EXPECT_EQ(why(one->server, "", "elsewhere"), "tls.crt is not for elsewhere");
  EXPECT_EQ(why(one->server, other->ca_pem, "hook"), "tls.crt does not lead to a certificate of ca.crt");
  EXPECT_EQ(why(one->server, "nonsense", "hook"), "tls.crt does not lead to a certificate of ca.crt");
  EXPECT_EQ(why(one->server, other->ca_pem + one->ca_pem, "hook"), "it fits") << "any of several";
}

TEST(CertificateTest, ACertificateMayStandBetween) {
  const Identity root = makeIdentity("root", "", nullptr);
  const Identity between = makeIdentity("between", "", &root, true);
  const Identity server = makeIdentity("hook", "DNS:hook", &between);
  EXPECT_TRUE(checkCertificate({server.cert_pem + between.cert_pem, server.key_pem}, root.cert_pem, "hook")
                  .has_value());
  EXPECT_TRUE(checkCertificate({server.cert_pem, server.key_pem}, between.cert_pem, "hook").has_value())
      << "whom the API server trusts need not be a root";
  EXPECT_FALSE(checkCertificate({server.cert_pem, server.key_pem}, root.cert_pem, "hook").has_value());
  const Identity unnamed = makeIdentity("hook", "", &root);
  EXPECT_FALSE(checkCertificate({unnamed.cert_pem, unnamed.key_pem}, root.cert_pem, "hook").has_value())
      << "an API server looks at no common name";
}

TEST(CertificateTest, ALongNameIsMadeAllTheSame) {
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b') + ".svc";
  const auto made = makeCertificate({name}, now(), now() + 1h);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(checkCertificate(made->server, made->ca_pem, name).has_value());
}

}  // namespace
}  // namespace gs::net
