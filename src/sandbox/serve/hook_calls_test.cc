#include "sandbox/serve/hook_calls.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "net/certificate.h"
#include "net/http_server.h"
#include "net/scripted_server.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using apiserver::CallId;
using apiserver::HookAnswer;
using apiserver::HookCall;

/// An HTTPS server of this machine whose certificate is for localhost and `w.default.svc`.
class SecureServer {
 public:
  explicit SecureServer(net::Handler handler) {
    const SystemClock clock;
    const Wall now = clock.now().wall;
    auto made = net::makeCertificate({"localhost", "w.default.svc"}, now - 1h, now + 1h);
    GS_CHECK(made.has_value(), "no certificate");
    ca_ = made->ca_pem;
    net::HttpServer::Options options;
    options.tls = net::ServerTls{
        .pair = [pair = std::make_shared<const net::ServerPair>(made->server)] { return pair; }};
    auto server = net::HttpServer::start(std::move(options), std::move(handler));
    GS_CHECK(server.has_value(), "no server");
    server_ = *std::move(server);
  }
  [[nodiscard]] const std::string& ca() const { return ca_; }
  [[nodiscard]] std::string at(const std::string& host, const std::string& path = "") const {
    return "https://" + host + ":" + std::to_string(server_->port()) + path;
  }

 private:
  std::string ca_;
  std::unique_ptr<net::HttpServer> server_;
};

class HookCallsTest : public testing::Test {
 protected:
  static HookCall call(CallId id, std::string url, std::string ca = "", std::string server_name = "",
                       std::string hook = "c/a.ex.io") {
    return {id, std::move(hook), {std::move(url), std::move(server_name), std::move(ca)}, "{}", 10s};
  }
  HookAnswer take() {
    const Deadline deadline{"a webhook answered"};
    auto one = answers_.pop();
    last_ = one->first;
    return std::move(one->second);
  }

  Mailbox<std::pair<CallId, HookAnswer>> answers_{100};
  CallId last_ = 0;
  HookCalls calls_{[this](CallId id, HookAnswer answer) { (void)answers_.push({id, std::move(answer)}); }};
};

TEST_F(HookCallsTest, AReviewIsPostedAndItsAnswerTold) {
  const SecureServer server{[](const net::Request& request) {
    const std::string* type = net::findHeader(request.headers, "Content-Type");
    return net::textResponse(
        201, request.method + " " + request.target + " " + (type ? *type : "") + " " + request.body);
  }};
  HookCall review = call(7, server.at("localhost", "/mutate?timeout=10s"), server.ca());
  review.body = R"({"kind":"AdmissionReview"})";
  ASSERT_TRUE(calls_.start(std::move(review)));
  const HookAnswer answer = take();
  EXPECT_EQ(last_, 7U);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"(POST /mutate?timeout=10s application/json {"kind":"AdmissionReview"})");
}

TEST_F(HookCallsTest, TheCertificateMustBeOfTheCaAndForTheService) {
  const SecureServer server{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  const SecureServer other{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  ASSERT_TRUE(calls_.start(call(1, server.at("127.0.0.1"), server.ca(), "w.default.svc")));
  EXPECT_EQ(take().status, 200);
  ASSERT_TRUE(calls_.start(call(2, server.at("127.0.0.1"), server.ca(), "other.default.svc")));
  const HookAnswer other_name = take();
  EXPECT_EQ(other_name.status, 0);
  EXPECT_NE(other_name.trouble.find("x509: certificate is valid for other names"), std::string::npos)
      << other_name.trouble;
  ASSERT_TRUE(calls_.start(call(3, server.at("127.0.0.1"), server.ca())));
  EXPECT_EQ(take().status, 0) << "it is for names, not for addresses";
  for (const std::string& ca : {other.ca(), std::string{}, std::string{"no PEM"}}) {
    ASSERT_TRUE(calls_.start(call(4, server.at("localhost"), ca)));
    const HookAnswer answer = take();
    EXPECT_EQ(answer.status, 0) << ca;
    EXPECT_NE(answer.trouble, "") << ca;
  }
}

TEST_F(HookCallsTest, AnUnknownCaIsSaidInGosWords) {
  const SecureServer server{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  const SecureServer other{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  ASSERT_TRUE(calls_.start(call(1, server.at("localhost"), other.ca())));
  const HookAnswer answer = take();
  EXPECT_TRUE(answer.trouble.starts_with(
      "tls: failed to verify certificate: x509: certificate signed by unknown authority"))
      << answer.trouble;
}

TEST_F(HookCallsTest, AnAnswerThatIsTooLargeIsNone) {
  const SecureServer server{[](const net::Request&) {
    return net::textResponse(200, std::string(HookCalls::kMostOfAnswer + 1, 'x'));
  }};
  ASSERT_TRUE(calls_.start(call(1, server.at("localhost"), server.ca())));
  const HookAnswer answer = take();
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.trouble, "the answer is over 3145728 bytes");
  EXPECT_EQ(answer.body, "");
}

TEST_F(HookCallsTest, NobodyThereAndNoAnswerInTime) {
  std::string gone;
  {
    const net::ScriptedServer server{[](net::ScriptedServer::Peer&) {}};
    gone = "https://127.0.0.1:" + std::to_string(server.port());
  }
  ASSERT_TRUE(calls_.start(call(1, gone)));
  EXPECT_NE(take().trouble, "");
  const net::ScriptedServer hangs{[](net::ScriptedServer::Peer& peer) { peer.waitForClose(); }};
  HookCall impatient = call(2, "https://127.0.0.1:" + std::to_string(hangs.port()));
  impatient.timeout = 50ms;
  ASSERT_TRUE(calls_.start(std::move(impatient)));
  EXPECT_EQ(take().trouble, "context deadline exceeded");
}

/// Over the connection, too: the impatient one is answered first.
TEST_F(HookCallsTest, EachHasItsOwnTime) {
  Mailbox<bool> released{1};
  {
    const SecureServer server{[&](const net::Request&) {
      (void)released.pop();
      return net::textResponse(200, "late");
    }};
    ASSERT_TRUE(calls_.start(call(1, server.at("localhost"), server.ca())));
    HookCall impatient = call(2, server.at("localhost"), server.ca());
    impatient.timeout = 300ms;
    ASSERT_TRUE(calls_.start(std::move(impatient)));
    EXPECT_EQ(take().trouble, "context deadline exceeded");
    EXPECT_EQ(last_, 2U);
    released.close();
    EXPECT_EQ(take().status, 200);
  }
}

TEST_F(HookCallsTest, OneThatHangsHoldsUpItsOwnCallsOnly) {
  const net::ScriptedServer hangs{[](net::ScriptedServer::Peer& peer) { peer.waitForClose(); }};
  const std::string url = "https://127.0.0.1:" + std::to_string(hangs.port());
  const SecureServer server{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  for (std::size_t i = 0; i < HookCalls::kMostOfOne; ++i) { ASSERT_TRUE(calls_.start(call(i, url))); }
  EXPECT_FALSE(calls_.start(call(100, url)));
  ASSERT_TRUE(calls_.start(call(101, server.at("localhost"), server.ca(), "", "c/b.ex.io")));
  EXPECT_EQ(take().status, 200);
  EXPECT_EQ(last_, 101U);
  for (const char* hook : {"c/d.ex.io", "c/e.ex.io"}) {
    for (std::size_t i = 0; i < HookCalls::kMostOfOne; ++i) {
      ASSERT_TRUE(calls_.start(call(i, url, "", "", hook)));
    }
  }
  EXPECT_FALSE(calls_.start(call(102, server.at("localhost"), server.ca(), "", "c/b.ex.io"))) << "48 in all";
}

TEST_F(HookCallsTest, WhatEndedMakesRoom) {
  const SecureServer server{[](const net::Request&) { return net::textResponse(200, "ok"); }};
  for (CallId id = 0; id < 2 * HookCalls::kMostOfAll; ++id) {
    ASSERT_TRUE(calls_.start(call(id, server.at("localhost"), server.ca()))) << id;
    EXPECT_EQ(take().status, 200);
  }
}

TEST_F(HookCallsTest, StoppingCutsOffWhatIsUnderWay) {
  const net::ScriptedServer hangs{[](net::ScriptedServer::Peer& peer) { peer.waitForClose(); }};
  const std::string url = "https://127.0.0.1:" + std::to_string(hangs.port());
  for (CallId id = 0; id < 3; ++id) { ASSERT_TRUE(calls_.start(call(id, url))); }
  {
    const Deadline deadline{"it stopped"};
    calls_.stop();
  }
  for (int i = 0; i < 3; ++i) { EXPECT_EQ(take().status, 0); }
  EXPECT_FALSE(calls_.start(call(9, url)));
  calls_.stop();
}

}  // namespace
}  // namespace gs::sandbox
