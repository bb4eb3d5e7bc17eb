#include "serve/operator/cache_webhook.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <vector>

#include "base/base64.h"
#include "base/system_clock.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "net/http_client.h"
#include "operator/admission/digest_mark.h"
#include "operator/admission/review_test.h"
#include "serve/operator/operator_with_webhook.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using gkm::CacheText;
using gkm::ReviewText;
using gkm::Strings;

const std::string kDigest = kcache::Digest::of(cacherim::kManifest).text();
constexpr const char* kSigning = "a key that is long enough";
constexpr const char* kMutatePath = "/mutate-gkm-io-v1alpha1-gkmcache";
constexpr const char* kValidatePath = "/validate-gkm-io-v1alpha1-gkmcache";

/// The webhook as it is served, with a certificate that a test gives its machine in the Secret's place.
class CacheWebhookTest : public ::testing::Test {
 protected:
  CacheWebhookTest() {
    flags_.address = "127.0.0.1:0";
    flags_.signing_key = kSigning;
  }
  ~CacheWebhookTest() override {
    if (webhook_) { webhook_->stop(); }
  }
  void serve(ImageResolver::Verify verify) {
    webhook_ = std::make_unique<CacheWebhook>(
        parts_,
        CacheWebhook::Config{
            .flags = flags_,
            .ns = "gkm-system",
            .health = [](const net::Request&) { return net::textResponse(200, "fine"); },
            .resolver = {.images = {.environment = [](const char*) { return std::nullopt; },
                                    .registry = {.plain_http = {registry_.name()}, .direct = true}},
                         .limits = limits_},
            .verify = std::move(verify)},
        clock_, Rng{1}, metrics_);
    webhook_->machine().start(clock_.now(), asked_);
    thereIsNoPolicy();
    const Wall now = clock_.now().wall;
    const auto pair = *OpensslMaker{}.make({"gkm-webhook-service.gkm-system.svc"}, {now - 1min, now + 1h});
    secretIs("webhook-server-cert",
             {{"ca.crt", pair.ca}, {"tls.crt", pair.certificate}, {"tls.key", pair.key}});
    const auto started = webhook_->start();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ca_ = pair.ca;
  }
  void thereIsNoPolicy() {
    kapi::Outcome outcome;
    kapi::Effects out;
    webhook_->policy().start(clock_.now(), out);
    for (const auto& effect : out) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { outcome.token = call->token; }
    }
    outcome.result = kapi::CallResult::Applied;
    outcome.http = 200;
    outcome.list_revision = 5;
    EXPECT_TRUE(parts_.handle(outcome, clock_.now(), out));
  }
  /// The API server answers the read of a Secret.
  void secretIs(const std::string& name, const std::map<std::string, std::string>& data) {
    kapi::Outcome outcome;
    for (const auto& effect : asked_) {
      const auto* call = std::get_if<kapi::Call>(&effect);
      if (call != nullptr && call->key.name == name) { outcome.token = call->token; }
    }
    admission::Secret secret;
    secret.data = data;
    outcome.result = kapi::CallResult::Applied;
    outcome.http = 200;
    outcome.object = std::make_shared<const admission::Secret>(std::move(secret));
    kapi::Effects out;
    EXPECT_TRUE(parts_.handle(outcome, clock_.now(), out));
  }
  [[nodiscard]] net::Answer post(const std::string& path, const std::string& body) const {
    net::HttpClient client{{.tls = {.ca_pem = ca_, .server_name = "gkm-webhook-service.gkm-system.svc"}}};
    net::ClientRequest request;
    request.method = "POST";
    request.url = "https://127.0.0.1:" + std::to_string(webhook_->port()) + path;
    request.body = body;
    return client.send(request);
  }
  [[nodiscard]] json::Value review(const std::string& path, const ReviewText& text) const {
    const net::Answer answer = post(path, text.text());
    EXPECT_EQ(answer.status, 200) << answer.message << answer.body;
    const auto body = json::parse(answer.body);
    return body ? (*body)["response"] : json::Value{};
  }
  [[nodiscard]] double counted(const std::string& path, const std::string& result) {
    return metrics_.counter("gkm_operator_webhook_requests_total", "", {{"path", path}, {"result", result}})
        .value();
  }

  SystemClock clock_;
  Metrics metrics_;
  /// It has the one image that is asked for.
  cacherim::FakeRegistry registry_{[](cacherim::Peer& peer, const net::Request&, int) {
    peer.write(cacherim::http(200, {}, cacherim::kManifest));
    return true;
  }};
  const std::string pinned_ = registry_.image().name() + "@" + kDigest;
  CacheWebhookFlags flags_;
  Turns::Limits limits_;
  controller::Parts parts_;
  std::unique_ptr<CacheWebhook> webhook_;
  std::string ca_;
  kapi::Effects asked_;
};

TEST_F(CacheWebhookTest, MarksDigestsAndCountsReviews) {
  serve({});
  const ReviewText made{.object = {pinned_}};
  const json::Value answer = review(kMutatePath, made);
  ASSERT_TRUE(answer["allowed"].boolOr(false));
  const CacheText cache = gkm::patched(made.object, *decodeBase64(answer["patch"].str()));
  EXPECT_EQ(cache.annotations->at("gkm.io/mutationSig"), gkm::digestMark(kSigning, "ns", pinned_, kDigest));
  EXPECT_TRUE(review(kValidatePath, {.object = cache})["allowed"].boolOr(false));
  EXPECT_FALSE(
      review(kValidatePath, {.object = {pinned_, Strings{{"gkm.io/resolvedDigest", kDigest}}}})["allowed"]
          .boolOr(true));
  EXPECT_EQ(counted(kMutatePath, "patched"), 1);
  EXPECT_EQ(counted(kValidatePath, "allowed"), 1);
  EXPECT_EQ(counted(kValidatePath, "denied"), 1);
  EXPECT_EQ(post("/healthz", "").body, "fine");
}

TEST_F(CacheWebhookTest, NothingUnverifiedIsForTheWholeCluster) {
  serve({});
  const json::Value answer =
      review("/mutate-gkm-io-v1alpha1-clustergkmcache", {.object = {pinned_}, .ns = ""});
  EXPECT_FALSE(answer["allowed"].boolOr(true));
  EXPECT_TRUE(answer["status"]["message"].str().starts_with(
      "image signature verification failed for '" + pinned_ + "': nothing unsigned is mounted cluster-wide"));
}

// As Helm makes them.
TEST_F(CacheWebhookTest, FiveAtOnceOfOneNamespaceAreAllAnswered) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  serve([&](const model::ObjectKey&, const kcache::Reference&, const std::vector<std::string>&,
            Mono) -> Result<std::string> {
    gone.wait();
    return std::string{};
  });
  std::vector<std::future<json::Value>> five;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    five.push_back(std::async(std::launch::async, [this, name] {
      return review(kMutatePath, {.object = {pinned_, {}, "", name}});
    }));
  }
  for (auto& one : five) { EXPECT_EQ(one.wait_for(50ms), std::future_status::timeout); }
  go.set_value();
  for (auto& one : five) { EXPECT_TRUE(one.get()["allowed"].boolOr(false)); }
}

TEST_F(CacheWebhookTest, APolicyThatRefusesAllIsShown) {
  OpensslMaker maker;
  gkm::Webhook machine{parts_, {.certificates = {}, .key = {}, .on_pair = {}, .on_key = {}}, maker};
  serve({});
  std::string trouble;
  const OperatorWithWebhook::Webhook beside{parts_, machine, webhook_->policy(), [&] { return trouble; }};
  EXPECT_TRUE(beside.readiness().ready);
  EXPECT_EQ(beside.readiness().text(), "trust-policy: ok\n");
  trouble = "it cannot be read";
  EXPECT_TRUE(beside.readiness().ready);  // it answers, and says why it refuses
  EXPECT_EQ(beside.readiness().text(), "trust-policy: it cannot be read\n");
}

TEST_F(CacheWebhookTest, WhileOneHangsOthersAreAnswered) {
  limits_.waiting = 0;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::vector<std::promise<void>> came(2);
  serve([&](const model::ObjectKey& cache, const kcache::Reference&, const std::vector<std::string>&,
            Mono) -> Result<std::string> {
    if (cache.ns != "slow") { return std::string{}; }
    came.at(cache.name == "first" ? 0 : 1).set_value();
    gone.wait();
    return std::string{};
  });
  std::vector<std::future<json::Value>> hang;
  for (const char* name : {"first", "second"}) {
    hang.push_back(std::async(std::launch::async, [this, name] {
      return review(kMutatePath, {.object = {pinned_, {}, "", name}, .ns = "slow"});
    }));
  }
  for (auto& one : came) { one.get_future().wait(); }
  const json::Value busy = review(kMutatePath, {.object = {pinned_}, .ns = "slow"});
  EXPECT_NE(busy["status"]["message"].str().find("try again"), std::string::npos);
  EXPECT_TRUE(review(kMutatePath, {.object = {pinned_}})["allowed"].boolOr(false));
  const CacheText same{pinned_, Strings{{"gkm.io/resolvedDigest", kDigest}}};
  EXPECT_TRUE(review(kValidatePath, {"UPDATE", same, same, "slow"})["allowed"].boolOr(false));
  go.set_value();
  for (auto& one : hang) { EXPECT_TRUE(one.get()["allowed"].boolOr(false)); }
}

TEST_F(CacheWebhookTest, OfTheLargestBodiesItReadsWhatIsAReview) {
  serve({});
  CacheText large{pinned_};
  large.annotations = Strings{{"note", std::string(kMostReview - 4'096, 'x')}};
  EXPECT_TRUE(review(kMutatePath, {.object = large})["allowed"].boolOr(false));
  EXPECT_EQ(post(kMutatePath, std::string(kMostReview, '[')).status, 400);
  EXPECT_EQ(post(kMutatePath, std::string(kMostReview + 1, ' ')).status, 413);
  EXPECT_EQ(post(kMutatePath, "nonsense").status, 400);
}

TEST_F(CacheWebhookTest, TheKeyOfTheSecretIsUsedOnceItIsKnown) {
  flags_.signing_key = "";
  serve({});
  EXPECT_FALSE(webhook_->machine().readiness().ready);
  const std::string early{review(kMutatePath, {.object = {pinned_}})["status"]["message"].str()};
  EXPECT_NE(early.find("does not know its signing key yet"), std::string::npos) << early;
  secretIs("gkm-webhook-key", {{"MUTATION_SIGNING_KEY", kSigning}});
  EXPECT_NE(webhook_->machine().readiness().text().find("signing key: ok"), std::string::npos);
  EXPECT_TRUE(review(kMutatePath, {.object = {pinned_}})["allowed"].boolOr(false));
}

TEST(CacheWebhookFlagsTest, ReadWhatTheManifestsSay) {
  std::map<std::string, std::string> said;
  k8s::Surroundings around;
  around.env = [&](const char* name) {
    const auto it = said.find(name);
    return it == said.end() ? std::nullopt : std::optional{it->second};
  };
  CacheWebhookFlags f;
  ASSERT_TRUE(f.read(around).has_value());
  EXPECT_FALSE(f.kyverno);
  EXPECT_TRUE(f.isServed());
  EXPECT_EQ(f.key("gkm-system")->secret, (model::ObjectKey{"gkm-system", "gkm-webhook-key"}));
  EXPECT_NE(f.key("gkm-system")->make(), f.key("gkm-system")->make());
  EXPECT_EQ(f.certificates("gkm-system")->service, "gkm-webhook-service");
  said = {{"KYVERNO_VERIFICATION_ENABLED", "true"}, {"MUTATION_SIGNING_KEY", kSigning}};
  ASSERT_TRUE(f.read(around).has_value());
  EXPECT_TRUE(f.kyverno);
  EXPECT_FALSE(f.key("gkm-system").has_value());
  said["MUTATION_SIGNING_KEY"] = "short";
  EXPECT_NE(f.read(around).error().message.find("5 bytes"), std::string::npos);
  f.cert_dir = "/certs";
  EXPECT_FALSE(f.certificates("gkm-system").has_value());
  f.address = "0";
  EXPECT_FALSE(f.isServed());
}

}  // namespace
}  // namespace gs::serve
