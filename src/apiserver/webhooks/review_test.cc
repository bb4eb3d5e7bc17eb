#include "apiserver/webhooks/review.h"

#include <gtest/gtest.h>

#include "apiserver/registry/resources.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

Value read(const std::string& text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value{};
}

class Review : public testing::Test {
 protected:
  [[nodiscard]] Value of(Operation operation, const char* subresource, const Value& object,
                         const Value& old) const {
    AdmissionRequest request{
        operation, *resources_.find("", "pods"), subresource, "team", "p", old, true, "jane", {}};
    return reviewOf(request, object, "v1", "u-1");
  }
  Resources resources_;
};

TEST_F(Review, SaysWhatIsAsked) {
  const Value pod = read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})");
  EXPECT_EQ(
      json::print(of(Operation::Update, "status", pod, pod)),
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",)"
      R"("kind":{"group":"","version":"v1","kind":"Pod"},)"
      R"("resource":{"group":"","version":"v1","resource":"pods"},"subResource":"status",)"
      R"("requestKind":{"group":"","version":"v1","kind":"Pod"},)"
      R"("requestResource":{"group":"","version":"v1","resource":"pods"},"requestSubResource":"status",)"
      R"("name":"p","namespace":"team","operation":"UPDATE",)"
      R"("userInfo":{"username":"jane","groups":["system:masters"]},)"
      R"("object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}},)"
      R"("oldObject":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}},"dryRun":true,)"
      R"("options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}}})");
}

TEST_F(Review, NamesTheKindOfWhatIsShown) {
  const Value eviction = read(R"({"apiVersion":"policy/v1","kind":"Eviction"})");
  EXPECT_EQ(json::print(of(Operation::Create, "eviction", eviction, {})["request"]["kind"]),
            R"({"group":"policy","version":"v1","kind":"Eviction"})");
  const Value pod = read(R"({"apiVersion":"v1","kind":"Pod"})");
  const Value deletion = of(Operation::Delete, "", {}, pod);
  EXPECT_EQ(deletion["request"]["kind"]["kind"].str(), "Pod");
  EXPECT_TRUE(deletion["request"]["object"].isNull());
  EXPECT_EQ(deletion["request"]["operation"].str(), "DELETE");
}

TEST(ReviewVersion, IsTheFirstThatBothSpeak) {
  const auto version = [](const char* versions) {
    return reviewVersion(
        Hook{{"c", 0}, read(std::string{R"({"admissionReviewVersions":)"} + versions + "}")});
  };
  EXPECT_EQ(version(R"(["v2","v1beta1","v1"])"), "v1beta1");
  EXPECT_EQ(version(R"(["v1","v1beta1"])"), "v1");
  EXPECT_EQ(version(R"(["v2"])"), "");
}

// ---- answers

const std::string kChange = encodeBase64(R"([{"op":"add","path":"/data","value":{"a":"b"}}])");

/// A v1 answer to u-1 with these members of `response`.
std::string answerWith(const std::string& response) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-1")" +
         (response.empty() ? "" : "," + response) + "}}";
}

struct Reading {
  const char* name;
  HookPass pass;
  int status;
  std::string body;
  std::string said;  // "allowed", "object {..}", "refused CODE message", "failed why"
};

std::string shown(const std::variant<HookVerdict, HookFailure>& read) {
  if (const auto* failure = std::get_if<HookFailure>(&read)) { return "failed " + failure->why; }
  const auto& verdict = std::get<HookVerdict>(read);
  std::string out = verdict.refused ? "refused " + std::to_string(verdict.refused->code) + " " +
                                          verdict.refused->reason + ": " + verdict.refused->message
                    : verdict.object ? "object " + json::print(*verdict.object)
                                     : "allowed";
  for (const auto& warning : verdict.warnings) { out += "; " + warning; }
  return out;
}

class ReadAnswer : public testing::TestWithParam<Reading> {};
TEST_P(ReadAnswer, IsAsARealServerReadsIt) {
  const Reading& one = GetParam();
  const Hook hook{{"c", 0}, read(R"({"name":"h.ex.io"})")};
  const HookAnswer answer{one.status, one.body, one.status == 0 ? "connection refused" : ""};
  const Value map = read(R"({"kind":"ConfigMap"})");
  EXPECT_EQ(shown(readAnswer(hook, {"u-1", "v1", "https://x/m?timeout=1s", one.pass}, answer, map)),
            one.said);
}

constexpr auto kM = HookPass::Mutating;
constexpr auto kV = HookPass::Validating;
const std::string kDenied = R"(admission webhook "h.ex.io" denied the request)";
INSTANTIATE_TEST_SUITE_P(
    Table, ReadAnswer,
    testing::Values(
        Reading{"Allowed", kV, 200, answerWith(R"("allowed":true)"), "allowed"},
        Reading{"AllowedWithWarnings", kV, 200, answerWith(R"("allowed":true,"warnings":["one","two"])"),
                "allowed; one; two"},
        Reading{"Changed", kM, 200,
                answerWith(R"("allowed":true,"patchType":"JSONPatch","patch":")" + kChange + "\""),
                R"(object {"kind":"ConfigMap","data":{"a":"b"}})"},
        Reading{"AnEmptyPatch", kM, 200,
                answerWith(R"("allowed":true,"patchType":"JSONPatch","patch":")" + encodeBase64("[]") + "\""),
                "allowed"},
        Reading{"Denied", kM, 200,
                answerWith(R"("allowed":false,"status":{"code":409,"reason":"Conflict","message":"no"})"),
                "refused 409 Conflict: " + kDenied + ": no"},
        Reading{"DeniedAndNothingIsChanged", kM, 200,
                answerWith(R"("allowed":false,"patchType":"JSONPatch","patch":")" + kChange + "\""),
                "refused 400 : " + kDenied + " without explanation"},
        Reading{"DeniedByReason", kV, 200,
                answerWith(R"("allowed":false,"status":{"reason":"Bad"},"warnings":["w"])"),
                "refused 400 Bad: " + kDenied + ": Bad; w"},
        Reading{"ADenialIsNoSuccess", kV, 200, answerWith(R"("allowed":false,"status":{"code":200})"),
                "refused 400 : " + kDenied + " without explanation"},
        Reading{"AllowedIsSaid", kV, 200, answerWith(""),
                "refused 400 : " + kDenied + " without explanation"},
        // failures, by failurePolicy
        Reading{"NoAnswer", kV, 0, "",
                R"(failed failed to call webhook: Post "https://x/m?timeout=1s": connection refused)"},
        Reading{"NotFound", kV, 404, "",
                "failed failed to call webhook: the server could not find the requested resource"},
        Reading{"Redirected", kV, 302, "",
                "failed failed to call webhook: the server responded with the status code 302 but did not "
                "return more "
                "information"},
        Reading{"AnError", kV, 500, "boom",
                R"(failed failed to call webhook: an error on the server ("boom") has prevented the request )"
                R"(from succeeding)"},
        Reading{"NoResponse", kV, 200, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
                "failed received invalid webhook response: webhook response was absent"},
        Reading{"AnArray", kV, 200, "[]",
                "failed received invalid webhook response: webhook response was absent"},
        Reading{"OtherUid", kV, 200,
                R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-2",)"
                R"("allowed":true}})",
                R"(failed received invalid webhook response: expected response.uid="u-1", got "u-2")"},
        Reading{"OtherKind", kV, 200,
                R"({"apiVersion":"v1","kind":"Pod","response":{"uid":"u-1","allowed":true}})",
                "failed received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
                "Kind=AdmissionReview, got /v1, Kind=Pod"},
        Reading{"NoKind", kV, 200, R"({"response":{"uid":"u-1","allowed":true}})",
                "failed received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
                "Kind=AdmissionReview, got /, Kind="},
        Reading{"AllowedIsNoText", kV, 200, answerWith(R"("allowed":"yes")"),
                "failed failed to call webhook: json: cannot unmarshal into Go struct field "
                "AdmissionReview.response.allowed of type bool"},
        Reading{"APatchIsText", kM, 200, answerWith(R"("allowed":true,"patch":[],"patchType":"JSONPatch")"),
                "failed failed to call webhook: json: cannot unmarshal into Go struct field "
                "AdmissionReview.response.patch of type []uint8"},
        Reading{"APatchIsBase64", kM, 200,
                answerWith(R"("allowed":true,"patch":"?","patchType":"JSONPatch")"),
                "failed failed to call webhook: illegal base64 data in response.patch"},
        Reading{"APatchHasAType", kM, 200, answerWith(R"("allowed":true,"patch":")" + kChange + "\""),
                "failed received invalid webhook response: webhook returned response.patch but not "
                "response.patchType"},
        Reading{"ATypeHasAPatch", kM, 200, answerWith(R"("allowed":true,"patchType":"JSONPatch")"),
                "failed received invalid webhook response: webhook returned response.patchType but not "
                "response.patch"},
        Reading{"AnotherPatchType", kM, 200,
                answerWith(R"("allowed":true,"patchType":"Merge","patch":")" + kChange + "\""),
                R"(failed unsupported patch type "Merge")"},
        Reading{"NobodyWhoValidatesChanges", kV, 200,
                answerWith(R"("allowed":true,"patchType":"JSONPatch","patch":")" + kChange + "\""),
                "failed received invalid webhook response: validating webhook may not return response.patch"},
        // errors, whatever the policy
        Reading{
            "APatchThatDoesNotFit", kM, 200,
            answerWith(R"("allowed":true,"patchType":"JSONPatch","patch":")" +
                       encodeBase64(R"([{"op":"remove","path":"/none"}])") + "\""),
            R"(refused 500 InternalError: Internal error occurred: the patch of webhook "h.ex.io" does not )"
            R"(fit the object: )"
            R"([{"op":"remove","path":"/none"}])"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(ReadAnswer, OfBytesThatAreNoJsonSaysSo) {
  const Hook hook{{"c", 0}, read(R"({"name":"h.ex.io"})")};
  const auto said = readAnswer(hook, {"u-1", "v1", "https://x", kV}, {200, "<html>", ""}, {});
  EXPECT_TRUE(shown(said).starts_with(
      "failed failed to call webhook: couldn't get version/kind; json parse error: "));
}

TEST(ReadAnswer, OfBrokenPatchesIsAnError) {
  const Hook hook{{"c", 0}, read(R"({"name":"h.ex.io"})")};
  const auto with = [&](const char* patch, const Value& object) {
    const std::string body =
        answerWith(R"("allowed":true,"patchType":"JSONPatch","patch":")" + encodeBase64(patch) + "\"");
    return shown(readAnswer(hook, {"u-1", "v1", "https://x", kM}, {200, body, ""}, object));
  };
  EXPECT_TRUE(with("no json", Object{}).starts_with("refused 500 InternalError: "))
      << with("no json", Object{});
  EXPECT_TRUE(with(R"({"op":"add"})", Object{}).starts_with("refused 500 InternalError: "));
  EXPECT_EQ(with(R"([{"op":"add","path":"/a","value":1}])", Value{}),
            R"(refused 500 InternalError: Internal error occurred: admission webhook "h.ex.io" attempted to )"
            R"(modify the )"
            "object, which is not supported for this operation");
}

/// Of v1beta1 a real server checks neither the uid nor the kind, and takes a patch for a JSON patch.
TEST(ReadAnswer, OfV1beta1IsReadLeniently) {
  const Hook hook{{"c", 0}, read(R"({"name":"h.ex.io"})")};
  const std::string body = R"({"response":{"allowed":true,"patch":")" + kChange + R"("}})";
  const auto said =
      readAnswer(hook, {"u-1", "v1beta1", "https://x", kM}, {200, body, ""}, Object{{"kind", "ConfigMap"}});
  EXPECT_EQ(shown(said), R"(object {"kind":"ConfigMap","data":{"a":"b"}})");
  const std::string broken = R"({"response":{"allowed":true,"patch":")" + encodeBase64("no json") + R"("}})";
  EXPECT_EQ(shown(readAnswer(hook, {"u-1", "v1beta1", "https://x", kV}, {200, broken, ""}, Object{})),
            "allowed");
}

}  // namespace
}  // namespace gs::apiserver
