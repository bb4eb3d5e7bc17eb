#include "webhook/handler.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace gs::webhook {
namespace {

using json::Value;

admission::Served post(const std::string& target, const std::string& body) {
  return Handler{{}}.answer({.method = "POST", .target = target, .headers = {}, .body = body});
}

Value responseOf(const admission::Served& served) {
  const auto body = json::parse(served.response.body);
  EXPECT_TRUE(body.has_value()) << served.response.body;
  return body ? (*body)["response"] : Value{};
}

std::string podReview(const std::string& version) {
  return R"({"apiVersion":"admission.k8s.io/)" + version +
         R"(","kind":"AdmissionReview","request":{"uid":"r-9","kind":{"group":"","version":"v1",)"
         R"("kind":"Pod"},)"
         R"("operation":"CREATE","namespace":"default",)"
         R"("object":{"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},)"
         R"("spec":{"schedulerName":"gpu-scheduler","containers":[{"name":"a"}]}}}})";
}

std::string claimReview(const std::string& operation, const std::string& spec,
                        const std::string& old = "null") {
  const auto object = [](const std::string& s) { return R"({"metadata":{"name":"c"},"spec":)" + s + "}"; };
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r-1",)"
         R"("kind":{"group":"gpu.scheduling","version":"v1","kind":"GpuClaim"},"operation":")" +
         operation + R"(","object":)" + object(spec) + R"(,"oldObject":)" +
         (old == "null" ? old : object(old)) + "}}";
}

TEST(WebhookHandler, AnswersInTheVersionThatItIsAskedIn) {
  for (const std::string version : {"v1", "v1beta1"}) {
    const auto served = post("/mutate?timeout=10s", podReview(version));
    EXPECT_EQ(served.response.status, 200);
    EXPECT_EQ(served.path, "/mutate");
    EXPECT_EQ(served.result, "patched");
    const auto body = json::parse(served.response.body);
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ((*body)["apiVersion"].str(), "admission.k8s.io/" + version);
    EXPECT_EQ((*body)["kind"].str(), "AdmissionReview");
    const Value& response = (*body)["response"];
    EXPECT_EQ(response["uid"].str(), "r-9");
    EXPECT_TRUE(response["allowed"].boolOr(false));
    EXPECT_EQ(response["patchType"].str(), "JSONPatch");
    const auto patch = decodeBase64(response["patch"].str());
    ASSERT_TRUE(patch.has_value());
    EXPECT_TRUE(patch->starts_with(R"([{"op":"add","path":"/spec/containers/0/env")")) << *patch;
  }
}

TEST(WebhookHandler, AReviewThatDoesNotSayItsKindHasAPod) {
  // The map scheduler's worked example, but that what is added stands first.
  const std::string asked =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r-9",)"
      R"("object":{"metadata":)"
      R"({"name":"sts-2","generateName":"sts-",)"
      R"("annotations":{"gpu-scheduling-map":"0=node1:0,1\n2=node3:0,1,2"}},)"
      R"("spec":{"schedulerName":"gpu-scheduler","containers":[{"name":"a"},{"name":"b","env":[{"name":"X",)"
      R"("value":"1"}]},{"name":"c","env":[{"name":"CUDA_VISIBLE_DEVICES","value":"9"}]}]}}}})";
  const auto answer = [](const std::string& body) {
    return responseOf(Handler{{.schedulers = {"gpu-scheduler"}, .device_order = ""}}.answer(
        {.method = "POST", .target = "/mutate", .headers = {}, .body = body}));
  };
  const Value response = answer(asked);
  EXPECT_EQ(response["uid"].str(), "r-9");
  EXPECT_TRUE(response["allowed"].boolOr(false));
  EXPECT_EQ(response["patchType"].str(), "JSONPatch");
  EXPECT_EQ(decodeBase64(response["patch"].str()),
            R"([{"op":"add","path":"/spec/containers/0/env","value":[{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}]},)"
            R"({"op":"add","path":"/spec/containers/1/env/0","value":{"name":"CUDA_VISIBLE_DEVICES",)"
            R"("value":"0,1,2"}},)"
            R"({"op":"replace","path":"/spec/containers/2/env/0/value","value":"0,1,2"}])");
  const auto with = [&](const std::string& old, const std::string& text) {
    std::string body = asked;
    return answer(body.replace(body.find(old), old.size(), text));
  };
  const Value other_index = with(R"("sts-2")", R"("sts-5")");
  EXPECT_TRUE(other_index["allowed"].boolOr(false));
  EXPECT_FALSE(other_index.find("patch"));
  EXPECT_EQ(with(R"("object":{)", R"("object":{"kind":"Job",)")["patch"].str(), "");
  EXPECT_NE(with(R"("object":{)", R"("object":{"kind":"Pod",)")["patch"].str(), "");
  EXPECT_EQ(with(R"("request":{)", R"("request":{"kind":{"group":"apps"},)")["patch"].str(), "");
}

TEST(WebhookHandler, WhatIsNoReviewIsRefusedWithItsReason) {
  const std::string long_kind = R"({"kind":")" + std::string(99, 'x') + "\u20ac\"}";  // cut before the last
  const struct {
    const char* body;
    const char* why;
  } cases[] = {
      {"", "no JSON"},
      {"{", "no JSON"},
      {"[]", "send an AdmissionReview"},
      {R"({"apiVersion":"v1","kind":"Pod"})", "apiVersion 'v1', kind 'Pod'"},
      {long_kind.c_str(), "xxxxxxxxx'; send"},
      {R"({"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview"})", "admission.k8s.io/v2"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "empty request"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":7})", "empty request"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}})", "request.uid"},
  };
  for (const auto& c : cases) {
    for (const char* path : {"/mutate", "/validate"}) {
      const auto served = post(path, c.body);
      EXPECT_EQ(served.response.status, 400) << c.body;
      EXPECT_EQ(served.result, "invalid");
      const Value response = responseOf(served);
      EXPECT_FALSE(response["allowed"].boolOr(true));
      EXPECT_NE(response["status"]["message"].str().find(c.why), std::string::npos)
          << response["status"]["message"].str();
    }
  }
}

TEST(WebhookHandler, OtherPathsAndMethodsAreNotItsOwn) {
  EXPECT_EQ(post("/", "{}").response.status, 404);
  EXPECT_EQ(post("/mutate/x", "{}").response.status, 404);
  EXPECT_TRUE(post("/other", "{}").path.empty());
  const auto got = Handler{{}}.answer({.method = "GET", .target = "/mutate", .headers = {}, .body = ""});
  EXPECT_EQ(got.response.status, 405);
  ASSERT_NE(net::findHeader(got.response.headers, "Allow"), nullptr);
}

TEST(WebhookHandler, OtherKindsAndOperationsAreAllowed) {
  const auto allowed = [](const std::string& path, const std::string& kind, const std::string& more) {
    const auto served = post(
        path, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":)" +
                  kind + more +
                  R"(,"object":{"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},)"
                  R"("spec":{"schedulerName":"gpu-scheduler","devices":{"count":0},"containers":[{}]}}}})");
    return served.response.status == 200 && served.result == "allowed";
  };
  EXPECT_TRUE(allowed("/mutate", R"({"group":"apps","kind":"Deployment"})", ""));
  EXPECT_TRUE(allowed("/mutate", R"({"group":"","kind":"Pod"})", R"(,"subResource":"ephemeralcontainers")"));
  for (const char* operation : {"UPDATE", "DELETE", "CONNECT"}) {
    EXPECT_TRUE(allowed("/mutate", R"({"group":"","kind":"Pod"})",
                        R"(,"operation":")" + std::string{operation} + "\""));
  }
  EXPECT_TRUE(
      allowed("/mutate", R"({"group":"gpu.scheduling","kind":"GpuClaim"})", R"(,"operation":"CREATE")"));
  EXPECT_TRUE(allowed("/validate", R"({"group":"","kind":"Pod"})", R"(,"operation":"CREATE")"));
  EXPECT_TRUE(
      allowed("/validate", R"({"group":"gpu.scheduling","kind":"GpuClaim"})", R"(,"operation":"DELETE")"));
  EXPECT_TRUE(allowed("/validate", R"({"group":"gpu.scheduling","kind":"GpuClaim"})",
                      R"(,"operation":"UPDATE","subResource":"status")"));
  EXPECT_FALSE(allowed("/mutate", R"({"group":"","kind":"Pod"})", ""));
}

TEST(WebhookHandler, AContainerThatComesLaterIsTold) {
  const auto review = [](const char* operation, const char* subresource) {
    return post("/mutate",
                R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
                R"("kind":{"group":"","kind":"Pod"},"operation":")" +
                    std::string{operation} + R"(","subResource":")" + subresource +
                    R"(","object":{"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},)"
                    R"("spec":{"schedulerName":"gpu-scheduler","containers":[{}],)"
                    R"("ephemeralContainers":[{"name":"a"},{"name":"b"}]}},"oldObject":{"spec":)"
                    R"({"containers":[{}],"ephemeralContainers":[{"name":"a"}]}}}})");
  };
  const auto served = review("UPDATE", "ephemeralcontainers");
  EXPECT_EQ(served.result, "patched");
  const auto patch = decodeBase64(responseOf(served)["patch"].str());
  ASSERT_TRUE(patch.has_value());
  EXPECT_NE(patch->find("/spec/ephemeralContainers/1/env"), std::string::npos) << *patch;
  EXPECT_EQ(patch->find("/spec/ephemeralContainers/0"), std::string::npos) << *patch;
  EXPECT_EQ(patch->find("/spec/containers"), std::string::npos) << *patch;
  EXPECT_EQ(review("DELETE", "ephemeralcontainers").result, "allowed");
  EXPECT_EQ(review("UPDATE", "status").result, "allowed");
  EXPECT_EQ(review("UPDATE", "").result, "allowed");
}

TEST(WebhookHandler, AClaimThatNobodyCouldBePlacedByIsDenied) {
  const auto served =
      post("/validate", claimReview("CREATE", R"({"devices":{"count":2,"policy":"random"}})"));
  EXPECT_EQ(served.result, "denied");
  const Value response = responseOf(served);
  EXPECT_FALSE(response["allowed"].boolOr(true));
  EXPECT_EQ(response["status"]["code"].intOr(0), 422);
  EXPECT_EQ(response["status"]["message"].str(),
            "gpuclaim \"c\" is invalid: spec.devices.policy is \"random\": write one of contiguous, spread, "
            "preferIds");
  EXPECT_EQ(post("/validate", claimReview("CREATE", R"({"devices":{"count":2}})")).result, "allowed");
  EXPECT_EQ(
      post("/validate", claimReview("UPDATE", R"({"devices":{"count":0}})", R"({"devices":{"count":1}})"))
          .result,
      "denied");
}

TEST(WebhookHandler, AClaimThatWasWrongBeforeMayStillLoseItsFinalizers) {
  const std::string wrong = R"({"devices":{"count":0}})";
  EXPECT_EQ(post("/validate", claimReview("UPDATE", wrong, wrong)).result, "allowed");
}

TEST(WebhookHandler, WhatIsAcceptedAndNotFollowedIsWarnedOf) {
  const auto warnings = [](const std::string& spec) {
    const Value response = responseOf(post("/validate", claimReview("CREATE", spec)));
    EXPECT_TRUE(response["allowed"].boolOr(false));
    return response["warnings"].items().size();
  };
  EXPECT_EQ(warnings(R"({"devices":{"count":1}})"), 0U);
  EXPECT_EQ(warnings(R"({"devices":{"count":1,"preferIds":[1]}})"), 1U);
  EXPECT_EQ(warnings(R"({"devices":{"count":1,"preferIds":[1]},"gangRef":"g"})"), 2U);
}

/// As a block of YAML ends.
TEST(WebhookHandler, WarningsHaveNoCharactersForWhichAnApiServerDropsThem) {
  const auto served = post(
      "/mutate", R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r-9",)"
                 R"("object":{"metadata":{"annotations":{"gpu.scheduling/claim":"c"}},)"
                 R"("spec":{"schedulerName":"gpu-scheduler","containers":[{"name":"a","env":[)"
                 R"({"name":"CUDA_DEVICE_ORDER","value":"FAST\n\u007f\u0085\u00a0\u20ac"}]}]}}}})");
  EXPECT_EQ(responseOf(served)["warnings"].items().at(0).str().substr(0, 55),
            "container a sets CUDA_DEVICE_ORDER=\"FAST   \u00a0\u20ac\", repl");
}

}  // namespace
}  // namespace gs::webhook
