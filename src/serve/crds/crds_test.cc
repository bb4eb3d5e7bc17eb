#include "serve/crds/crds.h"

#include <gtest/gtest.h>

#include <memory>

#include "kapi/decode.h"
#include "kapi/paths.h"

namespace gs::serve {
namespace {

/// Answers each call as it is told, and keeps what was asked.
class ScriptedClient : public k8s::Client {
 public:
  explicit ScriptedClient(std::vector<kapi::Outcome> answers) : answers_{std::move(answers)} {}
  kapi::Outcome run(const kapi::Call& call, const std::function<bool()>&) override {
    asked.push_back(call);
    return answers_.at(asked.size() - 1);
  }
  kapi::WatchEnded watch(const kapi::OpenWatch&, const std::function<bool(kapi::WatchEvent)>&) override {
    return {};
  }
  void cancel() override {}
  [[nodiscard]] bool cancelled() const override { return false; }

  std::vector<kapi::Call> asked;

 private:
  std::vector<kapi::Outcome> answers_;
};

kapi::Outcome answer(kapi::CallResult result, int http, const char* message = "") {
  kapi::Outcome outcome;
  outcome.result = result;
  outcome.http = http;
  outcome.message = message;
  return outcome;
}

kapi::Outcome notThere() {
  kapi::Outcome outcome = answer(kapi::CallResult::Refused, 404, "not found");
  outcome.reason = "NotFound";
  return outcome;
}
kapi::Outcome withSchema(int schema) {
  kapi::Outcome outcome = answer(kapi::CallResult::Applied, 200);
  model::Crd crd;
  crd.schema = schema;
  crd.revision = 41;
  outcome.object = model::Object{std::make_shared<model::Crd>(std::move(crd))};
  return outcome;
}

TEST(ApplyCrds, EachIsAppliedAsTheChartHasIt) {
  ScriptedClient client{{withSchema(1), answer(kapi::CallResult::Applied, 200), notThere(),
                         answer(kapi::CallResult::Applied, 201)}};
  const auto later = applyCrds(client);
  ASSERT_TRUE(later);
  EXPECT_EQ(*later, std::vector<std::string>{});
  ASSERT_EQ(client.asked.size(), 4);
  std::vector<std::string> targets;
  for (const kapi::Call& call : client.asked) {
    if (call.verb == kapi::Verb::Get) { continue; }
    EXPECT_STREQ(kapi::contentType(call.verb), "application/apply-patch+yaml");
    EXPECT_EQ(call.body["kind"].str(), "CustomResourceDefinition");
    EXPECT_EQ(call.body["metadata"]["name"].str(), call.key.name);
    targets.push_back(kapi::target(call));
    const bool was_there = targets.size() == 1;
    EXPECT_EQ(call.body["metadata"]["resourceVersion"].str(), was_there ? "41" : "") << "as it was read";
  }
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
  const std::string query = "?fieldManager=gpu-scheduler-crds&force=true";
  EXPECT_EQ(targets, (std::vector<std::string>{path + "gpuclaims.gpu.scheduling" + query,
                                               path + "gpunodestatuses.gpu.scheduling" + query}));
}

TEST(ApplyCrds, ALaterSchemaStays) {
  ScriptedClient client{{withSchema(2), answer(kapi::CallResult::Applied, 200), withSchema(1'000)}};
  const auto later = applyCrds(client);
  ASSERT_TRUE(later);
  EXPECT_EQ(*later,
            (std::vector<std::string>{"CRD gpunodestatuses.gpu.scheduling stays as it is: its schema 1000 "
                                      "is later than this version's, 4."}));
  EXPECT_EQ(client.asked.size(), 3) << "an equal one is applied: somebody may have edited it";
}

TEST(ApplyCrds, WhatItPrintsCountsOnlyThoseThatAreOfThisVersion) {
  EXPECT_EQ(appliedText({}, "https://s"), "The CRDs of https://s are those of this version.\n");
  EXPECT_EQ(appliedText({"One stays."}, "https://s"),
            "One stays.\nThe other CRDs of https://s are those of this version.\n");
  EXPECT_EQ(appliedText({"One stays.", "Two stays."}, "https://s"), "One stays.\nTwo stays.\n");
}

TEST(ApplyCrds, WhatTheServerDoesNotTakeIsSaidAndEndsIt) {
  struct Case {
    const char* name;
    kapi::Outcome answer;
    const char* said;
  };
  const Case cases[] = {
      {"no right", answer(kapi::CallResult::Refused, 403, "forbidden"),
       "CRD gpuclaims.gpu.scheduling was not applied: 403 forbidden"},
      {"nobody there", answer(kapi::CallResult::NotSent, 0, "connection refused"),
       "CRD gpuclaims.gpu.scheduling was not applied: connection refused"},
      {"perhaps", answer(kapi::CallResult::Unknown, 504, "timeout"),
       "CRD gpuclaims.gpu.scheduling was not applied: 504 timeout"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ScriptedClient client{{c.answer}};
    const auto done = applyCrds(client);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, c.said);
    EXPECT_EQ(client.asked.size(), 1);
  }
}

}  // namespace
}  // namespace gs::serve
