// Webhooks as requests meet them: who is asked, in which order, about what; late answers; failure policies.
// The test is the webhook, and the network.
#include "apiserver/webhooks/webhooks.h"

#include <map>

#include "apiserver/handlers/api_test.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class WebhooksTest : public ApiTest {
 protected:
  static constexpr const char* kGroup = "/apis/admissionregistration.k8s.io/v1/";

  WebhooksTest() {
    auto plugin = std::make_unique<Webhooks>(api_.store(), Rng{1}, [this](HookCall call) {
      if (calls_.size() >= room_) { return false; }
      calls_.push_back(std::move(call));
      return true;
    });
    webhooks_ = plugin.get();
    api_.admission().add(std::move(plugin));
  }

  /// A configuration `c` with these webhooks, each "name policy...": "a Ignore IfNeeded".
  void configure(const char* kind, std::vector<std::vector<std::string>> hooks, const char* name = "c") {
    Array all;
    for (const auto& words : hooks) {
      Value hook = Object{{"name", words.front() + ".ex.io"},
                          {"clientConfig", Object{{"url", "https://" + words.front()}}},
                          {"rules", Array{Object{{"operations", Array{Value{"*"}}},
                                                 {"apiGroups", Array{Value{""}}},
                                                 {"apiVersions", Array{Value{"v1"}}},
                                                 {"resources", Array{Value{"configmaps"}}}}}},
                          {"sideEffects", "None"},
                          {"admissionReviewVersions", Array{Value{"v1"}}}};
      for (std::size_t i = 1; i < words.size(); ++i) {
        hook.set(words[i] == "IfNeeded" ? "reinvocationPolicy" : "failurePolicy", words[i]);
      }
      all.push_back(std::move(hook));
    }
    Value body = named(name);
    body.set("webhooks", std::move(all));
    const Response made = send("POST", std::string{kGroup} + kind, std::move(body));
    ASSERT_EQ(made.code, 201) << json::print(made.body);
  }
  void mutating(std::vector<std::vector<std::string>> hooks) {
    configure("mutatingwebhookconfigurations", std::move(hooks));
  }
  void validating(std::vector<std::vector<std::string>> hooks) {
    configure("validatingwebhookconfigurations", std::move(hooks));
  }

  RequestId begin(const char* method, std::string target, Value body = {}) {
    auto begun = api_.begin({method, std::move(target), "application/json", std::move(body)}, clock_.now());
    if (auto* response = std::get_if<Response>(&begun)) {
      response_ = std::move(*response);
      return 0;
    }
    return std::get<RequestId>(begun);
  }
  /// The one that was called last, "a" of https://a; its review.
  [[nodiscard]] std::string called() const {
    return calls_.empty() ? "" : calls_.back().address.url.substr(8, 1);
  }
  [[nodiscard]] Value review(std::size_t index) const {
    const auto value = json::parse(calls_.at(index).body);
    EXPECT_TRUE(value);
    return value ? *value : Value{};
  }
  void deliver(std::size_t index, const HookAnswer& answer) {
    auto said = webhooks_->answered(calls_.at(index).id, answer);
    if (!said) { return; }
    response_ = api_.answered(said->request_id, std::move(said->response), clock_.now());
  }
  /// The call at `index` is answered with these members of `response`.
  void answer(std::size_t index, const std::string& members) {
    const std::string uid{review(index)["request"]["uid"].str()};
    deliver(index,
            {200, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" +
                      uid + "\"," + members + "}}"});
  }
  void allow(std::size_t index) { answer(index, R"("allowed":true)"); }
  void change(std::size_t index, const std::string& key) {
    const std::string patch = R"([{"op":"add","path":"/data/)" + key + R"(","value":"x"}])";
    answer(index, R"("allowed":true,"patchType":"JSONPatch","patch":")" + encodeBase64(patch) + "\"");
  }
  static Value map(const char* name) {
    Value out = named(name);
    out.set("data", Object{{"k", "v"}});
    return out;
  }
  /// All that were called so far, in order.
  [[nodiscard]] std::string order() const {
    std::string out;
    for (const HookCall& call : calls_) { out += call.address.url.substr(8, 1); }
    return out;
  }

  Webhooks* webhooks_ = nullptr;
  std::vector<HookCall> calls_;
  std::size_t room_ = 100;
  std::optional<Response> response_;
};

TEST_F(WebhooksTest, NobodyIsAskedWhereNothingMatches) {
  (void)begin("POST", kMaps, map("m"));
  EXPECT_EQ(response_->code, 201);
  mutating({{"a"}});
  response_.reset();
  (void)begin("POST", "/api/v1/namespaces", named("n"));
  EXPECT_EQ(response_->code, 201);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(WebhooksTest, EachIsShownWhatTheOneBeforeMadeOfIt) {
  mutating({{"a"}, {"b"}});
  EXPECT_NE(begin("POST", kMaps, map("m")), 0U);
  ASSERT_EQ(order(), "a");
  EXPECT_EQ(calls_[0].address.url, "https://a?timeout=10s");
  EXPECT_EQ(calls_[0].timeout, std::chrono::seconds{10});
  EXPECT_EQ(calls_[0].hook, "c/a.ex.io");
  EXPECT_EQ(review(0)["request"]["object"]["metadata"]["namespace"].str(), "default");
  change(0, "one");
  ASSERT_EQ(order(), "ab");
  EXPECT_FALSE(response_);
  EXPECT_EQ(review(1)["request"]["object"]["data"], (Value{Object{{"k", "v"}, {"one", "x"}}}));
  EXPECT_EQ(names(kMaps), "");
  change(1, "two");
  ASSERT_TRUE(response_);
  EXPECT_EQ(response_->code, 201);
  EXPECT_EQ(response_->body["data"], (Value{Object{{"k", "v"}, {"one", "x"}, {"two", "x"}}}));
  EXPECT_EQ(webhooks_->waiting(), 0U);
}

TEST_F(WebhooksTest, WhoWantsItIsAskedOnceMoreAfterALaterChange) {
  mutating({{"a", "IfNeeded"}, {"b"}, {"c", "IfNeeded"}, {"d"}});
  (void)begin("POST", kMaps, map("m"));
  change(0, "one");   // its own change asks nobody again
  change(1, "two");   // a
  allow(2);           // c changes nothing
  change(3, "four");  // and c
  ASSERT_EQ(order(), "abcda");
  EXPECT_EQ(review(4)["request"]["object"]["data"].members().size(), 4U);
  change(4, "five");  // c would be asked again anyway
  ASSERT_EQ(order(), "abcdac");
  change(5, "six");  // there is no third round
  EXPECT_EQ(order(), "abcdac");
  ASSERT_TRUE(response_);
  EXPECT_EQ(response_->code, 201);
}

TEST_F(WebhooksTest, NobodyIsAskedAgainWhereNothingChanged) {
  mutating({{"a", "IfNeeded"}, {"b"}});
  (void)begin("POST", kMaps, map("m"));
  change(0, "one");
  allow(1);
  EXPECT_EQ(order(), "ab");
  EXPECT_EQ(response_->code, 201);
}

/// A patch that says what is there already.
TEST_F(WebhooksTest, APatchThatChangesNothingAsksNobodyAgain) {
  mutating({{"a", "IfNeeded"}, {"b"}});
  (void)begin("POST", kMaps, map("m"));
  allow(0);
  const std::string same = encodeBase64(R"([{"op":"replace","path":"/data/k","value":"v"}])");
  answer(1, R"("allowed":true,"patchType":"JSONPatch","patch":")" + same + "\"");
  EXPECT_EQ(order(), "ab");
  EXPECT_EQ(response_->code, 201);
}

TEST_F(WebhooksTest, ThoseWhoValidateAreAskedAtOnceAndTheFirstRefusalCounts) {
  validating({{"a"}, {"b"}, {"c"}});
  (void)begin("POST", kMaps, map("m"));
  ASSERT_EQ(order(), "abc");
  EXPECT_FALSE(review(0)["request"]["object"]["metadata"]["uid"].isNull());
  answer(2, R"("allowed":false,"status":{"message":"late"},"warnings":["c"])");
  answer(0, R"("allowed":true,"warnings":["a"])");
  EXPECT_FALSE(response_);
  answer(1, R"("allowed":false,"status":{"message":"first","code":403,"reason":"Forbidden"})");
  ASSERT_TRUE(response_);
  EXPECT_EQ(response_->code, 403);
  EXPECT_EQ(response_->body["message"].str(), R"(admission webhook "b.ex.io" denied the request: first)");
  EXPECT_EQ(response_->warnings, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, ADenialIsTheAnswerAndNobodyElseIsAsked) {
  mutating({{"a"}, {"b"}});
  (void)begin("POST", kMaps, map("m"));
  answer(0, R"("allowed":false,"warnings":["careful"])");
  EXPECT_EQ(order(), "a");
  EXPECT_EQ(response_->code, 400);
  EXPECT_EQ(response_->warnings, std::vector<std::string>{"careful"});
}

TEST_F(WebhooksTest, AFailureIsUpToThePolicy) {
  mutating({{"a", "Ignore"}, {"b", "Fail"}});
  validating({{"c", "Ignore"}, {"d", "Fail"}});
  (void)begin("POST", kMaps, map("m"));
  deliver(0, {0, "", "context deadline exceeded"});
  ASSERT_EQ(order(), "ab");
  deliver(1, {0, "", "context deadline exceeded"});
  EXPECT_EQ(response_->code, 500);
  EXPECT_EQ(response_->body["reason"].str(), "InternalError");
  EXPECT_EQ(response_->body["message"].str(),
            "Internal error occurred: failed calling webhook \"b.ex.io\": failed to call webhook: Post "
            "\"https://b?timeout=10s\": context deadline exceeded");
  (void)begin("POST", kMaps, map("m"));
  allow(2);
  allow(3);
  ASSERT_EQ(order(), "ababcd");
  deliver(4, {200, "{}"});
  deliver(5, {200, "{}"});
  EXPECT_EQ(response_->code, 500);
  EXPECT_EQ(response_->body["message"].str(),
            "Internal error occurred: failed calling webhook \"d.ex.io\": received invalid webhook response: "
            "webhook "
            "response was absent");
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, AllThatFailOpenLetItPass) {
  mutating({{"a", "Ignore"}});
  validating({{"b", "Ignore"}});
  (void)begin("POST", kMaps, map("m"));
  deliver(0, {503, ""});
  deliver(1, {0, "", "gone"});
  EXPECT_EQ(response_->code, 201);
}

TEST_F(WebhooksTest, ABrokenPatchIsAnErrorWhateverThePolicy) {
  mutating({{"a", "Ignore"}});
  (void)begin("POST", kMaps, map("m"));
  const std::string patch = encodeBase64(R"([{"op":"replace","path":"/metadata/name","value":"q"}])");
  answer(0, R"("allowed":true,"patchType":"JSONPatch","patch":")" + patch + "\"");
  EXPECT_EQ(response_->code, 500);
  (void)begin("POST", kMaps, map("m"));
  answer(1, R"("allowed":true,"patchType":"JSONPatch","patch":")" + encodeBase64(R"([{"op":"x"}])") + "\"");
  EXPECT_EQ(response_->code, 500);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, AServiceThatIsNotThereIsAFailure) {
  mutating({{"a", "Ignore"}, {"b", "Fail"}});
  for (const char* index : {"0", "1"}) {
    const Value client = Object{{"service", Object{{"namespace", "x"}, {"name", "y"}, {"port", 443}}}};
    const Response patched = send("PATCH", std::string{kGroup} + "mutatingwebhookconfigurations/c",
                                  Array{Object{{"op", "replace"},
                                               {"path", std::string{"/webhooks/"} + index + "/clientConfig"},
                                               {"value", client}}},
                                  "application/json-patch+json");
    ASSERT_EQ(patched.code, 200) << json::print(patched.body);
  }
  (void)begin("POST", kMaps, map("m"));
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(response_->body["message"].str(),
            "Internal error occurred: failed calling webhook \"b.ex.io\": failed to call webhook: service "
            "\"y\" not found");
}

TEST_F(WebhooksTest, WhoCannotWaitIsAnsweredByThePolicy) {
  mutating({{"a", "Ignore"}});
  validating({{"b", "Ignore"}});
  EXPECT_EQ(send("POST", kMaps, map("m")).code, 201);
  EXPECT_EQ(send("DELETE", std::string{kGroup} + "validatingwebhookconfigurations/c").code, 200);
  validating({{"b", "Fail"}});
  const Response refused = send("POST", kMaps, map("n"));
  EXPECT_EQ(refused.code, 500);
  EXPECT_NE(refused.body["message"].str().find("do not wait for webhooks"), std::string::npos);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(WebhooksTest, ADryRunIsShownToThoseWithoutEffects) {
  mutating({{"a"}});
  (void)begin("POST", std::string{kMaps} + "?dryRun=All", map("m"));
  ASSERT_EQ(order(), "a");
  EXPECT_TRUE(review(0)["request"]["dryRun"].boolOr(false));
  allow(0);
  EXPECT_EQ(response_->code, 201);
  EXPECT_EQ(names(kMaps), "");
}

/// As a store of before 1.16 could have it, and a state file.
TEST_F(WebhooksTest, ADryRunIsRefusedByOneWithEffects) {
  Value state = api_.save();
  mutating({{"a", "Ignore"}});
  Value with = api_.save();
  for (Value& one : with.child("objects").array()) {
    if (one["resource"].str() == kMutatingId) {
      one.child("object").child("webhooks").array()[0].set("sideEffects", "Some");
    }
  }
  ASSERT_TRUE(api_.restore(with));
  (void)begin("POST", std::string{kMaps} + "?dryRun=All", map("m"));
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(response_->code, 400);
  EXPECT_EQ(response_->body["message"].str(), R"(admission webhook "a.ex.io" does not support dry run)");
}

TEST_F(WebhooksTest, TooManyCallsAre429) {
  mutating({{"a", "Ignore"}});
  room_ = 0;
  (void)begin("POST", kMaps, map("m"));
  EXPECT_EQ(response_->code, 429);
  EXPECT_EQ(response_->body["reason"].str(), "TooManyRequests");
  EXPECT_EQ(webhooks_->waiting(), 0U);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, WhereOneOfSeveralIsTooManyTheOthersCountForNothing) {
  validating({{"a"}, {"b"}});
  room_ = 1;
  (void)begin("POST", kMaps, map("m"));
  EXPECT_EQ(response_->code, 429);
  EXPECT_EQ(webhooks_->waiting(), 0U);
  allow(0);  // late, and about nothing
  EXPECT_EQ(response_->code, 429);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, WhatWasGivenUpIsNotAnswered) {
  mutating({{"a"}});
  const RequestId request_id = begin("POST", kMaps, map("m"));
  webhooks_->giveUp(request_id);
  api_.giveUp(request_id);
  allow(0);
  EXPECT_FALSE(response_);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(WebhooksTest, ConfigurationsMayGoWhileARequestWaits) {
  mutating({{"a"}, {"b"}});
  (void)begin("POST", kMaps, map("m"));
  EXPECT_EQ(send("DELETE", std::string{kGroup} + "mutatingwebhookconfigurations/c").code, 200);
  change(0, "one");
  ASSERT_TRUE(response_);
  EXPECT_EQ(response_->code, 201);
  EXPECT_EQ(response_->body["data"]["one"].str(), "x");
}

TEST_F(WebhooksTest, UpdatesAndDeletionsAreShownWhatWas) {
  mutating({{"a"}});
  (void)begin("POST", kMaps, map("m"));
  allow(0);
  (void)begin("PUT", std::string{kMaps} + "/m", map("m"));
  EXPECT_EQ(review(1)["request"]["oldObject"]["data"]["k"].str(), "v");
  change(1, "one");
  EXPECT_EQ(response_->code, 200);
  (void)begin("DELETE", std::string{kMaps} + "/m");
  EXPECT_TRUE(review(2)["request"]["object"].isNull());
  EXPECT_EQ(review(2)["request"]["oldObject"]["data"]["one"].str(), "x");
  change(2, "two");  // there is nothing to change
  EXPECT_EQ(response_->code, 500);
  (void)begin("DELETE", std::string{kMaps} + "/m");
  allow(3);
  EXPECT_EQ(response_->code, 200);
  EXPECT_EQ(names(kMaps), "");
}

/// A request that begins again on what changed meanwhile is shown anew.
TEST_F(WebhooksTest, WhatChangedMeanwhileIsShownAgain) {
  (void)begin("POST", kMaps, map("m"));
  mutating({{"a", "Ignore"}});
  auto waits = api_.begin({"PATCH", std::string{kMaps} + "/m", "application/merge-patch+json",
                           Object{{"data", Object{{"mine", "1"}}}}},
                          clock_.now());
  ASSERT_EQ(order(), "a");
  EXPECT_EQ(send("PATCH", std::string{kMaps} + "/m", Object{{"data", Object{{"other", "2"}}}},
                 "application/merge-patch+json")
                .code,
            200);
  response_.reset();
  change(0, "hook");
  EXPECT_FALSE(response_);
  ASSERT_EQ(order(), "aa");
  EXPECT_EQ(review(1)["request"]["object"]["data"].members().size(), 3U);
  change(1, "hook");
  ASSERT_TRUE(response_);
  EXPECT_EQ(response_->body["data"],
            (Value{Object{{"k", "v"}, {"mine", "1"}, {"other", "2"}, {"hook", "x"}}}));
}

TEST_F(WebhooksTest, ConditionsThatAreNotEvaluatedAreWarnedOfOnce) {
  Value body = named("c");
  body.set("webhooks", Array{Object{{"name", "a.ex.io"},
                                    {"clientConfig", Object{{"url", "https://a"}}},
                                    {"matchConditions", Array{Object{{"name", "x"}, {"expression", "true"}}}},
                                    {"sideEffects", "None"},
                                    {"admissionReviewVersions", Array{Value{"v1"}}}}});
  const Response made = send("POST", std::string{kGroup} + "mutatingwebhookconfigurations", std::move(body));
  ASSERT_EQ(made.code, 201);
  EXPECT_EQ(made.warnings,
            std::vector<std::string>{
                "webhooks[0].matchConditions: the sandbox evaluates no CEL; webhook \"a.ex.io\" is asked "
                "about all that its rules and selectors match"});
  const Response labelled =
      send("PATCH", std::string{kGroup} + "mutatingwebhookconfigurations/c",
           Object{{"metadata", Object{{"labels", Object{{"a", "b"}}}}}}, "application/merge-patch+json");
  EXPECT_EQ(labelled.code, 200);
  EXPECT_TRUE(labelled.warnings.empty());
}

}  // namespace
}  // namespace gs::apiserver
