#include "operator/admission/decide.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/base64.h"
#include "base/secret.h"
#include "kcache/kinds/names.h"
#include "operator/admission/digest_mark.h"
#include "operator/admission/kyverno.h"
#include "operator/admission/review_test.h"

namespace gs::gkm {
namespace {

using admission::Verdict;

constexpr const char* kImageName = "quay.io/gkm/a:v1";
constexpr const char* kOtherName = "quay.io/gkm/b:v1";
constexpr const char* kTestKey = "0123456789abcdef";
constexpr const char* kForged = "must be set only by the mutating webhook";
constexpr const char* kImmutable = "gkm.io/resolvedDigest is immutable when spec.image is unchanged";

Strings marked(const std::string& ns, const std::string& image, const std::string& digest) {
  return {{kcache::kDigestKey, digest},
          {kcache::kMutationSignatureKey, digestMark(kTestKey, ns, image, digest)},
          {kcache::kLastMutatedByKey, "alice"}};
}

/// A registry in which every tag is `digest`.
class Admission : public ::testing::Test {
 protected:
  using Decide = Verdict (*)(const admission::Review&, const Rules&);
  Verdict decide(Decide decide, const ReviewText& text) {
    const auto document = json::Document::read(text.text());
    const auto review = admission::readReview(document->root());
    EXPECT_TRUE(review.has_value());
    return decide(*review, rules_);
  }
  Verdict mutates(const ReviewText& text) { return decide(mutate, text); }
  Verdict validates(const ReviewText& text) { return decide(validate, text); }
  /// As the API server does it: what mutate() made of it is validated.
  std::string refusal(ReviewText text, CacheText* made = nullptr) {
    const Verdict first = mutates(text);
    if (!first.allowed) { return first.message; }
    text.object = patched(text.object, first.patch);
    EXPECT_EQ(mutates(text).patch, "") << "a second time";
    if (made != nullptr) { *made = text.object; }
    return validates(text).message;
  }

  std::string digest_ = kFirstDigest;
  std::string key_ = kTestKey;
  std::string refuses_;
  std::vector<std::string> asked_;
  std::vector<std::string> secrets_;
  Rules rules_{.resolve = [this](const model::ObjectKey& cache, const kcache::Reference& image,
                                 const std::vector<std::string>& secrets) -> Result<Resolved> {
                 secrets_ = secrets;
                 asked_.push_back(cache.text() + " " + image.text());
                 if (!refuses_.empty()) { return fail(Code::Unavailable, refuses_); }
                 return Resolved{*kcache::Digest::parse(digest_)};
               },
               .signing_key = [this] { return key_; }};
};

TEST_F(Admission, ANewCacheGetsItsDigestOnce) {
  CacheText made;
  EXPECT_EQ(refusal({.object = {kImageName}}, &made), "");
  EXPECT_EQ(made.annotations, marked("ns", kImageName, kFirstDigest));
  EXPECT_EQ(asked_.at(0), "ns/c quay.io/gkm/a:v1");
  EXPECT_EQ(refusal({.object = {kImageName, Strings{{"x", "y"}}}, .ns = ""}, &made), "");
  Strings want = marked("", kImageName, kFirstDigest);
  want["x"] = "y";
  EXPECT_EQ(made.annotations, want);
}

TEST_F(Admission, ItsOwnSecretsGoAlong) {
  EXPECT_EQ(refusal({.object = {.image = kImageName, .secrets = {"one", "two"}}}), "");
  EXPECT_EQ(secrets_, (std::vector<std::string>{"one", "two"}));
}

TEST_F(Admission, TheClustersMarkIsTheAncestors) {
  EXPECT_EQ(digestMark(kTestKey, "", kImageName, kFirstDigest),
            encodeBase64(hmacSha256(kTestKey, "|" + std::string{kImageName} + "|" + kFirstDigest)));
}

TEST_F(Admission, WhatAUserWritesIntoANewCacheIsReplaced) {
  Strings forged = marked("ns", kImageName, kSecondDigest);
  forged[kcache::kLastMutatedByKey] = "system:admin";
  CacheText made;
  EXPECT_EQ(refusal({.object = {kImageName, forged}}, &made), "");
  EXPECT_EQ(made.annotations, marked("ns", kImageName, kFirstDigest));
}

TEST_F(Admission, AChangeOfAnythingElseAsksNobody) {
  refuses_ = "the registry is away";
  key_ = "";
  const CacheText old{kImageName, marked("ns", kImageName, kSecondDigest)};
  CacheText now = old;
  now.annotations->emplace("note", "x");
  EXPECT_EQ(refusal({"UPDATE", now, old}), "");
  EXPECT_EQ(refusal({"UPDATE", {"not an image"}, CacheText{"not an image"}}), "")
      << "as an older version took it";
  EXPECT_EQ(refusal({"UPDATE", {kImageName}, CacheText{kImageName}}), "") << "made while nobody resolved";
  const CacheText ancestors{kImageName, Strings{{kcache::kDigestKey, kFirstDigest}}};
  EXPECT_EQ(refusal({"UPDATE", ancestors, ancestors}), "") << "of the ancestor, which marks no GKMCache";
  CacheText deleting = old;
  deleting.deletion = "2026-01-01T00:00:00Z";
  EXPECT_EQ(refusal({"UPDATE", deleting, deleting}), "");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Admission, WhatGotLostOnTheWayIsPutBack) {
  refuses_ = "the registry is away";
  const CacheText old{kImageName, marked("ns", kImageName, kSecondDigest)};
  for (const auto& annotations : {std::optional<Strings>{}, std::optional{Strings{{"x", "y"}}}}) {
    CacheText made;
    EXPECT_EQ(refusal({"UPDATE", {kImageName, annotations}, old}, &made), "");
    Strings want = *old.annotations;
    if (annotations) { want["x"] = "y"; }
    EXPECT_EQ(made.annotations, want);
  }
}

TEST_F(Admission, AnotherImageIsResolved) {
  const CacheText old{kImageName, marked("ns", kImageName, kFirstDigest)};
  digest_ = kSecondDigest;
  CacheText made;
  EXPECT_EQ(refusal({"UPDATE", {kOtherName, old.annotations}, old}, &made), "");
  EXPECT_EQ(made.annotations, marked("ns", kOtherName, kSecondDigest));
}

TEST_F(Admission, TheSameDigestUnderAnotherNameIsMarkedAnew) {
  for (const std::string ns : {"ns", ""}) {
    const CacheText old{kImageName, marked(ns, kImageName, kFirstDigest)};
    CacheText made;
    EXPECT_EQ(refusal({"UPDATE", {kOtherName, old.annotations}, old, ns}, &made), "");
    EXPECT_EQ(made.annotations, marked(ns, kOtherName, kFirstDigest));
  }
}

TEST_F(Admission, AnImageThatNamesItsDigestIsAskedForAllTheSame) {
  const std::string image = "quay.io/gkm/a@" + kFirstDigest;
  EXPECT_EQ(refusal({.object = {image}}), "");
  EXPECT_EQ(asked_.size(), 2U) << "once each time";
  digest_ = kSecondDigest;
  EXPECT_EQ(mutates({.object = {image}}).message, "image digest resolution failed for '" + image +
                                                      "': the registry has " + kSecondDigest + " instead");
}

TEST_F(Admission, WhatIsNotResolvedIsNotMade) {
  refuses_ = resolutionFailed(kImageName, "no answer");
  EXPECT_EQ(refusal({.object = {kImageName}}),
            "image digest resolution failed for 'quay.io/gkm/a:v1': no answer");
  const CacheText old{kOtherName, marked("ns", kOtherName, kFirstDigest)};
  EXPECT_EQ(refusal({"UPDATE", {kImageName, old.annotations}, old}), refuses_);
  refuses_ = verificationFailed(kImageName, "nobody signed it");
  EXPECT_EQ(refusal({.object = {kImageName}, .ns = ""}),
            "image signature verification failed for 'quay.io/gkm/a:v1': nobody signed it");
  refuses_ = std::string(std::size_t{1} << 20, 'x');
  EXPECT_LT(refusal({.object = {kImageName}}).size(), 5'000U);
}

TEST_F(Admission, WhatIsNoImageIsRefused) {
  EXPECT_EQ(refusal({.object = {""}}), "spec.image must be set");
  const std::string wrong = refusal({.object = {"Quay.io/A B"}});
  EXPECT_TRUE(wrong.starts_with("image digest resolution failed for 'Quay.io/A B': ")) << wrong;
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(
      validates({.object = {"a|b", marked("ns", "a|b", kFirstDigest)}}).message.starts_with("spec.image: "));
}

TEST_F(Admission, WithoutAKeyNothingIsMadeAndNobodyAsked) {
  key_ = "";
  EXPECT_NE(refusal({.object = {kImageName}}).find("try again"), std::string::npos);
  EXPECT_TRUE(asked_.empty());
  EXPECT_NE(validates({.object = {kImageName, Strings{{kcache::kDigestKey, kFirstDigest},
                                                      {kcache::kMutationSignatureKey,
                                                       digestMark("", "ns", kImageName, kFirstDigest)}}}})
                .message.find(kForged),
            std::string::npos);
}

// What validate() says of objects that did not go through mutate(), or were changed behind it.
struct ValidateCase {
  const char* name;
  ReviewText review;
  const char* says;  // "": allowed
};
class Validate : public Admission, public ::testing::WithParamInterface<ValidateCase> {};
TEST_P(Validate, Says) {
  const Verdict verdict = validates(GetParam().review);
  EXPECT_EQ(verdict.allowed, std::string{GetParam().says}.empty()) << verdict.message;
  EXPECT_NE(verdict.message.find(GetParam().says), std::string::npos) << verdict.message;
}
const CacheText kOld{kImageName, marked("ns", kImageName, kFirstDigest)};
CacheText with(CacheText cache, const char* key, const std::string& value) {
  (*cache.annotations)[key] = value;
  return cache;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Validate,
    ::testing::Values(
        ValidateCase{"Marked", {"CREATE", kOld}, ""},  //
        ValidateCase{"NoImage", {"CREATE", {"", Strings{}}}, "spec.image must be set"},
        ValidateCase{"NoDigest",
                     {"CREATE", {kImageName}},
                     "gkm.io/resolvedDigest must be set by the mutating webhook"},
        ValidateCase{
            "NoMark", {"CREATE", {kImageName, Strings{{kcache::kDigestKey, kFirstDigest}}}}, kForged},
        ValidateCase{
            "MarkOfAnotherDigest", {"CREATE", with(kOld, kcache::kDigestKey, kSecondDigest)}, kForged},
        ValidateCase{"MarkOfAnotherImage", {"CREATE", {kOtherName, kOld.annotations}}, kForged},
        ValidateCase{"MarkOfAnotherNamespace", {"CREATE", kOld, {}, "other"}, kForged},
        ValidateCase{"MarkOfANamespaceForTheCluster", {"CREATE", kOld, {}, ""}, kForged},
        ValidateCase{"MarkOfTheClusterInANamespace",
                     {"CREATE", {kImageName, marked("", kImageName, kFirstDigest)}},
                     kForged},
        ValidateCase{
            "NonsenseForAMark", {"CREATE", with(kOld, kcache::kMutationSignatureKey, "\xff,")}, kForged},
        ValidateCase{"AnOldObjectAtACreation",
                     {"CREATE", {kImageName}, CacheText{kImageName}},
                     "must be set by the mutating"},
        ValidateCase{
            "ADigestOfOnesOwn", {"UPDATE", with(kOld, kcache::kDigestKey, kSecondDigest), kOld}, kImmutable},
        ValidateCase{"AMarkedDigestOfEarlier",
                     {"UPDATE", {kImageName, marked("ns", kImageName, kSecondDigest)}, kOld},
                     kImmutable},
        ValidateCase{"NoDigestAnyMore", {"UPDATE", {kImageName, Strings{}}, kOld}, kImmutable},
        ValidateCase{
            "ADigestWhereThereWasNone",
            {"UPDATE", {kImageName, Strings{{kcache::kDigestKey, kFirstDigest}}}, CacheText{kImageName}},
            kForged},
        ValidateCase{
            "AnotherImageWithItsOldDigest", {"UPDATE", {kOtherName, kOld.annotations}, kOld}, kForged},
        ValidateCase{"AnotherImageMarked",
                     {"UPDATE", {kOtherName, marked("ns", kOtherName, kSecondDigest)}, kOld},
                     ""},
        ValidateCase{"NoImageAnyMore", {"UPDATE", {"", kOld.annotations}, kOld}, "spec.image must be set"},
        ValidateCase{"AnotherImageWhileItGoes",
                     {"UPDATE",
                      {kOtherName, kOld.annotations},
                      CacheText{kImageName, kOld.annotations, "2026-01-01T00:00:00Z"}},
                     "is being deleted"},
        ValidateCase{"ADigestOfOnesOwnWhileItGoes",
                     {"UPDATE", with(kOld, kcache::kDigestKey, kSecondDigest),
                      CacheText{kImageName, kOld.annotations, "2026-01-01T00:00:00Z"}},
                     kImmutable},
        ValidateCase{
            "ItsOwnWordThatItGoes",
            {"CREATE", {kImageName, Strings{{kcache::kDigestKey, kFirstDigest}}, "2026-01-01T00:00:00Z"}},
            kForged},
        ValidateCase{"Status",
                     {"UPDATE", with(kOld, kcache::kDigestKey, kSecondDigest), kOld, "ns", "", "status"},
                     ""},
        ValidateCase{"Deletion", {"DELETE", {}, kOld}, ""},  //
        ValidateCase{"AnotherKind", {"CREATE", {}, {}, "ns", "GKMCacheNode"}, ""}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST_F(Admission, ACacheThatIsBeingDeletedAsksNobody) {
  CacheText old = kOld;
  old.deletion = "2026-01-01T00:00:00Z";
  EXPECT_EQ(mutates({"UPDATE", {kOtherName, kOld.annotations}, old}).patch, "");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Admission, OfAnObjectWithoutMetadataNothingIsMade) {
  const auto document = json::Document::read(
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
      R"("operation":"CREATE",)"
      R"("kind":{"group":"gkm.io","kind":"GKMCache"},"namespace":"ns","object":{"spec":{"image":"a:b"}}}})");
  EXPECT_EQ(mutate(*admission::readReview(document->root()), rules_).message, "metadata must be set");
}

// ---- Kyverno

TEST_F(Admission, KyvernoIsHeardOnlyWhenAskedFor) {
  const std::string image = "quay.io/gkm/a@" + kFirstDigest;
  const CacheText cache{image, Strings{{kKyvernoKey, R"({"quay.io/gkm/a@)" + kFirstDigest + R"(":"pass"})"}}};
  EXPECT_EQ(mutates({.object = cache}).message, "");
  EXPECT_EQ(asked_.size(), 1U);
  rules_.honours_kyverno = true;
  asked_.clear();
  refuses_ = "nobody signed it";
  CacheText made;
  EXPECT_EQ(refusal({.object = cache}, &made), "");
  EXPECT_EQ(made.annotations->at(kcache::kDigestKey), kFirstDigest);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(refusal({.object = cache, .ns = ""}), refuses_) << "Kyverno does not verify what is cluster-wide";
}

TEST_F(Admission, AForgedWordOfKyvernoVouchesForNothing) {
  rules_.honours_kyverno = true;
  refuses_ = "nobody signed it";
  const std::string image = "quay.io/gkm/a@" + kFirstDigest;
  for (const std::string& said :
       {std::string{"{}"}, std::string{"[]"}, std::string{R"("pass")"}, std::string{"{"}, std::string{},
        R"({"quay.io/gkm/a@)" + kSecondDigest + R"(":"pass"})",
        R"({"quay.io/gkm/b@)" + kFirstDigest + R"(":"pass"})",
        R"({"docker.io/gkm/a@)" + kFirstDigest + R"(":"pass"})",
        std::string{R"({"quay.io/gkm/a:v1":"pass"})"}, R"({"quay.io/gkm/a@)" + kFirstDigest + R"(":"fail"})",
        R"({"quay.io/gkm/a@)" + kFirstDigest + R"(":"skip"})",
        R"({"quay.io/gkm/a@)" + kFirstDigest + R"(":{"pass":"pass"}})", std::string{R"({"*":"pass"})"}}) {
    EXPECT_EQ(refusal({.object = {image, Strings{{kKyvernoKey, said}}}}), refuses_) << said;
  }
  const Strings all{{kKyvernoKey, R"({"quay.io/gkm/a:v1@)" + kFirstDigest + R"(":"pass"})"}};
  EXPECT_EQ(refusal({.object = {image, all}}), "");
  EXPECT_EQ(refusal({.object = {"quay.io/gkm/a:v1", all}}), refuses_) << "a tag may be another one by now";
}

}  // namespace
}  // namespace gs::gkm
