// The CSIDriver, which the operator makes and keeps as it has to be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/operator.h"
#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;

class OperatorCsiDriver : public Hand {};

TEST_F(OperatorCsiDriver, TheCsiDriverIsMadeAndComesBack) {
  start();
  pass(1s);
  const Server::Key key{"csidrivers", {"", "csi.gkm.io"}};
  ASSERT_TRUE(server.objects.contains(key));
  const json::Value spec = server.objects.at(key)["spec"];
  EXPECT_EQ(spec,
            json::Value(json::Object{{"attachRequired", false},
                                     {"podInfoOnMount", true},
                                     {"fsGroupPolicy", "None"},
                                     {"volumeLifecycleModes", json::Array{"Ephemeral", "Persistent"}}}));
  server.remove(kCsiDriver, key.second);
  pass(2min);
  EXPECT_TRUE(server.objects.contains(key));
  server.objects.at(key).child("spec").set("fsGroupPolicy", "File");
  pass(2min);
  EXPECT_EQ(server.objects.at(key)["spec"]["fsGroupPolicy"].str(), "None");
  server.objects.at(key).child("spec").set("volumeLifecycleModes", json::Array{"Persistent", "Ephemeral"});
  const std::string uid{server.objects.at(key)["metadata"]["uid"].str()};
  pass(2min);
  EXPECT_EQ(server.objects.at(key)["metadata"]["uid"].str(), uid) << "in any order";
  server.objects.at(key).child("spec").set("volumeLifecycleModes", json::Array{"Ephemeral"});
  pass(3min);
  EXPECT_EQ(server.objects.at(key)["spec"], spec) << "that of an older version is made anew";
  server.objects.at(key).child("spec").set("attachRequired", true);
  pass(2min);
  EXPECT_NE(machine().readiness().text().find("csidriver: CSIDriver csi.gkm.io is not as pods need it"),
            std::string::npos);
}

TEST_F(OperatorCsiDriver, BetweenACsiDriverOfBeforeAndTheNextIsOneCallAndACrashThereHeals) {
  start();
  pass(1s);
  const Server::Key key{"csidrivers", {"", "csi.gkm.io"}};
  const auto beOfBefore = [&] {
    server.objects.at(key).child("spec").set("volumeLifecycleModes", json::Array{"Ephemeral"});
  };
  const auto isOfNow = [&] {
    return server.objects.contains(key) &&
           server.objects.at(key)["spec"]["volumeLifecycleModes"].items().size() == 2;
  };
  std::string calls;
  bool dies = false;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kCsiDriver) { return std::nullopt; }
    calls += call.verb == kapi::Verb::Get ? "read " : call.verb == kapi::Verb::Delete ? "delete " : "create ";
    if (!dies || call.verb != kapi::Verb::Create) { return std::nullopt; }
    return refused(503, "", "nobody is there any more");
  };
  beOfBefore();
  pass(61s);
  EXPECT_TRUE(isOfNow());
  EXPECT_EQ(calls, "read delete create ");

  dies = true;
  beOfBefore();
  pass(61s);
  EXPECT_FALSE(server.objects.contains(key));
  lead(false);
  dies = false;
  lead(true);
  pass(1s);
  EXPECT_TRUE(isOfNow());
}

TEST_F(OperatorCsiDriver, ACsiDriverThatSomebodyElseMadeMeanwhileIsNoTrouble) {
  int refusals = 3;
  int http = 409;
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind != kCsiDriver || call.verb != kapi::Verb::Create || refusals-- <= 0) {
      return std::nullopt;
    }
    return refused(http, "", "no");
  };
  start();
  pass(1min);
  EXPECT_TRUE(server.objects.contains({"csidrivers", {"", "csi.gkm.io"}}));
  const std::string said = "CSIDriver csi.gkm.io: 403 no";
  EXPECT_EQ(std::count_if(logs.begin(), logs.end(), [](const auto& l) { return l.starts_with("CSID"); }), 0);

  server.remove(kCsiDriver, {"", "csi.gkm.io"});
  refusals = 1000;
  http = 403;
  pass(2min);
  EXPECT_EQ(std::count(logs.begin(), logs.end(), said), 1);
  EXPECT_NE(machine().readiness().text().find("csidriver: " + said), std::string::npos);
  lead(false);
  EXPECT_NE(machine().readiness().text().find("csidriver: ok"), std::string::npos);
}

TEST_F(OperatorCsiDriver, NoCsiDriverIsMadeOnceItStops) {
  fate = [&](const kapi::Call& call) -> std::optional<kapi::Outcome> {
    if (call.kind == kCsiDriver && call.verb == kapi::Verb::Get) { machine().stopTaking(); }
    return std::nullopt;
  };
  start();
  pass(1min);
  EXPECT_EQ(written("POST csidrivers"), 0);
}

}  // namespace
}  // namespace gs::gkm
