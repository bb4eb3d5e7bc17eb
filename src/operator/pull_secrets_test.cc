#include "operator/pull_secrets.h"

#include <gtest/gtest.h>

#include <optional>

#include "kapi/decode.h"
#include "kapi/paths.h"

namespace gs::gkm {
namespace {

/// What a read of team-a/s comes to when the API server answers so.
std::string answered(int code, const char* body) {
  controller::Parts parts;
  PullSecrets secrets{parts};
  std::optional<Result<std::string>> said;
  const kapi::Effects effects =
      secrets.read({"team-a", "s"}, [&](Result<std::string> text) { said = std::move(text); });
  const auto& call = std::get<kapi::Call>(effects.at(0));
  EXPECT_EQ(kapi::target(call), "/api/v1/namespaces/team-a/secrets/s");
  const kapi::MachineEvent event = kapi::decodeAnswerValue(call, code, json::parse(body).value());
  kapi::Effects out;
  EXPECT_TRUE(parts.handle(event, {}, out));
  EXPECT_TRUE(said.has_value());
  if (!said) { return ""; }
  EXPECT_TRUE(parts.handle(event, {}, out)) << "once";
  EXPECT_TRUE(out.empty());
  return *said ? **said : "error: " + said->error().message;
}

TEST(PullSecrets, GivesTypeAndDataOfTheSecret) {
  EXPECT_EQ(
      answered(200,
               R"({"metadata": {"name": "s", "namespace": "team-a"}, "type": "t", "data": {"k": "dg=="}})"),
      R"({"type":"t","data":{"k":"dg=="}})");
}

TEST(PullSecrets, SaysHowToMendOneThatCannotBeRead) {
  EXPECT_EQ(answered(404, R"({"kind": "Status", "reason": "NotFound", "code": 404})"),
            "error: Secret team-a/s (spec.imagePullSecrets) is not there");
  EXPECT_EQ(answered(403, R"({"kind": "Status", "reason": "Forbidden", "code": 403})"),
            "error: Secret team-a/s (spec.imagePullSecrets) may not be read: bind the ClusterRole "
            "gkm-pull-secrets to gkm-agent and gkm-operator in namespace team-a (pullSecrets.namespaces of "
            "charts/gkm)");
}

}  // namespace
}  // namespace gs::gkm
