#include "serve/admission/server.h"

#include <gtest/gtest.h>

#include "base/system_clock.h"
#include "net/http_client.h"
#include "serve/admission/maker.h"
#include "serve/webhook/claim_limits.h"
#include "serve/webhook/flags.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr const char* kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r-9",)"
    R"("kind":{"group":"","version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"default","object":)"
    R"({"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},)"
    R"("spec":{"schedulerName":"gpu-scheduler","containers":[{"name":"a"}]}}}})";

/// Over HTTPS, with a certificate that was made here, as the API server checks it.
class WebhookServerTest : public ::testing::Test {
 protected:
  WebhookServerTest() {
    const Wall now = SystemClock{}.now().wall;
    pair_ = std::make_shared<const admission::Pair>(
        *maker_.make({"gpu-scheduler-webhook.ns.svc"}, {now - 1min, now + 1h}));
    shown_.set(pair_);
    flags_.address = "127.0.0.1:0";
    EXPECT_TRUE(server_.start(httpOptionsOf(flags_, shown_)).has_value());
  }
  [[nodiscard]] net::Answer post(const std::string& path, const std::string& body,
                                 const std::string& method = "POST") {
    net::ClientRequest request;
    request.method = method;
    request.url = "https://127.0.0.1:" + std::to_string(server_.port()) + path;
    request.body = body;
    return client_->send(request);
  }
  void trust(const std::string& ca) {
    client_ = std::make_unique<net::HttpClient>(
        net::HttpClient::Options{.tls = {.ca_pem = ca, .server_name = "gpu-scheduler-webhook.ns.svc"}});
  }
  [[nodiscard]] double counted(const std::string& path, const std::string& result) {
    return metrics_.counter("gpu_scheduler_webhook_requests_total", "", {{"path", path}, {"result", result}})
        .value();
  }

  OpensslMaker maker_;
  admission::PairPtr pair_;
  ShownPair shown_;
  WebhookFlags flags_;
  Metrics metrics_;
  webhook::Handler handler_{{}};
  ReviewServer server_{
      reviewsOf(handler_, [](const net::Request&) { return net::textResponse(200, "fine"); }), metrics_};
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(WebhookServerTest, AnswersReviewsAndCountsThem) {
  trust(pair_->ca);
  const auto patched = post("/mutate?timeout=10s", kReview);
  EXPECT_EQ(patched.status, 200) << patched.message;
  EXPECT_NE(patched.body.find(R"("allowed":true)"), std::string::npos) << patched.body;
  EXPECT_EQ(post("/validate", kReview).status, 200);
  EXPECT_EQ(post("/mutate", "nonsense").status, 400);
  EXPECT_EQ(post("/other", "").status, 404);
  EXPECT_EQ(counted("/mutate", "patched"), 1);
  EXPECT_EQ(counted("/validate", "allowed"), 1);
  EXPECT_EQ(counted("/mutate", "invalid"), 1);
  EXPECT_EQ(post("/healthz", "", "GET").body, "fine");
}

TEST_F(WebhookServerTest, ABodyOverTheLimitIsNotRead) {
  trust(pair_->ca);
  EXPECT_EQ(post("/mutate", std::string(kMostReview + 1, ' ')).status, 413);
  EXPECT_EQ(post("/mutate", kReview).status, 200);
}

TEST_F(WebhookServerTest, AnotherCaIsNotTrusted) {
  const Wall now = SystemClock{}.now().wall;
  trust(maker_.make({"gpu-scheduler-webhook.ns.svc"}, {now, now + 1h})->ca);
  EXPECT_EQ(post("/mutate", kReview).status, 0);
}

TEST(OpensslMakerTest, WhatItMakesItFindsGood) {
  OpensslMaker maker;
  const Wall now = std::chrono::floor<std::chrono::seconds>(SystemClock{}.now().wall);
  const auto pair = maker.make({"a.ns.svc", "a"}, {now, now + 1h});
  ASSERT_TRUE(pair.has_value());
  const auto life = maker.check(*pair, "a.ns.svc");
  ASSERT_TRUE(life.has_value()) << life.error().message;
  EXPECT_EQ(life->from, now);
  EXPECT_EQ(life->until, now + 1h);
  EXPECT_FALSE(maker.check(*pair, "b.ns.svc").has_value());
}

TEST(ClaimLimitsTest, KnowsTheClaimsThatThereAre) {
  ClaimLimits limits;
  limits.inject(true);
  EXPECT_EQ(limits.of("ns", "c"), std::nullopt);
  limits.set({"ns", "c"}, 4);
  EXPECT_EQ(limits.of("ns", "c"), 4);
  EXPECT_EQ(limits.of("other", "c"), std::nullopt);
  limits.set({"ns", "c"}, std::nullopt);
  EXPECT_EQ(limits.of("ns", "c"), std::nullopt);
}

TEST(ClaimLimitsTest, SaysNothingUntilLimitsAreInjected) {
  ClaimLimits limits;
  limits.set({"ns", "c"}, 4);
  EXPECT_EQ(limits.of("ns", "c"), std::nullopt);
  limits.inject(true);
  EXPECT_EQ(limits.of("ns", "c"), 4);
  limits.inject(false);
  EXPECT_EQ(limits.of("ns", "c"), std::nullopt);
}

TEST(WebhookFlagsTest, LimitsAreInjectedByItselfAlwaysOrNever) {
  using webhook::InjectLimits;
  WebhookFlags flags;
  EXPECT_EQ(flags.injectLimits(), InjectLimits::Auto);
  flags.inject_limits = "true";
  EXPECT_EQ(flags.injectLimits(), InjectLimits::Always);
  flags.inject_limits = "false";
  EXPECT_EQ(flags.injectLimits(), InjectLimits::Never);
}

TEST(WebhookFlagsTest, TheGateIsAddedWhereAskedFor) {
  WebhookFlags flags;
  EXPECT_FALSE(flags.rules().gate);
  flags.gate = true;
  EXPECT_TRUE(flags.rules().gate);
}

TEST(WebhookFlagsTest, SayWhatContradicts) {
  WebhookFlags flags;
  EXPECT_TRUE(flags.check().has_value());
  EXPECT_EQ(flags.rules().schedulers.size(), 1U);
  EXPECT_EQ(flags.certificates("ns")->secret, (model::ObjectKey{"ns", "gpu-scheduler-webhook-cert"}));
  flags.schedulers = " a, b,,";
  EXPECT_EQ(flags.rules().schedulers, (std::set<std::string, std::less<>>{"a", "b"}));
  flags.schedulers = ",";
  EXPECT_FALSE(flags.check().has_value());
  flags.schedulers = "a";
  flags.tls.key_file = "/key";
  EXPECT_FALSE(flags.check().has_value());
  flags.tls.cert_file = "/cert";
  EXPECT_TRUE(flags.check().has_value());
  EXPECT_EQ(flags.certificates("ns"), std::nullopt);
}

}  // namespace
}  // namespace gs::serve
