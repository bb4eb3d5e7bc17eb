#include "operator/admission/handler.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "kcache/kinds/names.h"
#include "operator/admission/digest_mark.h"
#include "operator/admission/review_test.h"

namespace gs::gkm {
namespace {

class CacheWebhook : public ::testing::Test {
 protected:
  admission::Served post(const std::string& target, const std::string& body) {
    return handler_.answer({.method = "POST", .target = target, .headers = {}, .body = body});
  }
  WebhookHandler handler_{{.resolve = [](const auto&, const auto&, const auto&) -> Result<Resolved> {
                             return Resolved{*kcache::Digest::parse(kFirstDigest)};
                           },
                           .signing_key = [] { return "key"; }}};
};

TEST_F(CacheWebhook, AnswersAtThePathsOfTheAncestor) {
  for (const std::string ns : {"ns", ""}) {
    const std::string kind = ns.empty() ? "clustergkmcache" : "gkmcache";
    const ReviewText review{.object = {"a:b"}, .ns = ns};
    const auto served = post("/mutate-gkm-io-v1alpha1-" + kind + "?timeout=30s", review.text());
    EXPECT_EQ(served.result, "patched");
    EXPECT_EQ(served.path, "/mutate-gkm-io-v1alpha1-" + kind);
    const auto body = json::parse(served.response.body);
    const CacheText made = patched(review.object, *decodeBase64((*body)["response"]["patch"].str()));
    EXPECT_EQ(made.annotations->at(kcache::kMutationSignatureKey),
              digestMark("key", ns, "a:b", kFirstDigest));
    const std::string validate = "/validate-gkm-io-v1alpha1-" + kind;
    EXPECT_EQ(post(validate, ReviewText{.object = made, .ns = ns}.text()).result, "allowed");
    const auto denied = post(validate, review.text());
    EXPECT_EQ(denied.result, "denied");
    EXPECT_NE(denied.response.body.find("must be set by the mutating webhook"), std::string::npos);
  }
}

TEST_F(CacheWebhook, AnotherKindThanThePathsIsLeftAlone) {
  const std::string review = ReviewText{.object = {"a:b"}, .ns = ""}.text();
  EXPECT_EQ(post("/mutate-gkm-io-v1alpha1-gkmcache", review).result, "allowed");
  EXPECT_EQ(post("/validate-gkm-io-v1alpha1-gkmcache", review).result, "allowed");
}

TEST_F(CacheWebhook, WhatIsNoReviewIsSaidToBeNone) {
  EXPECT_EQ(post("/mutate-gkm-io-v1alpha1-gkmcache", "nonsense").response.status, 400);
  EXPECT_EQ(post("/mutate", "").response.status, 404);
  EXPECT_EQ(post("/convert", "").response.status, 404);
  EXPECT_EQ(
      handler_
          .answer(
              {.method = "GET", .target = "/validate-gkm-io-v1alpha1-gkmcache", .headers = {}, .body = {}})
          .response.status,
      405);
}

}  // namespace
}  // namespace gs::gkm
